// Records of runs whose mean and rstd are given, in two parts each: a lane for each run.
fn work(group: u32, lane: u32) {
  let run = group * 256u + lane;
  if (run >= dims.runs) {
    return;
  }
  let mean = vec2f(given_mean_at(dims.parameters.x + run), given_mean_low_at(dims.parameters.y + run));
  let given = given_rstd_at(dims.parameters.z + run);
  let bits = bitcast<u32>(given);
  var rstd = vec2f(given, given_rstd_low_at(dims.parameters.w + run));
  // Near what rstd is, so that no product of the two is out of range, but the mean is not to be beyond it either.
  let most = min(126, 100 - exponent_of(abs(mean.x)));
  let scale = power_of_two(min(i32(bits >> 23u) - 127, most));
  if (bits < 0x800000u) {
    // Subnormal: an integer times 2^-149, which is 2^-23 * 2^-126.
    rstd = vec2f(f32(bits) * 0x1p-23, 0.0);
  } else {
    rstd *= power_of_two(-exponent_of(scale));
  }
  rstd = select(vec2f(), rstd, bits < 0x7f800000u);
  let at = 2u * (dims.first_run + run);
  records[at] = vec4f(mean * scale, rstd);
  records[at + 1u] = vec4f(scale, 0.0, 0.0, 0.0);
}
