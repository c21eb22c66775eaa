// The deviations from the mean that a record has, and their squares.
fn add_item(sums: Sums, item: Item) -> Sums {
  let record = records[2u * item.run.x];
  let values = scaled(item.x, record.w);
  let deviation = plus_one(exact_sum(values, vec4f(-record.x)), vec4f(-record.y));
  var next = sums;
  next.a = add_there(sums.a, deviation, item.there);
  next.b = add_there(sums.b, times(deviation, deviation), item.there);
  return next;
}

fn number_of(place: Place) -> u32 {
  return place.run;
}
