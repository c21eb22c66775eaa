// Four neighbouring elements of y for each lane, counted from the beginning of a word; each has its own place.
const items_of_lane = 1u;

struct Item {
  first: u32,  // an index of y's binding
  x: u32,      // an index of x's binding
  there: vec4<bool>,
  run: vec4u,
  at: Indices,
}

fn item_of(number: u32) -> Item {
  let lead = dims.y & 1u;
  var item: Item;
  item.first = dims.y - lead + 4u * number;
  item.there = (quad_indices + 4u * number >= vec4u(lead)) & (quad_indices + 4u * number < vec4u(dims.total + lead));
  for (var c = 0u; c < 4u; c++) {
    let place = place_along(select(0u, 4u * number + c - lead, item.there[c]), 0u, dims.kept);
    item.run[c] = dims.first_run + place.run;
    let parameters = dims.parameters + place.parameters;
    item.at.weight[c] = parameters.x;
    item.at.bias[c] = parameters.y;
    item.at.scale[c] = parameters.z;
    item.at.shift[c] = parameters.w;
  }
  // Without the elements before the first: never read where they are not there.
  item.x = dims.x - lead + 4u * number;
  return item;
}

fn next_item(item: Item, number: u32) -> Item {
  return item_of(number);
}

fn item_count() -> u32 {
  return (dims.total + (dims.y & 1u) + 3u) / 4u;
}

fn read_item(item: Item) -> vec4f {
  var v = vec4f();
  for (var c = 0u; c < 4u; c++) {
    if (item.there[c]) {
      v[c] = x_at(item.x + c);
    }
  }
  return v;
}
