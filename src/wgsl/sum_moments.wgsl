// The deviations from the mean that a record has, and their squares.
fn add_item(sums: Sums, item: Item) -> Sums {
  let all = transpose(mat4x4f(
    records[2u * item.run.x],
    records[2u * item.run.y],
    records[2u * item.run.z],
    records[2u * item.run.w],
  ));
  let deviation = plus_one(exact_sum(scaled_each(item.x, all[3]), -all[0]), -all[1]);
  var next = sums;
  next.a = add_there(sums.a, deviation, item.there);
  next.b = add_there(sums.b, times(deviation, deviation), item.there);
  return next;
}

fn number_of(place: Place) -> u32 {
  return place.run;
}
