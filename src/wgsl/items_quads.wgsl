// Four neighbouring elements for each lane, along the last dimension.
struct Item {
  first: u32,  // an index of y's binding
  x: u32,      // an index of x's binding
  there: vec4<bool>,
  run: vec4u,
  at: Indices,
}

fn item_of(number: u32) -> Item {
  let index = 4u * number;
  let place = place_along(index, 0u, dims.kept);
  let step = dims.dim[dims.kept - 1u].run;
  let steps = dims.dim[dims.kept - 1u].parameters;
  let first = dims.parameters + place.parameters;
  return Item(
    dims.y + index,
    dims.x + index,
    vec4<bool>(index < dims.total),
    dims.first_run + place.run + quad_indices * step,
    Indices(
      first.x + quad_indices * steps.x,
      first.y + quad_indices * steps.y,
      first.z + quad_indices * steps.z,
      first.w + quad_indices * steps.w,
    ),
  );
}

fn item_count() -> u32 {
  return dims.total / 4u;
}

fn read_item(item: Item) -> vec4f {
  return x_quad(item.x);
}
