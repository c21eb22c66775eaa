// The items of a lane, which neighbouring lanes have side by side.
fn work(group: u32, lane: u32) {
  var number = group * (256u * items_of_lane) + lane;
  let count = item_count();
  if (number >= count) {
    return;
  }
  var item = item_of(number);
  work_on(item, number);
  for (var i = 1u; i < items_of_lane; i++) {
    number += 256u;
    if (number >= count) {
      return;
    }
    item = next_item(item, number);
    work_on(item, number);
  }
}
