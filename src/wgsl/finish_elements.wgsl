fn prepare_finish() {}

fn finish_quad(k: u32, turn: u32, there: vec4<bool>, run: Place, first_index: u32, normalized: vec4f) {
  let indices = indices_of(k, turn);
  var places: array<Place, 4>;
  var at: Indices;
  for (var c = 0u; c < 4u; c++) {
    places[c] = place_in_run(first_index + select(0u, indices[c], there[c]));
    let parameters = dims.parameters + run.parameters + places[c].parameters;
    at.weight[c] = parameters.x;
    at.bias[c] = parameters.y;
    at.scale[c] = parameters.z;
    at.shift[c] = parameters.w;
  }
  let y = finished(normalized, at);
  for (var c = 0u; c < 4u; c++) {
    if (there[c]) {
      store_y_one(dims.y + run.x + places[c].x, y[c]);
    }
  }
}
