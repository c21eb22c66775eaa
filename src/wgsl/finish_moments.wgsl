// In place of a record the wide mean and rstd.
fn finish_sums(run: u32, total: Wide) {
  let at = 2u * (dims.first_run + run);
  let record = records[at];
  let part = Wide(vec4f(dims.part.x), vec4f(dims.part.y));
  let means = times(total, part);
  let near = exact_sum(vec4f(record.x), vec4f(record.y));
  var mean = near;
  var variance = Wide(means.high.yyyy, means.low.yyyy);
  if (centered) {
    let rest = Wide(means.high.xxxx, means.low.xxxx);
    mean = plus(near, rest);
    variance = plus(variance, negative(times(rest, rest)));
  }
  let factor = power_of_two(dims.eps_exponent + exponent_of(record.w));
  let eps = Wide(vec4f(dims.eps * factor * factor), vec4f(dims.eps_low * factor * factor));
  let a = plus(variance, eps);
  if (a.high.x <= 0.0 || (variance.high.x <= 0.0 && record.w < 1.0)) {
    // Nothing varies, and beside values that are scaled down eps may have vanished.
    let back = power_of_two(-exponent_of(record.w));
    let most = select(bitcast<f32>(dims.rstd_most), 0.0, dims.rstd_most >= 0x7f800000u);
    records[at] = vec4f(mean.high.x * back, mean.low.x * back, most, 0.0);
    records[at + 1u] = vec4f(1.0, 0.0, 0.0, 0.0);
    return;
  }
  let rstd = wide_reciprocal_root(Wide(max(a.high, vec4f(power_of_two(-126))), a.low));
  records[at] = vec4f(mean.high.x, mean.low.x, rstd.high.x, rstd.low.x);
  records[at + 1u] = vec4f(record.w, 0.0, 0.0, 0.0);
}
