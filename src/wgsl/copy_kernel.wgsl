// y = x, of the same element type.
fn work(group: u32, lane: u32) {
  let number = group * 256u + lane;
  if (number >= item_count()) {
    return;
  }
  let item = item_of(number);
  store_y(item.first, read_item(item), item.there);
}
