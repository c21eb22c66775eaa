// Mean and squared deviations of the values that the lanes of a run hold, about a shift near the mean.

// Four sums each of values, or of their deviations; of their squares, or magnitudes; and the bits of the largest magnitudes of
// values as they stand.
struct TileSums {
  sums: vec4f,
  powers: vec4f,
  tops: vec4u,
}

fn power_of(v: vec4f) -> vec4f {
  return select(v * v, abs(v), magnitudes);
}

// The first pass is about 0. A second one about the mean follows where the mean is far from 0 against the deviation, after
// one with scaled values where squares leave the range. More than that is for means of over 10^6 deviations, and for runs
// whose values are all equal, until their mean is exact.
fn moments_of_tile(lane: u32, turn: u32, count: u32) -> Moments {
  let inverse = reciprocal(f32(max(count, 1u)));
  var m = Moments(0.0, 0.0, 0.0, 1.0, 0u);
  for (var pass_number = 0u; ; pass_number++) {
    var found: TileSums;
    if (pass_number == 0u) {
      found = tile_sums(turn, count);
    } else {
      found = tile_sums_about(m.shift, m.scale, turn, count);
    }
    let sums = found.sums;
    let powers = found.powers;
    let tops = found.tops;
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
