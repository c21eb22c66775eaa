// Normalizes runs in pieces of dims.piece values by their records, of which a piece reads one.
fn work(group: u32, lane: u32) {
  let number = group * width() + run_of(lane);
  let chunk = number / dims.runs;
  if (chunk >= dims.chunks) {
    return;
  }
  let turn = turn_of(lane);
  let place = place_along(number % dims.runs, 0u, dims.kept);
  let first = chunk * dims.piece;
  let count = min(dims.piece, dims.count - first);
  let record = records[2u * (dims.first_run + place.run)];
  fetch(place.x, first, count, turn);
  finish_values(place, first, count, turn, record);
}
