// The gradients of the normalized values, and their products with these.
fn add_item(sums: Sums, item: Item) -> Sums {
  let terms = terms_of(item.x, item.grad, run_quad(item.run), item.at);
  var next = sums;
  next.a = add_there(sums.a, terms.of_normalized, item.there);
  next.b = add_there(sums.b, times(terms.of_normalized, terms.normalized), item.there);
  return next;
}

fn number_of(place: Place) -> u32 {
  return place.run;
}
