fn OPERAND_at(i: u32) -> f32 {
  return bitcast<f32>(BUFFER[i >> 2u][i & 3u]);
}

fn OPERAND_whole(q: u32) -> vec4f {
  return bitcast<vec4f>(BUFFER[q]);
}

fn OPERAND_quad(i: u32) -> vec4f {
  return OPERAND_whole(i >> 2u);
}
