// Moments of runs in pieces of dims.piece values. A run in one piece is finished here, of
// others the pieces are left to merge_kernel.wgsl: for each two vectors, its moments, and how many values it has.
override whole: bool = true;

fn work(group: u32, lane: u32) {
  // Neighbouring lanes, where each has a run of its own, are of neighbouring runs.
  let number = group * width() + run_of(lane);
  let chunk = number / dims.runs;
  let run = number % dims.runs;
  let turn = turn_of(lane);
  let place = place_along(run, 0u, dims.kept);
  let first = chunk * dims.piece;
  // Beyond the last piece there is nothing to read.
  let count = select(0u, min(dims.piece, dims.count - first), chunk < dims.chunks);
  fetch(place.x, first, count, turn);
  let m = moments_of_tile(lane, turn, count);
  if (count == 0u || turn > 0u) {
    return;
  }
  if (whole) {
    let at = dims.first_run + place.run;
    let record = record_of(m);
    records[2u * at] = vec4f(record.shift, record.rest, record.factor, record.scale);
    records[2u * at + 1u] = vec4f(record.variance, 0.0, 0.0, 0.0);
    store_mean(dims.first_statistic + place.run, mean_bits(record));
    store_rstd(dims.first_statistic + place.run, rstd_bits(record));
  } else {
    let piece = 2u * (dims.first_chunk + place.run * dims.all_chunks + chunk);
    records[piece] = vec4f(m.shift, m.rest, m.power, m.scale);
    records[piece + 1u] = vec4f(f32(count), bitcast<f32>(m.top), 0.0, 0.0);
  }
}
