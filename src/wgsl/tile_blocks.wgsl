// Lane `turn` of a run has its blocks of 16 values turn, turn + lanes, turn + 2 * lanes, ...: on a CPU, which has few lanes, fewer
// and larger accesses are faster. The values of a run lie side by side, and are read again where they are needed.
struct Source {
  x: u32,
  first: u32,
  turn: u32,
}
var<private> source: Source;

fn fetch(x: u32, first: u32, count: u32, turn: u32) {
  source = Source(x, first, turn);
}

fn block_index(k: u32, turn: u32) -> u32 {
  return 16u * (k * lane_count() + turn);
}

fn top_of(v: vec4f, w: vec4f) -> vec4u {
  return max(bitcast<vec4u>(v) & vec4u(0x7fffffffu), bitcast<vec4u>(w) & vec4u(0x7fffffffu));
}

// Sums of so many blocks by themselves: one long chain of additions would add up its errors. A CPU runs the body of each loop
// once more than it has turns, so they are not few.
const blocks_of_sum = 32u;

fn tile_sums(turn: u32, count: u32) -> TileSums {
  var all = TileSums();
  let x = dims.x + source.x + source.first;
  let step = block_index(1u, 0u);
  let begin = block_index(0u, turn);
  for (var start = begin; start < count; start += blocks_of_sum * step) {
    var sums = vec4f();
    var powers = vec4f();
    let end = min(start + blocks_of_sum * step, count);
    for (var index = start; index < end; index += step) {
      let v = x_block(x + index);
      sums += (v[0] + v[1]) + (v[2] + v[3]);
      powers += (power_of(v[0]) + power_of(v[1])) + (power_of(v[2]) + power_of(v[3]));
    }
    all.sums += sums;
    all.powers += powers;
  }
  // Whether the largest magnitude is one with which nothing has to be scaled; then it may as well be 1.
  let bits = bitcast<u32>((all.powers.x + all.powers.y) + (all.powers.z + all.powers.w));
  let is_plain = norm != 2u && bits >= bitcast<u32>(0x1p-32) && bits < bitcast<u32>(0x1p64);
  all.tops = vec4u(select(0u, bitcast<u32>(1.0), is_plain));
  for (var index = select(begin, count, is_plain); index < count; index += step) {
    let v = x_block(x + index);
    all.tops = max(max(all.tops, top_of(v[0], v[1])), top_of(v[2], v[3]));
  }
  return all;
}

fn tile_sums_about(shift: f32, scale: f32, turn: u32, count: u32) -> TileSums {
  var all = TileSums();
  let x = dims.x + source.x + source.first;
  let step = block_index(1u, 0u);
  for (var start = block_index(0u, turn); start < count; start += blocks_of_sum * step) {
    var sums = vec4f();
    var powers = vec4f();
    let end = min(start + blocks_of_sum * step, count);
    for (var index = start; index < end; index += step) {
      let v = x_block(x + index);
      let a = scaled(v[0], scale) - shift;
      let b = scaled(v[1], scale) - shift;
      let c = scaled(v[2], scale) - shift;
      let d = scaled(v[3], scale) - shift;
      sums += (a + b) + (c + d);
      powers += (power_of(a) + power_of(b)) + (power_of(c) + power_of(d));
    }
    all.sums += sums;
    all.powers += powers;
  }
  return all;
}
