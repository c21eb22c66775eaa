// Moments of runs from those of their pieces, by Chan, Golub and LeVeque's formula: power = sum of each piece's power and of
// n * (its mean - the mean)^2. `lanes` lanes go over the pieces of a run, the first time for the scale, then for a shift near
// the mean, then for the sums about it.
fn in_scale(piece: vec4f, exponent: i32) -> vec3f {
  let factor = power_of_two(exponent - exponent_of(piece.w));
  return vec3f(piece.xy * factor, piece.z * select(factor * factor, factor, magnitudes));
}

fn work(group: u32, lane: u32) {
  let run = group * width() + run_of(lane);
  let turn = turn_of(lane);
  let begin = dims.first_chunk + run * dims.all_chunks;
  // Beyond the last run there is nothing to read.
  let count = select(0u, dims.all_chunks, run < dims.runs);
  let inverse = reciprocal(dims.size);

  var top = 0u;
  for (var i = turn; i < count; i += lane_count()) {
    top = max(top, bitcast<u32>(pieces[2u * (begin + i) + 1u].y));
  }
  let all_tops = reduce(lane, 0.0, 0.0, top).top;
  let scale = scale_for(all_tops);
  let exponent = exponent_of(scale);

  var sum = 0.0;
  for (var i = turn; i < count; i += lane_count()) {
    let piece = in_scale(pieces[2u * (begin + i)], exponent);
    sum += (piece.x + piece.y) * (pieces[2u * (begin + i) + 1u].x * inverse);
  }
  var m = Moments(reduce(lane, sum, 0.0, 0u).sum, 0.0, 0.0, scale, all_tops);
  // As the values of a tile: once more where that mean is not near the one about it.
  for (var pass_number = 0u; ; pass_number++) {
    // Sums of 16 pieces by themselves: one long chain of additions would add up its errors.
    var sums = vec2f();
    for (var i = turn; i < count; i += 16u * lane_count()) {
      var part = vec2f();
      for (var k = 0u; k < 16u && i + k * lane_count() < count; k++) {
        let at = 2u * (begin + i + k * lane_count());
        let piece = in_scale(pieces[at], exponent);
        let values = pieces[at + 1u].x;
        let deviation = opaque(vec4f(piece.x - m.shift)).x + piece.y;
        part += vec2f(deviation * values, piece.z + deviation * deviation * values);
      }
      sums += part;
    }
    let totals = reduce(lane, sums.x, sums.y, 0u);
    m.power = totals.power;
    m.rest = totals.sum * inverse;
    let variance = max(0.0, totals.power * inverse - m.rest * m.rest);
    let go_on = centered && pass_number < 3u && !is_near(m.rest, variance) && all_tops < 0x7f800000u;
    if (!any_wants(go_on)) {
      break;
    }
    m.shift += select(0.0, m.rest, go_on);
  }
  if (centered) {
    m.power = max(0.0, m.power - m.rest * m.rest * dims.size);
  }
  if (run >= dims.runs || turn > 0u) {
    return;
  }
  let record = record_of(m);
  let at = dims.first_run + run;
  records[2u * at] = vec4f(record.shift, record.rest, record.factor, record.scale);
  records[2u * at + 1u] = vec4f(record.variance, 0.0, 0.0, 0.0);
  store_mean(dims.first_statistic + run, mean_bits(record));
  store_rstd(dims.first_statistic + run, rstd_bits(record));
}
