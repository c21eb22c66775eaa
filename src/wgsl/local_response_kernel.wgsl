// y = x / (k + alpha / size * sum of x^2 over the window)^beta, four neighbouring elements for each lane. The power is taken
// in two parts: the exponent of two, and the rest by a logarithm of a number near 1.

// log2(m) for m in [sqrt(1/2), sqrt(2)], absolutely within 2^-24: 2 / ln(2) * atanh((m - 1) / (m + 1)).
fn log2_near_1(m: f32) -> f32 {
  let s = (m - 1.0) * reciprocal(m + 1.0);
  let q = s * s;
  // The coefficients are 2 / ln(2) / (2 i + 1).
  let series = fma(q, fma(q, fma(q, fma(q, 0.32059889, 0.41219858), 0.57707802), 0.96179669), 2.885390);
  return s * series;
}

// 2^t for t in [-1, 1], within an ulp or so.
fn exp2_near_0(t: f32) -> f32 {
  // The coefficients are ln(2)^i / i!.
  let half = 0.5 * t;
  let e = fma(half, fma(half, fma(half, fma(half, fma(half, fma(half, 1.54035304e-4, 1.33335581e-3), 9.61812911e-3), 5.55041087e-2), 0.240226507), 0.693147181), 1.0);
  return e * e;
}

fn work_on(item: Item, number: u32) {
  var y: vec4f;
  for (var c = 0u; c < 4u; c++) {
    if (item.there[c]) {
      y[c] = response(4u * number + c - (dims.y & 1u));
    }
  }
  store_y(item.first, y, item.there);
}

fn response(index: u32) -> f32 {
  let channel = index / dims.inner % dims.channels;
  let before = min(dims.below, channel);
  let after = min(dims.above, dims.channels - 1u - channel);
  let first = dims.x + index - before * dims.inner;
  var top = 0u;
  for (var i = 0u; i <= before + after; i++) {
    top = max(top, bitcast<u32>(x_at(first + i * dims.inner)) & 0x7fffffffu);
  }
  // Large values, and where nothing is added to their squares small ones, are squared near 1.
  let exponent = i32(top >> 23u) - 127;
  let far = exponent > 40 || (dims.window.y == 0.0 && exponent < -16);
  let scale = power_of_two(select(0, -exponent, far));
  var sum = 0.0;
  for (var i = 0u; i <= before + after; i++) {
    let v = scaled(vec4f(x_at(first + i * dims.inner)), scale).x;
    sum = fma(v, v, sum);
  }
  let base = fma(dims.window.x, sum, dims.window.y * scale * scale);
  let v = x_at(dims.x + index);
  if (base < power_of_two(-126)) {
    // 0 to a power: nothing to divide, or a constant below 0, which has none.
    return select(v, v * pow(base, dims.window.z), base != 0.0 || dims.window.z == 0.0);
  }
  let bits = bitcast<u32>(base);
  // Of m in [1, 2) the upper part belongs to the next power of two.
  let upper = u32((bits & 0x7fffffu) > 0x3504f3u);
  let m = bitcast<f32>((bits & 0x7fffffu) | ((127u - upper) << 23u));
  let whole = f32(i32(bits >> 23u) - 127 + i32(upper) - 2 * exponent_of(scale));
  // -beta * (whole + log2(m)): the first product is exact, since its factor has few bits.
  let product = dims.window.z * whole;
  let nearest = round(product);
  let rest = fma(dims.window.z + dims.window.w, log2_near_1(m), (product - nearest) + dims.window.w * whole);
  let carried = round(rest);
  let total = i32(clamp(nearest + carried, -400.0, 400.0));
  let first_part = clamp(total, -126, 127);
  let second_part = clamp(total - first_part, -126, 127);
  // In this order: the largest values times a number above 1 would overflow.
  let raised = opaque(vec4f(v * power_of_two(first_part))).x * power_of_two(second_part);
  return opaque(vec4f(raised)).x * exp2_near_0(rest - carried);
}
