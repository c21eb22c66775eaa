fn OPERAND_at(i: u32) -> f32 {
  return bitcast<f32>(BUFFER[i >> 2u][i & 3u]);
}

fn OPERAND_quad(i: u32) -> vec4f {
  return bitcast<vec4f>(BUFFER[i >> 2u]);
}
