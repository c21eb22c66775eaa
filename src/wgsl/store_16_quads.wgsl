fn store_OPERAND_whole(q: u32, v: vec4f) {
  BUFFER[q] = pack_DTYPE(v);
}

fn store_OPERAND(i: u32, v: vec4f, mask: vec4<bool>) {
  if (mask.x) { BUFFER[i >> 2u] = pack_DTYPE(v); }
}
