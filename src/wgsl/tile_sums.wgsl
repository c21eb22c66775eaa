// The sums of what a lane has of a run, quad by quad; those of 16 by themselves: one long chain of additions would add up its
// errors.
fn tile_sums(turn: u32, count: u32) -> TileSums {
  var all = TileSums();
  let quads = quad_count(count);
  for (var begin = 0u; begin < quads; begin += 16u) {
    var sums = vec4f();
    var powers = vec4f();
    // As they stand; what is not there is 0.
    for (var k = begin; k < min(begin + 16u, quads); k++) {
      let values = quad_of(k);
      sums += values;
      powers += power_of(values);
      all.tops = max(all.tops, bitcast<vec4u>(values) & vec4u(0x7fffffffu));
    }
    all.sums += sums;
    all.powers += powers;
  }
  return all;
}

fn tile_sums_about(shift: f32, scale: f32, turn: u32, count: u32) -> TileSums {
  var all = TileSums();
  let quads = quad_count(count);
  for (var begin = 0u; begin < quads; begin += 16u) {
    var sums = vec4f();
    var powers = vec4f();
    for (var k = begin; k < min(begin + 16u, quads); k++) {
      let values = scaled(quad_of(k), scale) - shift;
      let deviations = select(vec4f(), values, is_there(k, turn, count));
      sums += deviations;
      powers += power_of(deviations);
    }
    all.sums += sums;
    all.powers += powers;
  }
  return all;
}
