// Mean and squared deviations of the values that the lanes of a run hold, about a shift near the mean.

// The first pass is about 0. A second one about the mean follows where the mean is far from 0 against the deviation, after
// one with scaled values where squares leave the range. More than that is for means of over 10^6 deviations, and for runs
// whose values are all equal, until their mean is exact.
fn moments_of_tile(lane: u32, turn: u32, count: u32) -> Moments {
  let inverse = reciprocal(f32(count));
  var m = Moments(0.0, 0.0, 0.0, 1.0, 0u);
  for (var pass_number = 0u; ; pass_number++) {
    var sums = vec4f();
    var powers = vec4f();
    var tops = vec4u();
    for (var k = 0u; k < quads; k++) {
      let deviations = select(vec4f(), scaled(tile[k], m.scale) - m.shift, is_there(k, turn, count));
      sums += deviations;
      powers += select(deviations * deviations, abs(deviations), magnitudes);
      tops = max(tops, bitcast<vec4u>(tile[k]) & vec4u(0x7fffffffu));
    }
    if (lane == 0u) {
      again = 0u;
    }
    let totals = reduce(
      lane,
      (sums.x + sums.y) + (sums.z + sums.w),
      (powers.x + powers.y) + (powers.z + powers.w),
      max(max(tops.x, tops.y), max(tops.z, tops.w)),
    );
    m.top = totals.top;
    m.power = totals.power;
    let scale = scale_for(totals.top);
    let finite = totals.top < 0x7f800000u;
    var done = scale == m.scale;
    if (!done && finite) {
      m.scale = scale;
    } else if (centered) {
      m.rest = totals.sum * inverse;
      done = is_near(m.rest, max(0.0, totals.power * inverse - m.rest * m.rest));
    }
    let go_on = !done && finite && pass_number < 4u;
    if (go_on) {
      again = 1u;
      m.shift += m.rest;
    }
    if (workgroupUniformLoad(&again) == 0u) {
      break;
    }
    if (go_on) {
      m.rest = 0.0;
    }
  }
  if (centered) {
    m.power = max(0.0, m.power - m.rest * m.rest * f32(count));
  }
  return m;
}
