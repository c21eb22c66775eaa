fn slope(v: Wide) -> vec4f {
  return select(vec4f(), vec4f(1.0), v.high > vec4f(0.0));
}
