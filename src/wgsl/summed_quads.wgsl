// Of `count` values of a run of the view from `first` on: four for each lane, which lie side by side.
fn item_of(place: Place, first: u32, count: u32, k: u32, turn: u32) -> Item {
  let index = 4u * (k * lane_count() + turn);
  var item: Item;
  item.there = vec4<bool>(index < count);
  if (item.there.x) {
    let along = place_along(first + index, dims.kept, dims.reduced);
    let last = dims.kept + dims.reduced - 1u;
    let steps = dims.dim[last].parameters;
    item.x = x_quad(dims.x + place.x + along.x);
    item.grad = grad_quad(dims.grad + place.x + along.x);
    item.run = dims.first_run + place.run + along.run + quad_indices * dims.dim[last].run;
    let parameters = dims.parameters + place.parameters + along.parameters;
    item.at = indices_from(parameters, steps);
  }
  return item;
}
