// Values of x's element type.
fn rounded(v: vec4f) -> vec4f {
  return v;
}
