// Sums over the lanes of a run, which are dims.lanes neighbours in a workgroup. Each lane leaves its part in parts[] and
// tops[]; a few of them sum up to 16 of these each, and every lane sums what they leave: two barriers, where a tree of pairs
// has one for each level.
const threads = 256u;

var<workgroup> parts: array<vec2f, threads>;
var<workgroup> tops: array<u32, threads>;
var<workgroup> few_parts: array<vec2f, threads>;
var<workgroup> few_tops: array<u32, threads>;
var<workgroup> again: u32;

struct Totals {
  sum: f32,
  power: f32,
  top: u32,
}

fn lane_count() -> u32 {
  return dims.lanes;
}

// How many runs a workgroup has.
fn width() -> u32 {
  return threads / dims.lanes;
}

// The place of a lane among those of its run.
fn turn_of(lane: u32) -> u32 {
  return lane % dims.lanes;
}

// The run of a lane among those of the workgroup.
fn run_of(lane: u32) -> u32 {
  return lane / dims.lanes;
}

fn reduce(lane: u32, sum: f32, power: f32, top: u32) -> Totals {
  parts[lane] = vec2f(sum, power);
  tops[lane] = top;
  if (lane == 0u) {
    again = 0u;
  }
  workgroupBarrier();
  let turn = turn_of(lane);
  let first = lane - turn;
  let few = max(1u, dims.lanes / 16u);
  if (turn < few) {
    var part = parts[lane];
    var most = tops[lane];
    for (var i = turn + few; i < dims.lanes; i += few) {
      part += parts[first + i];
      most = max(most, tops[first + i]);
    }
    few_parts[lane] = part;
    few_tops[lane] = most;
  }
  workgroupBarrier();
  var total = few_parts[first];
  var most = few_tops[first];
  for (var i = 1u; i < few; i++) {
    total += few_parts[first + i];
    most = max(most, few_tops[first + i]);
  }
  return Totals(total.x, total.y, most);
}

// Whether a lane of those that go on together wants to; after reduce.
fn any_wants(wish: bool) -> bool {
  if (wish) {
    again = 1u;
  }
  return workgroupUniformLoad(&again) != 0u;
}
