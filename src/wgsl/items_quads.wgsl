// Four neighbouring elements for each lane, along the last dimension. A lane goes on 256 quads further, which is mostly still in
// that dimension: a place is worked out anew where it is not.
const items_of_lane = 8u;

struct Item {
  first: u32,  // an index of y's binding
  x: u32,      // an index of x's binding
  there: vec4<bool>,
  run: vec4u,
  at: Indices,
  left: u32,      // elements of the last dimension from here on
  run_step: u32,  // along it
  steps: vec4u,
}

fn item_of(number: u32) -> Item {
  let index = 4u * number;
  let place = place_along(index, 0u, dims.kept);
  let last = dims.kept - 1u;
  let run_step = dims.dim[last].run;
  let steps = dims.dim[last].parameters;
  let size = dims.dim[last].size;
  let first = dims.parameters + place.parameters;
  return Item(
    dims.y + index,
    dims.x + index,
    vec4<bool>(index < dims.total),
    dims.first_run + place.run + quad_indices * run_step,
    indices_from(first, steps),
    size - index % size,
    run_step,
    steps,
  );
}

// The item of `number`, 256 quads after another one.
fn next_item(item: Item, number: u32) -> Item {
  const step = 1024u;
  if (item.left <= step) {
    return item_of(number);
  }
  var next = item;
  next.first += step;
  next.x += step;
  next.run += step * item.run_step;
  next.at.weight += step * item.steps.x;
  next.at.bias += step * item.steps.y;
  next.at.scale += step * item.steps.z;
  next.at.shift += step * item.steps.w;
  next.left -= step;
  return next;
}

fn item_count() -> u32 {
  return dims.total / 4u;
}

fn read_item(item: Item) -> vec4f {
  return x_quad(item.x);
}
