// The functions of simd/math.h and the activations: errors against long double, special values, the same bits everywhere.
#include "simd/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "kernels/activation.h"

namespace layernorm::test {
namespace {

using simd::F64x2;
using Wide = long double;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeast = std::numeric_limits<double>::denorm_min();
constexpr double kMost = std::numeric_limits<double>::max();

/// Whether long double can judge: elsewhere it is double, or the library's functions of it are double's (musl, so wasm).
#ifdef __EMSCRIPTEN__
constexpr bool kHasReference = false;
#else
constexpr bool kHasReference = std::numeric_limits<Wide>::digits >= 64;
#endif

#define SKIP_WITHOUT_REFERENCE() \
  if (!kHasReference) GTEST_SKIP() << "long double's functions are no more precise than double's here"

/// xorshift64 (Marsaglia 2003): every bit of a float64 is random.
class Generator64 {
 public:
  double uniform(double low, double high) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return low + (high - low) * (static_cast<double>(state_ >> 11) * 0x1p-53);
  }
  /// Of either sign, the logarithm of the magnitude uniform.
  double spread(double low, double high) {
    const double magnitude = std::exp2(uniform(low, high));
    return uniform(-1, 1) < 0 ? -magnitude : magnitude;
  }

 private:
  uint64_t state_ = 0x9e3779b97f4a7c15;
};

template <class Function>
double first(const Function& function, double x) {
  return simd::lane(function(simd::splat(x)), 0);
}

/// The error in units of the last place of T, those of subnormal numbers included.
template <class T>
Wide error_in_ulps(T got, Wide exact) {
  const T rounded = static_cast<T>(exact);
  if (std::isnan(rounded) || std::isinf(rounded) || std::isnan(got) || std::isinf(got)) {
    const bool agrees = std::isnan(rounded) ? std::isnan(got) : got == rounded;
    return agrees ? 0 : std::numeric_limits<Wide>::infinity();
  }
  using Limits = std::numeric_limits<T>;
  const int exponent = rounded == 0 ? Limits::min_exponent : std::ilogb(rounded) + 1;
  return std::fabs(got - exact) / std::ldexp(Wide{1}, std::max(exponent, Limits::min_exponent) - Limits::digits);
}

// ---- Errors

struct Case {
  const char* name;
  F64x2 (*function)(F64x2);
  Wide (*exact)(Wide);
  double bound;  // in ulps
  struct Range {
    double low, high;
  };
  std::vector<Range> ranges;
  bool of_either_sign = true;
};

Wide exact_sigmoid(Wide x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

/// x times the normal distribution function. The rounding of x / sqrt(2) counts far out; it is made good to first order.
Wide exact_gelu(Wide x) {
  constexpr Wide kRoot = std::numbers::sqrt2_v<Wide>;
  const Wide z = -x / kRoot;
  const Wide missing = -(std::fma(z, kRoot, x)) / kRoot;
  return x / 2 * (std::erfc(z) - 2 * std::numbers::inv_sqrtpi_v<Wide> * std::exp(-z * z) * missing);
}

Wide exact_gelu_tanh(Wide x) {
  const Wide root = std::sqrt(2 / std::numbers::pi_v<Wide>);
  return x * exact_sigmoid(2 * root * (x + 0.044715L * x * x * x));
}

template <Activation kActivation>
F64x2 apply(F64x2 x) {
  return activate(kActivation, x);
}

const std::vector<Case> kCases = {
    {"exp", [](F64x2 x) { return simd::exp(x); }, [](Wide x) { return std::exp(x); }, 1.1, {{-1, 1}, {-746, 711}}},
    {"log",
     [](F64x2 x) { return simd::log(x); },
     [](Wide x) { return std::log(x); },
     0.51,
     {{0.5, 2}, {0.999, 1.001}, {0, 1e-300}, {0, 1e300}},
     false},
    {"tanh", [](F64x2 x) { return simd::tanh(x); }, [](Wide x) { return std::tanh(x); }, 1.6, {{-0.7, 0.7}, {-22, 22}}},
    {"erf", [](F64x2 x) { return simd::erf(x); }, [](Wide x) { return std::erf(x); }, 1.9, {{-1, 1}, {-6.5, 6.5}}},
    {"sigmoid", apply<Activation::sigmoid>, exact_sigmoid, 3, {{-1, 1}, {-40, 40}, {-747, 0}}},
    {"silu",
     apply<Activation::silu>,
     [](Wide x) { return x * exact_sigmoid(x); },
     2.2,
     {{-1, 1}, {-40, 40}, {-753, 0}}},
    {"gelu", apply<Activation::gelu>, exact_gelu, 5, {{-1, 1}, {-6, 6}, {-38.8, 0}}},
    // Further out the reference loses what its argument, up to 745, has been rounded by.
    {"gelu_tanh", apply<Activation::gelu_tanh>, exact_gelu_tanh, 2.1, {{-1, 1}, {-6, 6}}},
    {"gelu_tanh_far_out", apply<Activation::gelu_tanh>, exact_gelu_tanh, 4, {{-22, 0}}},
};

class Function : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Math, Function, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(Function, IsWithinItsBound) {
  SKIP_WITHOUT_REFERENCE();
  const Case& of = GetParam();
  Generator64 generator;
  Wide largest = 0;
  double where = 0;
  const auto try_at = [&](double x) {
    const Wide error = error_in_ulps(first(of.function, x), of.exact(x));
    if (error > largest) {
      largest = error;
      where = x;
    }
  };
  for (const auto& range : of.ranges) {
    for (int i = 0; i < 50000; ++i) try_at(generator.uniform(range.low, range.high));
  }
  for (int i = 0; i < 50000; ++i) {
    const double x = generator.spread(-1074, 5);
    try_at(of.of_either_sign ? x : std::fabs(x));
  }
  EXPECT_LE(largest, of.bound) << "at " << std::hexfloat << where;
}

TEST(Pow, IsWithinItsBound) {
  SKIP_WITHOUT_REFERENCE();
  Generator64 generator;
  Wide largest = 0;
  double at_base = 0, at_exponent = 0;
  const auto try_at = [&](double base, double exponent) {
    const double got = simd::lane(simd::pow(simd::splat(base), simd::splat(exponent)), 0);
    const Wide error = error_in_ulps(got, std::pow(Wide{base}, Wide{exponent}));
    if (error > largest) {
      largest = error;
      at_base = base;
      at_exponent = exponent;
    }
  };
  for (int i = 0; i < 50000; ++i) {
    try_at(generator.uniform(0.5, 2), 0.75);
    try_at(generator.uniform(0.5, 2), generator.uniform(-1000, 1000));
    try_at(std::fabs(generator.spread(-1074, 1024)), generator.uniform(-2, 2));
    // Results over the whole range, from bases near 1.
    const double base = 1 + generator.spread(-52, -2);
    try_at(base, generator.uniform(-746, 710) / std::log(base));
  }
  EXPECT_LE(largest, 1.1) << std::hexfloat << at_base << " ^ " << at_exponent;
}

// ---- Special values

void expect_same(double got, double expected, const std::string& what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(got)) << what << " gave " << got;
  } else {
    EXPECT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(expected)) << what << " gave " << got;
  }
}

