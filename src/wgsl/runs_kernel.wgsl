// Normalizes runs in one dispatch: their lanes sum up, then write y. Where lanes hold their values x is read once, else a
// second time, from a cache mostly.
fn work(group: u32, lane: u32) {
  let run = group * width() + run_of(lane);
  let turn = turn_of(lane);
  // Beyond the last run there is nothing to read.
  let count = select(0u, dims.count, run < dims.runs);
  let place = place_along(min(run, dims.runs - 1u), 0u, dims.kept);
  fetch(place.x, 0u, count, turn);
  let record = record_of(moments_of_tile(lane, turn, count));
  if (count == 0u) {
    return;
  }
  if (turn == 0u) {
    store_mean(dims.first_statistic + place.run, mean_bits(record));
    store_rstd(dims.first_statistic + place.run, rstd_bits(record));
  }
  finish_values(place, 0u, dims.count, turn, vec4f(record.shift, record.rest, record.factor, record.scale));
}
