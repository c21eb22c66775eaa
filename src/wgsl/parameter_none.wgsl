fn OPERAND_of(indices: vec4u) -> vec4f {
  return vec4f(0.0);
}

fn OPERAND_block(first: u32) -> mat4x4f {
  return mat4x4f();
}
