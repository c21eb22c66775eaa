// gradInput = rstd * (g - mean(g) - n * mean(g * n)), where g is the gradient of the normalized value n: four neighbouring elements
// for each lane, whatever run they are of.
fn work_on(item: Item, number: u32) {
  let run = run_quad(item.run);
  let terms = terms_of(read_item(item), read_grad(item), run, item.at);
  let along = plus_one(times_one(terms.normalized, run.mean_product), run.mean_gradient);
  let rest = plus(terms.of_normalized, negative(along));
  // In this order: rstd by itself may be too large or too small.
  store_y(item.first, opaque(rest.high * run.rstd.high) * run.scale, item.there);
}
