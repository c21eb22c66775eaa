// Values are read once and stay with their lane.
const held_quads = 8u;
var<private> tile: array<vec4f, held_quads>;

fn fetch(x: u32, first: u32, count: u32, turn: u32) {
  for (var k = 0u; k < held_quads; k++) {
    tile[k] = read_quad(x, first, count, k, turn);
  }
}

fn quad_of(k: u32) -> vec4f {
  return tile[k];
}

fn quad_count(count: u32) -> u32 {
  return held_quads;
}