TEST(Math, SpecialValuesAreThoseOfC99) {
  const auto exp = [](double x) { return first([](F64x2 v) { return simd::exp(v); }, x); };
  const auto log = [](double x) { return first([](F64x2 v) { return simd::log(v); }, x); };
  for (const double x : {0.0, -0.0, kLeast, -kLeast, 1e-20}) expect_same(exp(x), 1, "exp");
  for (const double x : {kInfinity, kMost, 1e10, 710.0}) expect_same(exp(x), kInfinity, "exp");
  for (const double x : {-kInfinity, -kMost, -1e10, -746.0}) expect_same(exp(x), 0, "exp");
  expect_same(exp(kNan), kNan, "exp");
  expect_same(log(1), 0, "log");
  expect_same(log(0), -kInfinity, "log");
  expect_same(log(-0.0), -kInfinity, "log");
  expect_same(log(kInfinity), kInfinity, "log");
  for (const double x : {-kLeast, -1.0, -kMost, -kInfinity, kNan}) expect_same(log(x), kNan, "log");

  const auto check_odd = [](F64x2 (*function)(F64x2), const char* name) {
    for (const double sign : {1.0, -1.0}) {
      expect_same(first(function, sign * 0), sign * 0, name);
      for (const double x : {kInfinity, kMost, 1e10, 30.0}) expect_same(first(function, sign * x), sign, name);
    }
    expect_same(first(function, kNan), kNan, name);
  };
  check_odd([](F64x2 x) { return simd::tanh(x); }, "tanh");
  check_odd([](F64x2 x) { return simd::erf(x); }, "erf");
  expect_same(first([](F64x2 x) { return simd::tanh(x); }, -kLeast), -kLeast, "tanh");
}

