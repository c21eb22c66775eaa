// The sums of sums_kernel.wgsl where runs lie side by side: four neighbouring ones for each lane, which goes along them by itself.
fn work(group: u32, lane: u32) {
  let number = group * 256u + lane;
  let columns = dims.runs / 4u;
  let chunk = number / columns;
  if (chunk >= dims.chunks) {
    return;
  }
  let place = place_along(4u * (number % columns), 0u, dims.kept);
  let first = chunk * dims.piece;
  let count = min(dims.piece, dims.count - first);
  var sums = Sums();
  for (var i = 0u; i < count; i++) {
    sums = add_item(sums, item_at(place, first + i));
  }
  let high = transpose(mat4x4f(sums.a.high, sums.b.high, sums.c.high, sums.d.high));
  let low = transpose(mat4x4f(sums.a.low, sums.b.low, sums.c.low, sums.d.low));
  var next = place;
  for (var c = 0u; c < 4u; c++) {
    let total = quick_sum(high[c], low[c]);
    let piece = 2u * (dims.first_chunk + number_of(next) * dims.all_chunks + chunk);
    pieces[piece] = total.high;
    pieces[piece + 1u] = total.low;
    next.run += dims.dim[dims.kept - 1u].run;
    next.parameters += dims.dim[dims.kept - 1u].parameters;
  }
}
