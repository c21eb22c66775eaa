// Normalizes runs in pieces of dims.piece values by their records. A lane takes the same values of `together` neighbouring runs,
// which have the same parameters: these are read once for all of them.
override together: u32 = 1;

// Where a run's quads begin in the bindings of x and y, and its record.
struct Row {
  x: u32,
  y: u32,
  record: vec4f,
}

fn row_of(number: u32, place: Place) -> Row {
  let along = place.x + number * dims.dim[0].x;
  let run = dims.first_run + place.run + number * dims.dim[0].run;
  return Row((dims.x + along) / 4u, (dims.y + along) / 4u, records[2u * run]);
}

fn finish_row(row: Row, q: u32, weight: vec4f, bias: vec4f, scale: vec4f, shift: vec4f) {
  let normalized = normalized_by(row.record, x_whole(row.x + q));
  store_y_whole(row.y + q, finished_with(normalized, weight, bias, scale, shift));
}

fn work(group: u32, lane: u32) {
  let number = group * width() + run_of(lane);
  let sets = dims.runs / together;
  let chunk = number / sets;
  if (chunk >= dims.chunks) {
    return;
  }
  let place = place_along(number % sets * together, 0u, dims.kept);
  // Rows one by one: a CPU reads what an array has at a variable index as slowly as a buffer.
  let row_0 = row_of(0u, place);
  let row_1 = row_of(1u % together, place);
  let row_2 = row_of(2u % together, place);
  let row_3 = row_of(3u % together, place);
  let steps = last_steps();
  let parameters = dims.parameters + place.parameters;
  let first = chunk * dims.piece;
  let end = min(first + dims.piece, dims.count) / 4u;
  let step = lane_count();
  for (var q = first / 4u + turn_of(lane); q < end; q += step) {
    let at = indices_from(parameters + parameters_along(4u * q, steps), steps);
    let weight = weight_of(at.weight);
    let bias = bias_of(at.bias);
    let scale = scale_of(at.scale);
    let shift = shift_of(at.shift);
    finish_row(row_0, q, weight, bias, scale, shift);
    if (together > 1u) {
      finish_row(row_1, q, weight, bias, scale, shift);
    }
    if (together > 2u) {
      finish_row(row_2, q, weight, bias, scale, shift);
    }
    if (together > 3u) {
      finish_row(row_3, q, weight, bias, scale, shift);
    }
  }
}
