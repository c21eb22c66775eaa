// What follows the normalization of values, at indices of the parameters.
fn finished(normalized: vec4f, at: Indices) -> vec4f {
  return finished_with(normalized, weight_of(at.weight), bias_of(at.bias), scale_of(at.scale), shift_of(at.shift));
}
