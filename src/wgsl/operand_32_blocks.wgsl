fn OPERAND_block(i: u32) -> mat4x4f {
  return BUFFER[i >> 4u];
}
