fn OPERAND_at(i: u32) -> f32 {
  return bitcast<f32>(BUFFER[i]);
}

fn OPERAND_quad(i: u32) -> vec4f {
  return bitcast<vec4f>(vec4u(BUFFER[i], BUFFER[i + 1u], BUFFER[i + 2u], BUFFER[i + 3u]));
}
