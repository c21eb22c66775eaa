fn OPERAND_at(i: u32) -> f32 {
  return unpack_DTYPE(BUFFER[i >> 1u])[i & 1u];
}

fn OPERAND_quad(i: u32) -> vec4f {
  return vec4f(OPERAND_at(i), OPERAND_at(i + 1u), OPERAND_at(i + 2u), OPERAND_at(i + 3u));
}
