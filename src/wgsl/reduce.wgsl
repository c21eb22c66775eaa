// Sums over the lanes of a run. A workgroup has dims.lanes lanes for each of its runs: neighbours, or in columns those of
// neighbouring runs are neighbours. parts[] and tops[] hold one value for each lane; a tree leaves the totals in a run's
// first.
const threads = 256u;

var<workgroup> parts: array<vec2f, threads>;
var<workgroup> tops: array<u32, threads>;

struct Totals {
  sum: f32,
  power: f32,
  top: u32,
}

// How many runs a workgroup has.
fn width() -> u32 {
  return threads / dims.lanes;
}

// The place of a lane among those of its run.
fn turn_of(lane: u32) -> u32 {
  return select(lane % dims.lanes, lane / width(), dims.columns == 1u);
}

// The run of a lane among those of the workgroup.
fn run_of(lane: u32) -> u32 {
  return select(lane / dims.lanes, lane % width(), dims.columns == 1u);
}

fn reduce(lane: u32, sum: f32, power: f32, top: u32) -> Totals {
  parts[lane] = vec2f(sum, power);
  tops[lane] = top;
  let unit = select(1u, width(), dims.columns == 1u);
  let turn = turn_of(lane);
  for (var half = dims.lanes / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (turn < half) {
      parts[lane] += parts[lane + half * unit];
      tops[lane] = max(tops[lane], tops[lane + half * unit]);
    }
  }
  workgroupBarrier();
  let first = lane - turn * unit;
  let totals = Totals(parts[first].x, parts[first].y, tops[first]);
  workgroupBarrier();
  return totals;
}
