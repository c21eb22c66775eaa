// y = x, of the same element type.
fn work_on(item: Item, number: u32) {
  store_y(item.first, read_item(item), item.there);
}
