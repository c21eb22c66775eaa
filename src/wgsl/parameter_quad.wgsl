fn OPERAND_of(indices: vec4u) -> vec4f {
  return OPERAND_quad(indices.x);
}
