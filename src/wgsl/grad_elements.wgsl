// The gradient of the output for an item, which stands as x does.
fn read_grad(item: Item) -> vec4f {
  let first = item.x - dims.x + dims.grad;
  var v = vec4f();
  for (var c = 0u; c < 4u; c++) {
    if (item.there[c]) {
      v[c] = grad_at(first + c);
    }
  }
  return v;
}
