fn store_OPERAND_block(i: u32, v: mat4x4f) {
  BUFFER[i >> 4u] = v;
}
