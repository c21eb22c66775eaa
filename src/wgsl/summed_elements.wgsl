// Of `count` values of a run of the view from `first` on: four for each lane, each with its own place.
fn item_of(place: Place, first: u32, count: u32, k: u32, turn: u32) -> Item {
  let numbers = (quad_indices + 4u * k) * lane_count() + turn;
  var item: Item;
  item.there = numbers < vec4u(count);
  for (var c = 0u; c < 4u; c++) {
    if (item.there[c]) {
      let along = place_along(first + numbers[c], dims.kept, dims.reduced);
      item.x[c] = x_at(dims.x + place.x + along.x);
      item.grad[c] = grad_at(dims.grad + place.x + along.x);
      item.run[c] = dims.first_run + place.run + along.run;
      let parameters = dims.parameters + place.parameters + along.parameters;
      item.at.weight[c] = parameters.x;
      item.at.bias[c] = parameters.y;
      item.at.scale[c] = parameters.z;
      item.at.shift[c] = parameters.w;
    }
  }
  return item;
}
