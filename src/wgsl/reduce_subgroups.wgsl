// Sums over the lanes of a run, which are those of a subgroup: no barriers.
override threads: u32 = 256;

var<private> subgroup_lanes: u32;
var<private> subgroup_turn: u32;

struct Totals {
  sum: f32,
  power: f32,
  top: u32,
}

fn lane_count() -> u32 {
  return subgroup_lanes;
}

// How many runs a workgroup has.
fn width() -> u32 {
  return threads / subgroup_lanes;
}

// The place of a lane among those of its run.
fn turn_of(lane: u32) -> u32 {
  return subgroup_turn;
}

// The run of a lane among those of the workgroup.
fn run_of(lane: u32) -> u32 {
  return lane / subgroup_lanes;
}

fn reduce(lane: u32, sum: f32, power: f32, top: u32) -> Totals {
  return Totals(subgroupAdd(sum), subgroupAdd(power), subgroupMax(top));
}

// Whether a lane of those that go on together wants to.
fn any_wants(wish: bool) -> bool {
  return subgroupAny(wish);
}
