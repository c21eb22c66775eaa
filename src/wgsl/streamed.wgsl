// Values are read again where they are needed.
struct Source {
  x: u32,
  first: u32,
  count: u32,
  turn: u32,
}
var<private> source: Source;

fn fetch(x: u32, first: u32, count: u32, turn: u32) {
  source = Source(x, first, count, turn);
}

fn quad_of(k: u32) -> vec4f {
  return read_quad(source.x, source.first, source.count, k, source.turn);
}

fn quad_count(count: u32) -> u32 {
  return (count + 4u * lane_count() - 1u) / (4u * lane_count());
}
