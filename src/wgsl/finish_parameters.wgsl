// Each sum, rounded, to where it goes.
fn finish_sums(run: u32, total: Wide) {
  store_grad_weight_one(dims.parameters.x + run, total.high.x);
  store_grad_bias_one(dims.parameters.y + run, total.high.y);
  store_grad_scale_one(dims.parameters.z + run, total.high.z);
  store_grad_shift_one(dims.parameters.w + run, total.high.w);
}
