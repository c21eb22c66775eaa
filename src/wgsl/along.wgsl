// What an index along the reduced dimensions of a run adds to those of the parameters.
override several: bool = false;  // dimensions are reduced

// Along the last dimension: to be read before a loop, since it is dear to look up what is only found by index.
fn last_steps() -> vec4u {
  return dims.dim[dims.kept + dims.reduced - 1u].parameters;
}

fn parameters_along(index: u32, steps: vec4u) -> vec4u {
  if (several) {
    return place_along(index, dims.kept, dims.reduced).parameters;
  }
  return index * steps;
}