TEST(Pow, SpecialValuesAreThoseOfC99) {
  for (const double base : {0.0, kLeast, 0x1p-1000, 0.5, 1.0, 2.0, kMost, kInfinity, kNan}) {
    for (const double exponent : {0.0, -0.0, 1.0, -1.0, kLeast, -kLeast, 1e300, -1e300, kMost, -kMost}) {
      const double got = simd::lane(simd::pow(simd::splat(base), simd::splat(exponent)), 0);
      // Results are exact: rounding has no part.
      expect_same(got, std::pow(base, exponent), std::to_string(base) + " ^ " + std::to_string(exponent));
    }
  }
}

// ---- Activations

const Activation kActivations[] = {Activation::none,      Activation::relu,    Activation::silu, Activation::gelu,
                                   Activation::gelu_tanh, Activation::sigmoid, Activation::tanh};

double activated(Activation activation, double x) { return simd::lane(activate(activation, simd::splat(x)), 0); }

TEST(Activations, LimitsAreThoseOfPyTorch) {
  struct Limits {
    Activation activation;
    double at_infinity, at_minus_infinity;
  };
  for (const Limits& of : {Limits{Activation::none, kInfinity, -kInfinity}, Limits{Activation::relu, kInfinity, 0},
                           Limits{Activation::silu, kInfinity, kNan}, Limits{Activation::gelu, kInfinity, kNan},
                           Limits{Activation::gelu_tanh, kInfinity, kNan}, Limits{Activation::sigmoid, 1, 0},
                           Limits{Activation::tanh, 1, -1}}) {
    const std::string what = "activation " + std::to_string(static_cast<int>(of.activation));
    expect_same(activated(of.activation, kInfinity), of.at_infinity, what);
    expect_same(activated(of.activation, -kInfinity), of.at_minus_infinity, what);
    expect_same(activated(of.activation, kNan), kNan, what);
    const bool is_bounded = of.activation == Activation::sigmoid || of.activation == Activation::tanh;
    for (const double x : {kMost, 1e200, 1e10, 2000.0}) {
      expect_same(activated(of.activation, x), is_bounded ? 1 : x, what);
      const double low = of.activation == Activation::none ? -x : of.activation == Activation::tanh ? -1 : 0;
      EXPECT_EQ(activated(of.activation, -x), low) << what;
    }
    const double zero = of.activation == Activation::sigmoid ? 0.5 : 0;
    EXPECT_EQ(activated(of.activation, 0.0), zero) << what;
    EXPECT_EQ(activated(of.activation, -0.0), zero) << what;
  }
}

bool is_narrow(Activation activation) {
  return activation == Activation::silu || activation == Activation::sigmoid || activation == Activation::gelu_tanh;
}

