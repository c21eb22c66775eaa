// What follows the normalization of values, at indices of the parameters: rounding to x's type where a preset has it, weight
// and bias, scale and shift, an activation.
override round_normalized: bool = false;
override has_weight: bool = false;
override has_bias: bool = false;
override has_scale: bool = false;
override has_shift: bool = false;
// 0 none, 1 relu, 2 silu, 3 gelu, 4 gelu_tanh, 5 sigmoid, 6 tanh
override activation: u32 = 0u;

// 1 / (1 + e^-v), absolutely within a few ulps of 1: that of e^v grows with |v|, but not what it does here.
fn sigmoid(v: vec4f) -> vec4f {
  let e = exp(-min(abs(v), vec4f(80.0)));
  let small = e / (1.0 + e);
  return select(1.0 / (1.0 + e), small, v < vec4f(0.0));
}

// Abramowitz and Stegun 7.1.26: within 1.5e-7, which is one ulp of the least magnitude that errors are measured by.
fn normal_distribution(v: vec4f) -> vec4f {
  let x = min(abs(v), vec4f(14.0)) * 0.70710678;
  let t = 1.0 / (1.0 + 0.3275911 * x);
  let polynomial =
    t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  let tail = 0.5 * polynomial * exp(-x * x);
  return select(1.0 - tail, tail, v < vec4f(0.0));
}

fn activated(v: vec4f) -> vec4f {
  switch (activation) {
    case 1u: {
      return max(v, vec4f(0.0));
    }
    case 2u: {
      return v * sigmoid(v);
    }
    case 3u: {
      return v * normal_distribution(v);
    }
    case 4u: {
      // z / 2 * (1 + tanh(u)) is z * sigmoid(2 u).
      let z = clamp(v, vec4f(-20.0), vec4f(20.0));
      return v * sigmoid(1.5957691216 * (z + 0.044715 * z * z * z));
    }
    case 5u: {
      return sigmoid(v);
    }
    case 6u: {
      return 2.0 * sigmoid(2.0 * clamp(v, vec4f(-40.0), vec4f(40.0))) - 1.0;
    }
    default: {
      return v;
    }
  }
}

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
