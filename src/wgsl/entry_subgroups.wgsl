@compute @workgroup_size(threads)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
  @builtin(subgroup_size) size: u32,
  @builtin(subgroup_invocation_id) turn: u32,
) {
  subgroup_lanes = size;
  subgroup_turn = turn;
  work(workgroup.x + workgroup.y * workgroups.x, lane);
}
