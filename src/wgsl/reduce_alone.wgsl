// A run for each lane: nothing to sum.
const threads = 256u;

struct Totals {
  sum: f32,
  power: f32,
  top: u32,
}

fn lane_count() -> u32 {
  return 1u;
}

// How many runs a workgroup has.
fn width() -> u32 {
  return threads;
}

// The place of a lane among those of its run.
fn turn_of(lane: u32) -> u32 {
  return 0u;
}

// The run of a lane among those of the workgroup.
fn run_of(lane: u32) -> u32 {
  return lane;
}

fn reduce(lane: u32, sum: f32, power: f32, top: u32) -> Totals {
  return Totals(sum, power, top);
}

fn any_wants(wish: bool) -> bool {
  return wish;
}
