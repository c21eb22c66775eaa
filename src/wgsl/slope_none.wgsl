fn slope(v: Wide) -> vec4f {
  return vec4f(1.0);
}