TEST(Activations, Float32IsRoundedOnceOrWithinItsBound) {
  SKIP_WITHOUT_REFERENCE();
  Generator64 generator;
  for (const Case& of : kCases) {
    for (const Activation activation : kActivations) {
      // Of the table's rows those that are activations.
      if (activation < Activation::silu || activated(activation, 0.7) != first(of.function, 0.7)) continue;
      std::vector<float> x(40000);
      for (float& value : x) value = static_cast<float>(generator.uniform(-12, 12));
      for (size_t i = 0; i < 1000; ++i) x[i] *= 1000;
      std::vector<float> y = x;
      activate(activation, y.data(), y.size());
      int differing = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const auto exact = static_cast<double>(of.exact(x[i]));
        if (is_narrow(activation)) {
          // Of the 8 units that a float32 result may be off, 3 are the normalization's.
          ASSERT_LE(std::fabs(y[i] - exact), 2.5 * 0x1p-23 * std::max(1.0, std::fabs(exact)))
              << of.name << " of " << x[i];
          continue;
        }
        differing += y[i] != static_cast<float>(of.exact(x[i])) ? 1 : 0;
        ASSERT_LE(error_in_ulps(y[i], of.exact(x[i])), 0.5 + 0x1p-26) << of.name << " of " << x[i];
      }
      EXPECT_LE(differing, 1) << of.name;
    }
  }
}

TEST(Activations, Float32HasTheLimitsOfFloat64) {
  for (const Activation activation : kActivations) {
    for (const double x : {kInfinity, -kInfinity, kNan, 1e30, -1e30, 200.0, 0.0, -0.0}) {
      float y[] = {static_cast<float>(x)};
      activate(activation, y, 1);
      const double expected = activated(activation, static_cast<float>(x));
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(y[0])) << x;
      } else {
        EXPECT_EQ(y[0], static_cast<float>(expected)) << static_cast<int>(activation) << " of " << x;
      }
    }
  }
}

template <class T>
class Blocks : public testing::Test {};
using BlockTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(Blocks, BlockTypes);

TYPED_TEST(Blocks, AreEachElementByItself) {
  Generator64 generator;
  for (const Activation activation : kActivations) {
    for (const size_t n : {0, 1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 66, 67, 127, 128, 131, 300}) {
      std::vector<TypeParam> x(n + 4), y(n + 4);
      for (size_t i = 0; i < n + 4; ++i) y[i] = x[i] = static_cast<TypeParam>(generator.uniform(-9, 9));
      activate(activation, y.data() + 1, n);
      for (size_t i = 0; i < n + 4; ++i) {
        const bool is_inside = i > 0 && i <= n;
        if (sizeof(TypeParam) == 4 && is_inside && is_narrow(activation)) {
          TypeParam alone[] = {x[i]};
          activate(activation, alone, 1);
          EXPECT_EQ(y[i], alone[0]) << "activation " << static_cast<int>(activation) << ", n " << n << ", element "
                                    << i;
          continue;
        }
        EXPECT_EQ(y[i], is_inside ? static_cast<TypeParam>(activated(activation, x[i])) : x[i])
            << "activation " << static_cast<int>(activation) << ", n " << n << ", element " << i;
      }
    }
  }
}

TYPED_TEST(Blocks, ReluKeepsNan) {
  TypeParam y[] = {TypeParam(kNan),      TypeParam(-kInfinity), -1, TypeParam(-0.0), 0, 1,
                   TypeParam(kInfinity), TypeParam(kNan)};
  activate(Activation::relu, y, 8);
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[7]));
  for (size_t i = 1; i < 5; ++i) EXPECT_EQ(y[i], 0);
  EXPECT_EQ(y[5], 1);
  EXPECT_EQ(y[6], TypeParam(kInfinity));
}

// ---- All lanes, all machines

struct Named {
  const char* name;
  F64x2 (*function)(F64x2);
  uint64_t hash;
};
const Named kFunctions[] = {
    {"exp", [](F64x2 x) { return simd::exp(x); }, 0x1cb905dc7ff02d32},
    {"log", [](F64x2 x) { return simd::log(x); }, 0x8c1923bf34b5adbc},
    {"pow", [](F64x2 x) { return simd::pow(simd::abs(x), simd::splat(-0.75)); }, 0x613ebe61209ca06d},
    {"erf", [](F64x2 x) { return simd::erf(x); }, 0xe353dc380f07a1d6},
    {"relu", apply<Activation::relu>, 0xb97a3290a3d2e2a5},
    {"silu", apply<Activation::silu>, 0x154582e9584e8fe4},
    {"gelu", apply<Activation::gelu>, 0xb688895ed2da24ad},
    {"gelu_tanh", apply<Activation::gelu_tanh>, 0x0364ffceb5fd5a43},
    {"sigmoid", apply<Activation::sigmoid>, 0x6baa29a00901ccde},
    {"tanh", apply<Activation::tanh>, 0xcd5ece2d85245f41},
};

