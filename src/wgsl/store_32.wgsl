fn store_OPERAND(i: u32, v: vec4f, mask: vec4<bool>) {
  let bits = bitcast<vec4u>(v);
  if (mask.x) { BUFFER[i] = bits.x; }
  if (mask.y) { BUFFER[i + 1u] = bits.y; }
  if (mask.z) { BUFFER[i + 2u] = bits.z; }
  if (mask.w) { BUFFER[i + 3u] = bits.w; }
}

fn store_OPERAND_one(i: u32, v: f32) {
  BUFFER[i] = bitcast<u32>(v);
}
