// What follows the normalization of values: rounding to x's type where a preset has it, weight
// and bias, scale and shift, an activation.
override round_normalized: bool = false;
override has_weight: bool = false;
override has_bias: bool = false;
override has_scale: bool = false;
override has_shift: bool = false;

fn finished_with(normalized: vec4f, weight: vec4f, bias: vec4f, scale: vec4f, shift: vec4f) -> vec4f {
  var v = normalized;
  if (round_normalized) {
    v = rounded(v);
  }
  if (has_weight) {
    v *= dims.weight_offset + weight;
  }
  if (has_bias) {
    v += bias;
  }
  if (has_scale) {
    v *= 1.0 + scale;
  }
  if (has_shift) {
    v += shift;
  }
  return activated(v);
}
