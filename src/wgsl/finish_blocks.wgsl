// Normalizes `count` values of a run from `first` on by its record, block by block.
fn finish_values(place: Place, first: u32, count: u32, turn: u32, record: vec4f) {
  let steps = last_steps();
  let parameters = dims.parameters + place.parameters;
  let begin = first + block_index(0u, turn);
  let end = first + count;
  let step = block_index(1u, 0u);
  for (var index = begin; index < end; index += step) {
    let x = x_block(dims.x + place.x + index);
    let at = parameters + parameters_along(index, steps);
    let weight = weight_block(at.x);
    let bias = bias_block(at.y);
    let scale = scale_block(at.z);
    let shift = shift_block(at.w);
    let y = mat4x4f(
      finished_with(normalized_by(record, x[0]), weight[0], bias[0], scale[0], shift[0]),
      finished_with(normalized_by(record, x[1]), weight[1], bias[1], scale[1], shift[1]),
      finished_with(normalized_by(record, x[2]), weight[2], bias[2], scale[2], shift[2]),
      finished_with(normalized_by(record, x[3]), weight[3], bias[3], scale[3], shift[3]),
    );
    store_y_block(dims.y + place.x + index, y);
  }
}
