// Where only x is summed.
fn grad_at(i: u32) -> f32 {
  return 0.0;
}

fn grad_quad(i: u32) -> vec4f {
  return vec4f();
}
