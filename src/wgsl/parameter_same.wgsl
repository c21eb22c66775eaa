fn OPERAND_of(indices: vec4u) -> vec4f {
  return vec4f(OPERAND_at(indices.x));
}

fn OPERAND_block(first: u32) -> mat4x4f {
  let v = vec4f(OPERAND_at(first));
  return mat4x4f(v, v, v, v);
}
