fn store_OPERAND_whole(q: u32, v: vec4f) {
  BUFFER[q] = bitcast<vec4u>(v);
}

fn store_OPERAND(i: u32, v: vec4f, mask: vec4<bool>) {
  if (mask.x) { BUFFER[i >> 2u] = bitcast<vec4u>(v); }
}
