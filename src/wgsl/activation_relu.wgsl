fn activated(v: vec4f) -> vec4f {
  return max(v, vec4f(0.0));
}
