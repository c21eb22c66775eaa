// Normalizes runs that one workgroup holds: it reads x once, keeps its values in registers, and writes y. `lanes` lanes work
// on each run, 256 / lanes runs are in a workgroup.
@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let group = workgroup.x + workgroup.y * workgroups.x;
  let run = group * width() + run_of(lane);
  let turn = turn_of(lane);
  // Lanes beyond the last run repeat it.
  let place = place_along(min(run, dims.runs - 1u), 0u, dims.kept);
  fetch(place.x, 0u, dims.count, turn);
  let record = record_of(moments_of_tile(lane, turn, dims.count));
  if (run >= dims.runs) {
    return;
  }
  if (turn == 0u) {
    store_mean(dims.first_statistic + place.run, mean_bits(record));
    store_rstd(dims.first_statistic + place.run, rstd_bits(record));
  }
  for (var k = 0u; k < quads; k++) {
    let there = is_there(k, turn, dims.count);
    if (there.x) {
      let normalized = (opaque(scaled(tile[k], record.scale) - record.shift) - record.rest) * record.factor;
      finish_quad(k, turn, there, place, normalized);
    }
  }
}
