// Records of runs whose mean and variance are given: a lane for each channel.
fn work(group: u32, lane: u32) {
  let run = group * 256u + lane;
  if (run >= dims.runs) {
    return;
  }
  // A quarter of all values: the difference of two finite ones is then finite.
  const scale = 0.25;
  let variance = running_var_at(dims.parameters.y + run);
  // Small ones are brought near 1, the root of what they are multiplied by comes back.
  let root = select(1.0, 0x1p63, variance < 0x1p-64);
  let a = scaled(vec4f(variance), root * root).x + scaled_eps(root);
  let rstd = select(0.0, reciprocal_root(max(a, power_of_two(-126))), a > 0.0) * root;
  records[2u * run] = vec4f(running_mean_at(dims.parameters.x + run) * scale, 0.0, rstd / scale, scale);
  store_mean(run, bitcast<u32>(running_mean_at(dims.parameters.x + run)));
  store_rstd(run, select(dims.rstd_most, bitcast<u32>(rstd), variance > 0.0));
}
