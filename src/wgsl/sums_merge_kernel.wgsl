// Sums of runs from those of their pieces; what becomes of them, finish_sums, stands in another part.
fn work(group: u32, lane: u32) {
  let run = group * width() + run_of(lane);
  let turn = turn_of(lane);
  let begin = dims.first_chunk + min(run, dims.runs - 1u) * dims.all_chunks;
  var sums = Wide();
  for (var i = turn; i < dims.all_chunks; i += lane_count()) {
    sums = plus(sums, Wide(pieces[2u * (begin + i)], pieces[2u * (begin + i) + 1u]));
  }
  let total = reduce_wide(lane, sums);
  if (run < dims.runs && turn == 0u) {
    finish_sums(run, total);
  }
}
