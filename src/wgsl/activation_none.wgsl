fn activated(v: vec4f) -> vec4f {
  return v;
}
