// The gradient of the output for an item, which stands as x does.
fn read_grad(item: Item) -> vec4f {
  return grad_quad(item.x - dims.x + dims.grad);
}
