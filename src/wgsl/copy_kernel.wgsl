// y = x, of the same element type.
@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = (workgroup.x + workgroup.y * workgroups.x) * 256u + lane;
  if (number >= item_count()) {
    return;
  }
  let item = item_of(number);
  store_y(item.first, read_item(item), item.there);
}
