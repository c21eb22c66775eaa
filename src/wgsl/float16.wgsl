// float16 in the halves of a word. Rounding is done in integers: the built-in function leaves its direction open.
fn unpack_float16(word: u32) -> vec2f {
  return unpack2x16float(word);
}

fn bits_float16(v: vec4f) -> vec4u {
  let sign = (bitcast<vec4u>(v) >> vec4u(16u)) & vec4u(0x8000u);
  let magnitude = bitcast<vec4u>(v) & vec4u(0x7fffffffu);
  let normal = ((magnitude + 0xfffu + ((magnitude >> vec4u(13u)) & vec4u(1u))) >> vec4u(13u)) - vec4u(112u << 10u);
  let subnormal = vec4u(round(min(abs(v), vec4f(1.0)) * 16777216.0));
  // From 2^16 on all is infinite; below 2^-14 the unit is 2^-24.
  let special = select(vec4u(0x7c00u), vec4u(0x7e00u), magnitude > vec4u(0x7f800000u));
  let finite = select(normal, subnormal, magnitude < vec4u(0x38800000u));
  return sign | select(finite, special, magnitude >= vec4u(0x47800000u));
}

fn pack_float16(v: vec4f) -> vec2u {
  let bits = bits_float16(v);
  return bits.xz | (bits.yw << vec2u(16u));
}
