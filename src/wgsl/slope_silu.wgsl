// s + v * s * (1 - s) = (1 + e + v * e) / (1 + e)^2 with e = exp(-v), for v < 0 e / (1 + e)^2 * (1 + e + v) with e = exp(v). The
// latter is 0 at one v, from which it is taken where that is near: there 1 + e + v = t + e0 * (exp(t) - 1).
const zero_high = -1.27846456;
const zero_low = 1.29792825e-8;
const exponential_at_zero = 0.278464543;

fn slope(v: Wide) -> vec4f {
  let e = exponential(negative(magnitude(v)));
  let t = (v.high - zero_high) + (v.low - zero_low);
  let near = t + exponential_at_zero * exponential_less_1(clamp(t, vec4f(-0.5), vec4f(0.5)));
  let below = e * select(1.0 + e + v.high, near, abs(t) < vec4f(0.5));
  let above = 1.0 + e + v.high * e;
  return select(above, below, v.high < vec4f(0.0)) / ((1.0 + e) * (1.0 + e));
}
