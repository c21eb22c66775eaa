// Abramowitz and Stegun 7.1.26: within 1.5e-7, little more than an ulp of 1.
fn normal_distribution(v: vec4f) -> vec4f {
  let x = min(abs(v), vec4f(14.0)) * 0.70710678;
  let t = 1.0 / (1.0 + 0.3275911 * x);
  let polynomial =
    t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  let tail = 0.5 * polynomial * exp(-x * x);
  return select(1.0 - tail, tail, v < vec4f(0.0));
}

fn activated(v: vec4f) -> vec4f {
  return v * normal_distribution(v);
}
