// From the gradient of the output back to that of the normalized value, with what parameters contribute to on the way.
override has_weight: bool = false;
override has_bias: bool = false;
override has_scale: bool = false;
override has_shift: bool = false;
override has_activation: bool = false;

struct Terms {
  normalized: Wide,
  affine: Wide,         // normalized * weight + bias
  of_result: Wide,      // the gradient of what the activation is of: that of shift
  of_affine: Wide,      // of bias
  of_normalized: Wide,
}

fn terms_of(x: vec4f, grad: vec4f, run: RunQuad, at: Indices) -> Terms {
  let difference = exact_sum(scaled_each(x, run.scale), -run.mean.high);
  var terms: Terms;
  terms.normalized = times(plus_one(difference, -run.mean.low), run.rstd);
  terms.affine = terms.normalized;
  var weight = vec4f(1.0);
  if (has_weight) {
    weight = dims.weight_offset + weight_of(at.weight);
    terms.affine = times_one(terms.affine, weight);
  }
  if (has_bias) {
    terms.affine = plus_one(terms.affine, bias_of(at.bias));
  }
  var factor = Wide(vec4f(1.0), vec4f());
  if (has_scale) {
    factor = exact_sum(vec4f(1.0), scale_of(at.scale));
  }
  terms.of_result = Wide(grad, vec4f());
  if (has_activation) {
    var before = terms.affine;
    if (has_scale) {
      before = times(before, factor);
    }
    if (has_shift) {
      before = plus_one(before, shift_of(at.shift));
    }
    terms.of_result = exact_product(grad, slope(before));
  }
  terms.of_affine = terms.of_result;
  if (has_scale) {
    terms.of_affine = times(terms.of_affine, factor);
  }
  terms.of_normalized = terms.of_affine;
  if (has_weight) {
    terms.of_normalized = times_one(terms.of_normalized, weight);
  }
  return terms;
}
