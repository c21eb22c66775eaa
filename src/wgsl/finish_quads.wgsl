// Steps of the parameters along the last dimension: read once, since it is dear to look up what a loop only finds by index.
var<private> steps: vec4u;

fn prepare_finish() {
  steps = dims.dim[dims.kept + dims.reduced - 1u].parameters;
}

fn finish_quad(k: u32, turn: u32, there: vec4<bool>, run: Place, first_index: u32, normalized: vec4f) {
  let index = first_index + index_of(k, turn);
  var along = index * steps;
  if (dims.reduced > 1u) {
    along = place_along(index, dims.kept, dims.reduced).parameters;
  }
  let first = dims.parameters + run.parameters + along;
  store_y(dims.y + run.x + index, finished(normalized, indices_from(first, steps)), there);
}
