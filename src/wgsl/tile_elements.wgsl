// Lane `turn` of a run holds its elements turn, turn + lanes, turn + 2 * lanes, ..., four in each quad.
const quads = 4u;
var<private> tile: array<vec4f, quads>;

fn indices_of(k: u32, turn: u32) -> vec4u {
  return (quad_indices + 4u * k) * dims.lanes + turn;
}

fn is_there(k: u32, turn: u32, count: u32) -> vec4<bool> {
  return indices_of(k, turn) < vec4u(count);
}

fn place_in_run(index: u32) -> Place {
  return place_along(index, dims.kept, dims.reduced);
}

// Reads `count` values of a run from `first` on, which begins at an index of x.
fn fetch(x: u32, first: u32, count: u32, turn: u32) {
  for (var k = 0u; k < quads; k++) {
    let indices = indices_of(k, turn);
    var quad = vec4f();
    for (var c = 0u; c < 4u; c++) {
      if (indices[c] < count) {
        quad[c] = x_at(dims.x + x + place_in_run(first + indices[c]).x);
      }
    }
    tile[k] = quad;
  }
}
