// Wide sums over the lanes of a run, as reduce() has them.
var<workgroup> highs: array<vec4f, threads>;
var<workgroup> lows: array<vec4f, threads>;

fn reduce_wide(lane: u32, sums: Wide) -> Wide {
  highs[lane] = sums.high;
  lows[lane] = sums.low;
  workgroupBarrier();
  let turn = turn_of(lane);
  let first = lane - turn;
  let few = max(1u, dims.lanes / 16u);
  if (turn < few) {
    var part = sums;
    for (var i = turn + few; i < dims.lanes; i += few) {
      part = plus(part, Wide(highs[first + i], lows[first + i]));
    }
    // No other lane reads these before the barrier.
    highs[lane] = part.high;
    lows[lane] = part.low;
  }
  workgroupBarrier();
  var total = Wide(highs[first], lows[first]);
  for (var i = 1u; i < few; i++) {
    total = plus(total, Wide(highs[first + i], lows[first + i]));
  }
  return total;
}
