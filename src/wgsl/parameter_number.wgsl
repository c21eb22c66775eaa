fn OPERAND_of(indices: vec4u) -> vec4f {
  return vec4f(dims.numbers[NUMBER]);
}
