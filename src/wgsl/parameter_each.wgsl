fn OPERAND_of(indices: vec4u) -> vec4f {
  return vec4f(OPERAND_at(indices.x), OPERAND_at(indices.y), OPERAND_at(indices.z), OPERAND_at(indices.w));
}
