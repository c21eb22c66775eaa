// bfloat16 in the halves of a word: the upper half of a float32.
fn unpack_bfloat16(word: u32) -> vec2f {
  return bitcast<vec2f>(vec2u(word << 16u, word & 0xffff0000u));
}

fn bits_bfloat16(v: vec4f) -> vec4u {
  let bits = bitcast<vec4u>(v);
  let nearest = (bits + 0x7fffu + ((bits >> vec4u(16u)) & vec4u(1u))) >> vec4u(16u);
  let nan = (bits & vec4u(0x7fffffffu)) > vec4u(0x7f800000u);
  return select(nearest, (bits >> vec4u(16u)) | vec4u(0x40u), nan);
}

fn pack_bfloat16(v: vec4f) -> vec2u {
  let bits = bits_bfloat16(v);
  return bits.xz | (bits.yw << vec2u(16u));
}
