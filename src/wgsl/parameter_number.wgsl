fn OPERAND_of(indices: vec4u) -> vec4f {
  return vec4f(dims.numbers[NUMBER]);
}

fn OPERAND_block(first: u32) -> mat4x4f {
  let v = vec4f(dims.numbers[NUMBER]);
  return mat4x4f(v, v, v, v);
}
