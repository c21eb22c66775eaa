// Of four runs side by side, whose first has its place, their values at an index.
fn item_at(place: Place, index: u32) -> Item {
  let along = place_along(index, dims.kept, dims.reduced);
  let last = dims.kept - 1u;
  let parameters = dims.parameters + place.parameters + along.parameters;
  let steps = dims.dim[last].parameters;
  return Item(
    vec4<bool>(true),
    x_quad(dims.x + place.x + along.x),
    grad_quad(dims.grad + place.x + along.x),
    dims.first_run + place.run + along.run + quad_indices * dims.dim[last].run,
    indices_from(parameters, steps),
  );
}
