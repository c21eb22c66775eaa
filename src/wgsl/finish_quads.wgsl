fn finish_quad(k: u32, turn: u32, there: vec4<bool>, run: Place, first_index: u32, normalized: vec4f) {
  let index = first_index + index_of(k, turn);
  let steps = dims.dim[dims.kept + dims.reduced - 1u].parameters;
  let first = dims.parameters + run.parameters + place_along(index, dims.kept, dims.reduced).parameters;
  let at = Indices(
    first.x + quad_indices * steps.x,
    first.y + quad_indices * steps.y,
    first.z + quad_indices * steps.z,
    first.w + quad_indices * steps.w,
  );
  store_y(dims.y + run.x + index, finished(normalized, at), there);
}
