// Sums over runs of a view, in pieces of dims.piece values, left to sums_merge_kernel.wgsl: for each two vectors, the high
// and the low parts of up to four sums. What is summed, add_item, and which record a run has, number_of, stand in another part.
fn work(group: u32, lane: u32) {
  // Neighbouring lanes, where each has a run of its own, are of neighbouring runs.
  let number = group * width() + run_of(lane);
  let chunk = number / dims.runs;
  let turn = turn_of(lane);
  let place = place_along(number % dims.runs, 0u, dims.kept);
  let first = chunk * dims.piece;
  // Beyond the last piece there is nothing to read.
  let count = select(0u, min(dims.piece, dims.count - first), chunk < dims.chunks);
  let quads = (count + 4u * lane_count() - 1u) / (4u * lane_count());
  var sums = Sums();
  for (var k = 0u; k < quads; k++) {
    sums = add_item(sums, item_of(place, first, count, k, turn));
  }
  let total = reduce_wide(lane, totals_of(sums));
  if (count == 0u || turn > 0u) {
    return;
  }
  let piece = 2u * (dims.first_chunk + number_of(place) * dims.all_chunks + chunk);
  pieces[piece] = total.high;
  pieces[piece + 1u] = total.low;
}