const double kSpecial[] = {0.0,  -0.0,   kLeast, -kLeast, 1e-310, 0.3,       -0.3,      1.0,
                           -1.0, 2.5,    -2.5,   100.0,   -100.0, -746.0,    800.0,     -801.0,
                           1e20, -1e100, kMost,  -kMost,  kNan,   kInfinity, -kInfinity};

TEST(Math, LanesAreIndependent) {
  for (const Named& of : kFunctions) {
    for (const double a : kSpecial) {
      for (const double b : kSpecial) {
        const double pair[2] = {a, b};
        const F64x2 both = of.function(simd::load(pair));
        expect_same(simd::lane(both, 0), first(of.function, a), of.name);
        expect_same(simd::lane(both, 1), first(of.function, b), of.name);
      }
    }
  }
}

// The hashes change with the coefficients and formulas, and with nothing else.
TEST(Math, BitsAreTheSameEverywhere) {
  for (const Named& of : kFunctions) {
    Generator64 generator;
    uint64_t hash = 0;
    const auto add = [&](double x) {
      const double y = first(of.function, x);
      hash = (hash ^ (std::isnan(y) ? 1 : std::bit_cast<uint64_t>(y))) * 0x100000001b3U;
      hash ^= hash >> 29;
    };
    for (const double x : kSpecial) add(x);
    for (int i = 0; i < 20000; ++i) add(generator.uniform(-40, 40));
    for (int i = 0; i < 20000; ++i) add(generator.uniform(-1, 1) * (i % 2 == 0 ? 800 : 0x1p-1000));
    EXPECT_EQ(hash, of.hash) << of.name << " 0x" << std::hex << hash;
  }
}

// ---- The operations of simd/vec.h that these functions are made of

TEST(LanesOfDouble, DivisionAndSquareRootAreIeee754) {
  for (const double a : kSpecial) {
    expect_same(first([](F64x2 v) { return simd::sqrt(v); }, a), std::sqrt(a), "sqrt");
    for (const double b : kSpecial) expect_same(simd::lane(simd::splat(a) / simd::splat(b), 1), a / b, "division");
  }
}

TEST(LanesOfDouble, MasksAreAllBitsOrNone) {
  using namespace simd;  // NOLINT: the operations under test
  for (const double a : kSpecial) {
    for (const double b : kSpecial) {
      const double pair[2] = {a, b};
      const double swapped[2] = {b, a};
      const I64x2 less = load(pair) < load(swapped);
      const I64x2 equal = load(pair) == load(swapped);
      const F64x2 chosen = select(less, splat(1.0), splat(2.0));
      EXPECT_EQ(lane(chosen, 0), a < b ? 1 : 2);
      EXPECT_EQ(lane(chosen, 1), b < a ? 1 : 2);
      EXPECT_EQ(lane(clear(equal, splat(3.0)), 0), a == b ? 0 : 3);
      EXPECT_EQ(lane(as_floats(equal & as_bits(splat(3.0))), 1), a == b ? 3 : 0);
    }
  }
}

TEST(LanesOfDouble, BitsAreIntegers) {
  using namespace simd;  // NOLINT: the operations under test
  const auto value = [](I64x2 a) { return std::bit_cast<uint64_t>(lane(as_floats(a), 1)); };
  const I64x2 a = splat_bits(0x123456789abcdef1);
  EXPECT_EQ(value(a << 52), 0xef10000000000000U);
  EXPECT_EQ(value(a >> 52), 0x123U);
  EXPECT_EQ(value(a + splat_bits(0xffffffffffffffff)), 0x123456789abcdef0U);
  EXPECT_EQ(value(a | splat_bits(0xf)), 0x123456789abcdeffU);
}

}  // namespace
}  // namespace layernorm::test
