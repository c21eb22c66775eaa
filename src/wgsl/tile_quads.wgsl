// Lane `turn` of a run has its quads turn, turn + lanes, turn + 2 * lanes, ... The values of a run lie side by side.
fn index_of(k: u32, turn: u32) -> u32 {
  return 4u * (k * lane_count() + turn);
}

fn is_there(k: u32, turn: u32, count: u32) -> vec4<bool> {
  return vec4<bool>(index_of(k, turn) < count);
}

// Of `count` values of a run from `first` on, which begins at an index of x: those of a quad.
fn read_quad(x: u32, first: u32, count: u32, k: u32, turn: u32) -> vec4f {
  let index = index_of(k, turn);
  if (index < count) {
    return x_quad(dims.x + x + first + index);
  }
  return vec4f();
}
