// Moments of a run, and the arithmetic that they need: WGSL's division and inverseSqrt are loose.

// Of values times scale, a power of two: the mean is shift + rest. power: the sum of squared deviations from it; without
// centering the sum of squares or magnitudes.
struct Moments {
  shift: f32,
  rest: f32,
  power: f32,
  scale: f32,
  top: u32,  // the bits of the largest magnitude
}

override centered: bool = true;
override magnitudes: bool = false;

// 1 / a within an ulp or so. Of powers of two and what lies between them, not near overflow.
fn reciprocal(a: f32) -> f32 {
  let r = 1.0 / a;
  return fma(r, fma(-a, r, 1.0), r);
}

// 1 / sqrt(a) within an ulp or so.
fn reciprocal_root(a: f32) -> f32 {
  let r = inverseSqrt(a);
  let half_rest = fma(-0.5 * a * r, r, 0.5);
  return fma(r, half_rest, r);
}

// 2^exponent, at least 2^-126.
fn power_of_two(exponent: i32) -> f32 {
  return bitcast<f32>(u32(clamp(exponent, -126, 127) + 127) << 23u);
}

fn exponent_of(power_of_two: f32) -> i32 {
  return i32(bitcast<u32>(power_of_two) >> 23u) - 127;
}

// Values times a power of two. Arithmetic may take subnormal values for 0; where they matter they are integers times 2^-149.
fn scaled(v: vec4f, scale: f32) -> vec4f {
  if (scale < 0x1p64) {
    return v * scale;
  }
  let magnitude = bitcast<vec4u>(v) & vec4u(0x7fffffffu);
  let sign = bitcast<vec4u>(v) & vec4u(0x80000000u);
  let tiny = vec4f(magnitude) * power_of_two(exponent_of(scale) - 149);
  let signed = bitcast<vec4f>(bitcast<vec4u>(tiny) | sign);
  return select(v * scale, signed, magnitude < vec4u(0x800000u));
}

// Values each times its own power of two.
fn scaled_each(v: vec4f, scale: vec4f) -> vec4f {
  var values = v * scale;
  if (any(scale >= vec4f(0x1p64))) {
    for (var c = 0u; c < 4u; c++) {
      values[c] = scaled(v, scale[c])[c];
    }
  }
  return values;
}

// Where squares of values up to a magnitude could overflow or vanish, what brings it near 1.
fn scale_for(top: u32) -> f32 {
  let exponent = i32(max(top, bitcast<u32>(dims.floor)) >> 23u) - 127;
  return power_of_two(select(-exponent, 0, exponent > -16 && exponent < 40));
}

// Whether a mean is so near 0 that squares about 0 do as well as those about the mean.
fn is_near(mean: f32, variance: f32) -> bool {
  return mean * mean <= 0.0625 * variance;
}

// Values by the record of their run: shift, rest, factor and scale.
fn normalized_by(record: vec4f, v: vec4f) -> vec4f {
  return (opaque(scaled(v, record.w) - record.x) - record.y) * record.z;
}
