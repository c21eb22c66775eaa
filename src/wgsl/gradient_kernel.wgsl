// gradInput = rstd * (g - mean(g) - n * mean(g * n)), where g is the gradient of the normalized value n: four neighbouring elements
// for each lane, whatever run they are of. Nothing is summed any more: float32 does, but for the slope of an activation.
fn work_on(item: Item, number: u32) {
  let run = run_quad(item.run);
  let x = read_item(item);
  let grad = read_grad(item);
  var normalized = (opaque(scaled_each(x, run.scale) - run.mean.high) - run.mean.low) * run.rstd.high;
  var of_normalized = grad;
  if (has_activation) {
    let terms = terms_of(x, grad, run, item.at);
    normalized = terms.normalized.high;
    of_normalized = terms.of_normalized.high;
  } else {
    if (has_scale) {
      of_normalized *= 1.0 + scale_of(item.at.scale);
    }
    if (has_weight) {
      of_normalized *= dims.weight_offset + weight_of(item.at.weight);
    }
  }
  let rest = (of_normalized - run.mean_gradient) - normalized * run.mean_product;
  // Where x is far from 1, rstd by itself may be too large or too small; elsewhere what it is made of may be.
  let is_moderate = (run.scale > vec4f(0x1p-64)) & (run.scale < vec4f(0x1p64));
  let gradient = select(
    opaque(rest * run.rstd.high) * run.scale,
    rest * opaque(run.rstd.high * run.scale),
    is_moderate,
  );
  store_y(item.first, gradient, item.there);
}
