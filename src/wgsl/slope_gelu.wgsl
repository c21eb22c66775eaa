// The normal distribution plus v times its density. For a = -v > 0 it is density(a) * (ratio(a) - a) with Mills' ratio, whose
// difference from a is (a - zero) * q: q is a polynomial of (a - 3) / (a + 3), within 3e-9 for a up to 14. Of v > 0 it is 1 less
// that of -v.
const zero_high = 0.751791537;
const zero_low = -1.21144499e-8;

fn slope(v: Wide) -> vec4f {
  let inside = abs(v.high) < vec4f(13.0);
  let size = magnitude(Wide(select(vec4f(13.0), v.high, inside), select(vec4f(), v.low, inside)));
  let square = times(size, size);
  let density = 0.398942280 * exponential(Wide(-0.5 * square.high, -0.5 * square.low));
  let u = (size.high - 3.0) / (size.high + 3.0);
  var q = vec4f(-2.75171669e-5);
  q = q * u + -9.79167751e-6;
  q = q * u + 0.000307834164;
  q = q * u + 0.000231326661;
  q = q * u + -0.0027390378;
  q = q * u + -0.000510128401;
  q = q * u + 0.0352794757;
  q = q * u + -0.134345649;
  q = q * u + 0.300733826;
  q = q * u + -1.19891448;
  let below = density * ((size.high - zero_high) + (size.low - zero_low)) * q;
  return select(1.0 - below, below, v.high < vec4f(0.0));
}
