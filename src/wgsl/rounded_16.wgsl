// Values of x's element type.
fn rounded(v: vec4f) -> vec4f {
  let words = pack_DTYPE(v);
  return vec4f(unpack_DTYPE(words.x), unpack_DTYPE(words.y));
}
