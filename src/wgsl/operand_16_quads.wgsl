fn OPERAND_at(i: u32) -> f32 {
  return unpack_DTYPE(BUFFER[i >> 2u][(i >> 1u) & 1u])[i & 1u];
}

fn OPERAND_whole(q: u32) -> vec4f {
  let words = BUFFER[q];
  return vec4f(unpack_DTYPE(words.x), unpack_DTYPE(words.y));
}

fn OPERAND_quad(i: u32) -> vec4f {
  return OPERAND_whole(i >> 2u);
}
