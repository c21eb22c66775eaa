// Normalizes runs in pieces of dims.piece values by their records. A lane takes the same values of `together` neighbouring runs,
// which have the same parameters: these are read once for all of them.
override together: u32 = 1;

// Where a run's values begin in the bindings of x and y, and its record.
struct Row {
  x: u32,
  y: u32,
  record: vec4f,
}

fn row_of(number: u32, place: Place) -> Row {
  let along = number * dims.dim[0].x;
  let run = dims.first_run + place.run + number * dims.dim[0].run;
  return Row(dims.x + place.x + along, dims.y + place.x + along, records[2u * run]);
}

fn finish_row(row: Row, i: u32, weight: vec4f, bias: vec4f, scale: vec4f, shift: vec4f) {
  let normalized = normalized_by(row.record, x_quad(row.x + i));
  store_y(row.y + i, finished_with(normalized, weight, bias, scale, shift), vec4<bool>(true));
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
  let begin = chunk * dims.piece;
  let end = min(begin + dims.piece, dims.count);
  let step = 4u * lane_count();
  for (var i = begin + 4u * turn_of(lane); i < end; i += step) {
    let at = indices_from(parameters + parameters_along(i, steps), steps);
    let weight = weight_of(at.weight);
    let bias = bias_of(at.bias);
    let scale = scale_of(at.scale);
    let shift = shift_of(at.shift);
    finish_row(row_0, i, weight, bias, scale, shift);
    if (together > 1u) {
      finish_row(row_1, i, weight, bias, scale, shift);
    }
    if (together > 2u) {
      finish_row(row_2, i, weight, bias, scale, shift);
    }
    if (together > 3u) {
      finish_row(row_3, i, weight, bias, scale, shift);
    }
  }
}
