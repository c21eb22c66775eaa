// What a run is normalized by, from its moments.

// Of x times scale: (x - shift - rest) * factor. Two vectors in memory, of which the second has the variance.
struct Record {
  shift: f32,
  rest: f32,
  factor: f32,
  scale: f32,
  variance: f32,
}

// What stands beside the values: 0 the variance, eps inside the root (layer, rms); 1 the norm, at least eps (l1, max too);
// 2 the deviation, eps added to it.
override divisor: u32 = 0u;
// 0 a root of the power, 1 the power itself, 2 the largest magnitude.
override norm: u32 = 0u;

// eps beside values times scale; of a root of values inside it.
fn scaled_eps(scale: f32) -> f32 {
  let factor = power_of_two(dims.eps_exponent + exponent_of(scale));
  return select(dims.eps * factor, dims.eps * factor * factor, divisor == 0u);
}

fn factor_of(power: f32, variance: f32, top: u32, scale: f32) -> f32 {
  let eps = scaled_eps(scale);
  if (divisor == 0u) {
    let a = variance + eps;
    return select(0.0, reciprocal_root(max(a, power_of_two(-126))), a > 0.0);
  }
  if (divisor == 2u) {
    // The root of the variance is variance / sqrt(variance).
    let least = max(variance, power_of_two(-126));
    let root = select(0.0, least * reciprocal_root(least), variance > 0.0);
    let a = root + eps;
    return select(0.0, reciprocal(max(a, power_of_two(-126))), a > 0.0);
  }
  if (norm == 0u) {
    let largest = max(power, power_of_two(-126));
    let root = select(0.0, largest * reciprocal_root(largest), power > 0.0);
    // The root itself is not needed where it is what divides.
    let by_root = reciprocal_root(largest);
    let by_eps = reciprocal(max(eps, power_of_two(-126)));
    return select(select(0.0, by_eps, eps > 0.0), by_root, root > eps);
  }
  let a = max(select(power, scaled(vec4f(bitcast<f32>(top)), scale).x, norm == 2u), eps);
  return select(0.0, reciprocal(max(a, power_of_two(-126))), a > 0.0);
}

fn record_of(m: Moments) -> Record {
  let variance = m.power * reciprocal(dims.size);
  return Record(m.shift, m.rest, factor_of(m.power, variance, m.top, m.scale), m.scale, variance);
}

// The bits of the statistics of a run, as they are before scaling.
fn mean_bits(r: Record) -> u32 {
  return bitcast<u32>((r.shift + r.rest) * power_of_two(-exponent_of(r.scale)));
}

fn rstd_bits(r: Record) -> u32 {
  return select(dims.rstd_most, bitcast<u32>(r.factor * r.scale), r.variance > 0.0);
}
