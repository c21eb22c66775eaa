fn OPERAND_at(i: u32) -> f32 {
  return 0.0;
}
