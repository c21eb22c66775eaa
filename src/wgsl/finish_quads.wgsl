var<private> steps: vec4u;

fn prepare_finish() {
  steps = last_steps();
}

fn finish_quad(k: u32, turn: u32, there: vec4<bool>, run: Place, first_index: u32, normalized: vec4f) {
  let index = first_index + index_of(k, turn);
  let first = dims.parameters + run.parameters + parameters_along(index, steps);
  store_y(dims.y + run.x + index, finished(normalized, indices_from(first, steps)), there);
}
