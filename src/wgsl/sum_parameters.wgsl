// What each element contributes to the gradients of weight, bias, scale and shift, of those that are wanted: they have their
// elements at the same indices of x.
override sums_weight: bool = false;
override sums_bias: bool = false;
override sums_scale: bool = false;
override sums_shift: bool = false;
override slot: u32 = 0u;  // of one of them

fn add_item(sums: Sums, item: Item) -> Sums {
  let terms = terms_of(item.x, item.grad, run_quad(item.run), item.at);
  var next = sums;
  if (sums_weight) {
    next.a = add_there(sums.a, times(terms.of_affine, terms.normalized), item.there);
  }
  if (sums_bias) {
    next.b = add_there(sums.b, terms.of_affine, item.there);
  }
  if (sums_scale) {
    next.c = add_there(sums.c, times(terms.of_result, terms.affine), item.there);
  }
  if (sums_shift) {
    next.d = add_there(sums.d, terms.of_result, item.there);
  }
  return next;
}

fn number_of(place: Place) -> u32 {
  return place.parameters[slot];
}
