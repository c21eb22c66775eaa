// v * sigmoid(z) with z = k1 * v + k2 * v^3, whose slope is z': s + v * s * (1 - s) * z'. As for silu, for v < 0 it is
// e / (1 + e)^2 * (1 + e + v * z') with e = exp(z), which is taken from where it is 0 where that is near.
const zero_high = -0.752461433;
const zero_low = 1.13396279e-8;
const exponential_at_zero = 0.291955212;
const k1 = 1.59576917;
const k1_low = -4.53406805e-8;
const k2 = 0.0713548139;
const k2_low = 2.39883247e-9;

fn slope(v: Wide) -> vec4f {
  // Beyond it the slope is 0 or 1.
  let inside = abs(v.high) < vec4f(12.0);
  let w = Wide(select(vec4f(12.0), v.high, inside), select(vec4f(), v.low, inside));
  let square = times(w, w);
  let cubic = times(square, Wide(vec4f(k2), vec4f(k2_low)));
  let z = times(w, plus(cubic, Wide(vec4f(k1), vec4f(k1_low))));
  let rise = k1 + 3.0 * k2 * square.high;
  let e = exponential(negative(magnitude(z)));
  let t = (w.high - zero_high) + (w.low - zero_low);
  // v^2 + v * v0 + v0^2: what differences of cubes are multiples of.
  let squares = square.high + w.high * zero_high + zero_high * zero_high;
  let step = t * (k1 + k2 * squares);
  let near = exponential_at_zero * exponential_less_1(clamp(step, vec4f(-0.5), vec4f(0.5))) + t * (k1 + 3.0 * k2 * squares);
  let below = e * select(1.0 + e + w.high * rise, near, abs(step) < vec4f(0.5));
  let above = 1.0 + e + w.high * rise * e;
  let found = select(above, below, w.high < vec4f(0.0)) / ((1.0 + e) * (1.0 + e));
  return select(select(vec4f(), vec4f(1.0), v.high > vec4f(0.0)), found, inside);
}
