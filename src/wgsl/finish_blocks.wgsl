// Normalizes `count` values of a run from `first` on by its record, block by block.
fn finish_values(place: Place, first: u32, count: u32, turn: u32, record: vec4f) {
  let steps = dims.dim[dims.kept + dims.reduced - 1u].parameters;
  for (var k = 0u; k < block_count(count); k++) {
    let index = block_index(k, turn);
    if (index < count) {
      let x = x_block(dims.x + place.x + first + index);
      var along = (first + index) * steps;
      if (dims.reduced > 1u) {
        along = place_along(first + index, dims.kept, dims.reduced).parameters;
      }
      let at = dims.parameters + place.parameters + along;
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
      store_y_block(dims.y + place.x + first + index, y);
    }
  }
}
