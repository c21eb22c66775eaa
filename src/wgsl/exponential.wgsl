// e^v for v <= 0, relatively within two ulps or so; 0 below -86.
fn exponential(v: Wide) -> vec4f {
  let there = v.high > vec4f(-86.0);
  let high = max(v.high, vec4f(-86.0));
  let whole = round(high * 1.44269504);
  // ln(2) in two parts, of which the first has few bits: its multiples are exact.
  let r = opaque(high - opaque(whole * 0.693359375)) + whole * 0.000212194440 + v.low;
  var p = vec4f(0.000198909809);
  p = p * r + 0.0013933641;
  p = p * r + 0.00833331093;
  p = p * r + 0.041666465;
  p = p * r + 0.166666667;
  p = p * r + 0.500000001;
  let e = 1.0 + (r + r * r * p);
  let power = bitcast<vec4f>((vec4i(whole) + 127) << vec4u(23u));
  return select(vec4f(), e * power, there);
}

// e^v - 1 for |v| <= 1/2, relatively within an ulp or so.
fn exponential_less_1(v: vec4f) -> vec4f {
  var p = vec4f(2.49224364e-5);
  p = p * v + 0.000199621762;
  p = p * v + 0.00138887377;
  p = p * v + 0.00833318207;
  p = p * v + 0.0416666671;
  p = p * v + 0.166666671;
  p = p * v + 0.5;
  return v + v * v * p;
}

fn magnitude(v: Wide) -> Wide {
  let below = v.high < vec4f(0.0);
  return Wide(select(v.high, -v.high, below), select(v.low, -v.low, below));
}
