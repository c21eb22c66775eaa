// Lane `turn` of a run holds its quads turn, turn + lanes, turn + 2 * lanes, ... The values of a run lie side by side.
const quads = 4u;
var<private> tile: array<vec4f, quads>;

fn index_of(k: u32, turn: u32) -> u32 {
  return 4u * (k * dims.lanes + turn);
}

fn is_there(k: u32, turn: u32, count: u32) -> vec4<bool> {
  return vec4<bool>(index_of(k, turn) < count);
}

// Reads `count` values of a run from `first` on, which begins at an index of x.
fn fetch(x: u32, first: u32, count: u32, turn: u32) {
  for (var k = 0u; k < quads; k++) {
    let index = index_of(k, turn);
    tile[k] = vec4f();
    if (index < count) {
      tile[k] = x_quad(dims.x + x + first + index);
    }
  }
}
