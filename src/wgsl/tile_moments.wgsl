// Mean and squared deviations of the values that the lanes of a run hold, about a shift near the mean.

// The first pass is about 0. A second one about the mean follows where the mean is far from 0 against the deviation, after
// one with scaled values where squares leave the range. More than that is for means of over 10^6 deviations, and for runs
// whose values are all equal, until their mean is exact.
fn moments_of_tile(lane: u32, turn: u32, count: u32) -> Moments {
  let quads = quad_count(count);
  let inverse = reciprocal(f32(max(count, 1u)));
  var m = Moments(0.0, 0.0, 0.0, 1.0, 0u);
  for (var pass_number = 0u; ; pass_number++) {
    var sums = vec4f();
    var powers = vec4f();
    var tops = vec4u();
    // Sums of 16 quads by themselves: one long chain of additions would add up its errors.
    for (var begin = 0u; begin < quads; begin += 16u) {
      var block_sums = vec4f();
      var block_powers = vec4f();
      let end = min(begin + 16u, quads);
      if (pass_number == 0u) {
        // As they stand; what is not there is 0.
        for (var k = begin; k < end; k++) {
          let values = quad_of(k);
          block_sums += values;
          block_powers += select(values * values, abs(values), magnitudes);
          tops = max(tops, bitcast<vec4u>(values) & vec4u(0x7fffffffu));
        }
      } else {
        for (var k = begin; k < end; k++) {
          let values = scaled(quad_of(k), m.scale) - m.shift;
          let deviations = select(vec4f(), values, is_there(k, turn, count));
          block_sums += deviations;
          block_powers += select(deviations * deviations, abs(deviations), magnitudes);
        }
      }
      sums += block_sums;
      powers += block_powers;
    }
    let totals = reduce(
      lane,
      (sums.x + sums.y) + (sums.z + sums.w),
      (powers.x + powers.y) + (powers.z + powers.w),
      max(max(tops.x, tops.y), max(tops.z, tops.w)),
    );
    if (pass_number == 0u) {
      m.top = totals.top;
    }
    m.power = totals.power;
    let scale = scale_for(m.top);
    let finite = m.top < 0x7f800000u;
    var done = scale == m.scale;
    if (!done && finite) {
      m.scale = scale;
    } else if (centered) {
      m.rest = totals.sum * inverse;
      done = is_near(m.rest, max(0.0, totals.power * inverse - m.rest * m.rest));
    }
    let go_on = !done && finite && pass_number < 4u;
    if (!any_wants(go_on)) {
      break;
    }
    if (go_on) {
      m.shift += m.rest;
      m.rest = 0.0;
    }
  }
  if (centered) {
    m.power = max(0.0, m.power - m.rest * m.rest * f32(count));
  }
  return m;
}
