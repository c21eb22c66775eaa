// y = (residual + gate * x) + sum_bias, each step rounded; y is the sum that the add forms normalize. The parameters stand
// where weight, bias and scale stand elsewhere.
fn work_on(item: Item, number: u32) {
  // Opaque, so that no step joins the next in one rounding.
  let product = opaque(gate_of(item.at.bias) * read_item(item));
  let sum = opaque(residual_of(item.at.weight) + product);
  store_y(item.first, sum + sum_bias_of(item.at.scale), item.there);
}
