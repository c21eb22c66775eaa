// Lane `turn` of a run has its elements turn, turn + lanes, turn + 2 * lanes, ..., four in each quad.
fn indices_of(k: u32, turn: u32) -> vec4u {
  return (quad_indices + 4u * k) * lane_count() + turn;
}

fn is_there(k: u32, turn: u32, count: u32) -> vec4<bool> {
  return indices_of(k, turn) < vec4u(count);
}

fn place_in_run(index: u32) -> Place {
  return place_along(index, dims.kept, dims.reduced);
}

// Of `count` values of a run from `first` on, which begins at an index of x: those of a quad.
fn read_quad(x: u32, first: u32, count: u32, k: u32, turn: u32) -> vec4f {
  let indices = indices_of(k, turn);
  var quad = vec4f();
  for (var c = 0u; c < 4u; c++) {
    if (indices[c] < count) {
      quad[c] = x_at(dims.x + x + place_in_run(first + indices[c]).x);
    }
  }
  return quad;
}
