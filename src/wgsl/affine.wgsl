// What follows the normalization of values, at indices of the parameters: rounding to x's type where a preset has it, weight
// and bias, scale and shift, an activation.
override round_normalized: bool = false;
override has_weight: bool = false;
override has_bias: bool = false;
override has_scale: bool = false;
override has_shift: bool = false;

fn finished(normalized: vec4f, at: Indices) -> vec4f {
  var v = normalized;
  if (round_normalized) {
    v = rounded(v);
  }
  if (has_weight) {
    v *= dims.weight_offset + weight_of(at.weight);
  }
  if (has_bias) {
    v += bias_of(at.bias);
  }
  if (has_scale) {
    v *= 1.0 + scale_of(at.scale);
  }
  if (has_shift) {
    v += shift_of(at.shift);
  }
  return activated(v);
}
