// s * (1 - s)
fn slope(v: Wide) -> vec4f {
  let e = exponential(negative(magnitude(v)));
  return e / ((1.0 + e) * (1.0 + e));
}
