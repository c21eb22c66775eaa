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
// Whether eps is so small that values count which arithmetic may take for 0.
override subnormals: bool = true;

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

// Values times a power of two. Arithmetic may take subnormal values for 0; where they matter, 2^-126 is added to their magnitude,
// by its bits, and taken off the product again. No branch: a CPU that is a GPU's stand-in would go both ways.
fn scaled(v: vec4f, scale: f32) -> vec4f {
  if (!subnormals) {
    return v * scale;
  }
  let bits = bitcast<vec4u>(v);
  let lift = bitcast<f32>(bitcast<u32>(scale) - (126u << 23u));
  let magnitude = bitcast<vec4f>((bits & vec4u(0x7fffffffu)) | vec4u(0x800000u)) * scale - lift;
  let signed = bitcast<vec4f>(bitcast<vec4u>(magnitude) | (bits & vec4u(0x80000000u)));
  let is_tiny = (bits & vec4u(0x7f800000u)) == vec4u();
  return select(v * scale, signed, is_tiny & vec4<bool>(scale >= 0x1p64));
}

// Values each times its own power of two.
fn scaled_each(v: vec4f, scale: vec4f) -> vec4f {
  var values = v * scale;
  if (subnormals && any(scale >= vec4f(0x1p64))) {
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
