// Numbers of twice float32's precision, for gradients: high + low, of which low is half a unit of high's last place at most.
// Nothing is taken for granted of fma, which WGSL lets round twice.
struct Wide {
  high: vec4f,
  low: vec4f,
}

// a + b for |a| >= |b|, exactly.
fn quick_sum(a: vec4f, b: vec4f) -> Wide {
  let sum = opaque(a + b);
  return Wide(sum, b - opaque(sum - a));
}

// a + b, exactly.
fn exact_sum(a: vec4f, b: vec4f) -> Wide {
  let sum = opaque(a + b);
  let part = opaque(sum - a);
  return Wide(sum, (a - opaque(sum - part)) + (b - part));
}

// The upper half of the digits: products of halves are exact.
fn upper(v: vec4f) -> vec4f {
  return bitcast<vec4f>(bitcast<vec4u>(v) & vec4u(0xfffff000u));
}

// a * b, exactly.
fn exact_product(a: vec4f, b: vec4f) -> Wide {
  let product = opaque(a * b);
  let a_high = upper(a);
  let b_high = upper(b);
  let a_low = opaque(a - a_high);
  let b_low = opaque(b - b_high);
  let rest = opaque(opaque(a_high * b_high) - product);
  return Wide(product, (opaque(rest + a_high * b_low) + a_low * b_high) + a_low * b_low);
}

fn plus(a: Wide, b: Wide) -> Wide {
  let sum = exact_sum(a.high, b.high);
  return quick_sum(sum.high, sum.low + (a.low + b.low));
}

fn plus_one(a: Wide, b: vec4f) -> Wide {
  return plus(a, Wide(b, vec4f()));
}

fn negative(a: Wide) -> Wide {
  return Wide(-a.high, -a.low);
}

fn times(a: Wide, b: Wide) -> Wide {
  let product = exact_product(a.high, b.high);
  return quick_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

fn times_one(a: Wide, b: vec4f) -> Wide {
  let product = exact_product(a.high, b);
  return quick_sum(product.high, product.low + a.low * b);
}

// 1 / sqrt(a), for a from 2^-126 on.
fn wide_reciprocal_root(a: Wide) -> Wide {
  let r = vec4f(reciprocal_root(a.high.x));
  let square = times(a, exact_product(r, r));
  return quick_sum(r, 0.5 * r * ((1.0 - square.high) - square.low));
}

// A long sum: what is left of it is not carried over until its end.
fn add_to(sum: Wide, term: Wide) -> Wide {
  let next = exact_sum(sum.high, term.high);
  return Wide(next.high, sum.low + (next.low + term.low));
}
