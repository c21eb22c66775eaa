// The vector type: each operation gives the bits that IEEE 754 and the wasm specification give, natively as in wasm.
// The same file runs on both.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "reference.h"
#include "simd/vec.h"

namespace layernorm::test {
namespace {

using namespace simd;  // NOLINT: the operations under test

// Zeros of both signs, subnormals, ordinary values, the largest, infinities and NaN.
template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {T(0),
                           T(1),
                           T(1.5),
                           T(0.1),
                           T(3),
                           Limits::min(),
                           Limits::max(),
                           Limits::denorm_min(),
                           Limits::min() / 2,
                           Limits::epsilon(),
                           Limits::infinity(),
                           Limits::quiet_NaN()};
  const size_t n = values.size();
  for (size_t i = 0; i < n; ++i) values.push_back(-values[i]);
  return values;
}

uint32_t bits(float v) { return std::isnan(v) ? 0x7fc00000U : std::bit_cast<uint32_t>(v); }
uint64_t bits(double v) { return std::isnan(v) ? 0x7ff8000000000000U : std::bit_cast<uint64_t>(v); }

template <class T>
class Lanes : public testing::Test {};
using LaneTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(Lanes, LaneTypes);

TYPED_TEST(Lanes, ArithmeticIsIeee754) {
  for (const TypeParam a : special_values<TypeParam>()) {
    for (const TypeParam b : special_values<TypeParam>()) {
      TypeParam sum[4], difference[4], product[4], multiplied[4];
      store(sum, splat(a) + splat(b));
      store(difference, splat(a) - splat(b));
      store(product, splat(a) * splat(b));
      store(multiplied, mul_add(splat(a), splat(b), splat(TypeParam(0.1))));
      // volatile: nothing is folded with another rounding.
      volatile TypeParam p = a * b;
      EXPECT_EQ(bits(sum[0]), bits(TypeParam(a + b)));
      EXPECT_EQ(bits(difference[0]), bits(TypeParam(a - b)));
      EXPECT_EQ(bits(product[0]), bits(TypeParam(p)));
      EXPECT_EQ(bits(multiplied[0]), bits(TypeParam(p + TypeParam(0.1)))) << "rounded twice, " << a << " * " << b;
    }
  }
}

TYPED_TEST(Lanes, PartialLoadsAndStoresTouchTheirElementsOnly) {
  using V = Vector<TypeParam>;
  const TypeParam source[4] = {1, 2, 3, 4};
  for (size_t n = 0; n < V::kLanes; ++n) {
    TypeParam all[V::kLanes];
    store(all, load_partial(source, n, TypeParam(9)));
    for (size_t i = 0; i < V::kLanes; ++i) EXPECT_EQ(all[i], i < n ? source[i] : TypeParam(9));
    TypeParam target[V::kLanes];
    for (TypeParam& element : target) element = 7;
    store_partial(target, n, load(source));
    for (size_t i = 0; i < V::kLanes; ++i) EXPECT_EQ(target[i], i < n ? source[i] : TypeParam(7));
  }
}

TEST(LanesOfFloat, ConversionKeepsSpecialValuesAndRoundsToNearestEven) {
  for (const float a : special_values<float>()) {
    const float lanes[4] = {a, 1, 2, -a};
    double low[2], high[2];
    store(low, promote_low(load(lanes)));
    store(high, promote_high(load(lanes)));
    EXPECT_EQ(bits(low[0]), bits(static_cast<double>(a)));
    EXPECT_EQ(low[1], 1);
    EXPECT_EQ(high[0], 2);
    EXPECT_EQ(bits(high[1]), bits(static_cast<double>(-a)));
  }
  std::vector<double> doubles = special_values<double>();
  for (const double v : {1 + 0x1p-24, 1 + 0x1p-24 + 0x1p-50, 1 + 3 * 0x1p-24, 0x1p-149, 0x1p-150, 0x1.8p-150, 3.5e38}) {
    doubles.push_back(v);
    doubles.push_back(-v);
  }
  for (const double a : doubles) {
    const double low[2] = {a, 1};
    const double high[2] = {2, -a};
    float lanes[4];
    store(lanes, demote(load(low), load(high)));
    EXPECT_EQ(bits(lanes[0]), bits(static_cast<float>(a))) << a;
    EXPECT_EQ(lanes[1], 1);
    EXPECT_EQ(lanes[2], 2);
    EXPECT_EQ(bits(lanes[3]), bits(static_cast<float>(-a))) << a;
  }
}

TEST(LanesOfDouble, LargerPassesOverNan) {
  for (const double a : special_values<double>()) {
    for (const double b : special_values<double>()) {
      double out[2];
      store(out, larger(splat(a), splat(b)));
      EXPECT_EQ(bits(out[0]), bits(b > a ? b : a)) << a << ", " << b;
      store(out, abs(splat(a)));
      EXPECT_EQ(bits(out[1]), bits(std::fabs(a)));
    }
  }
}

TEST(LanesOfFloat, MagnitudesPutNanAboveInfinity) {
  for (const float a : special_values<float>()) {
    for (const float b : special_values<float>()) {
      for (size_t place = 0; place < 4; ++place) {
        float lanes[4] = {0, -0.0F, a, 0};
        std::swap(lanes[2], lanes[place]);
        const float found = largest_magnitude(max(magnitude_bits(load(lanes)), magnitude_bits(splat(b))));
        const bool is_nan = std::isnan(a) || std::isnan(b);
        EXPECT_EQ(has_magnitude_from_2(as_bits(load(lanes)) | as_bits(splat(b))),
                  is_nan || std::fabs(a) >= 2 || std::fabs(b) >= 2);
        EXPECT_EQ(bits(found), bits(is_nan ? std::nanf("") : std::max(std::fabs(a), std::fabs(b)))) << a << ", " << b;
      }
    }
  }
}

TEST(LanesOfFloat, LimitKeepsWhatIsBetween) {
  const float cases[][2] = {{0.0F, 0.0F},   {-0.0F, -0.0F},   {1e-40F, 1e-40F},  {-1e-40F, -1e-40F},
                            {87.5F, 87.5F}, {-87.5F, -87.5F}, {90.0F, 88.0F},    {-90.0F, -88.0F},
                            {1e38F, 88.0F}, {-1e38F, -88.0F}, {INFINITY, 88.0F}, {-INFINITY, -88.0F}};
  for (const auto& [x, expected] : cases) {
    float limited[4];
    store(limited, limit(splat(x), splat(-88.0F), splat(88.0F)));
    for (const float lane : limited) EXPECT_EQ(std::bit_cast<uint32_t>(lane), std::bit_cast<uint32_t>(expected)) << x;
  }
  float of_nan[4];
  store(of_nan, limit(splat(std::numeric_limits<float>::quiet_NaN()), splat(-88.0F), splat(88.0F)));
  for (const float lane : of_nan) EXPECT_EQ(std::fabs(lane), 88.0F);
}

TEST(LanesOfDouble, SumAndSelect) {
  const double lanes[2] = {3, 5};
  EXPECT_EQ(sum_lanes(load(lanes)), 8);
  EXPECT_EQ(lane(load(lanes), 0), 3);
  EXPECT_EQ(lane(load(lanes), 1), 5);
  double first[2];
  store(first, first_lane(splat(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(first[0]));
  EXPECT_EQ(bits(first[1]), bits(0.0));
}

}  // namespace
}  // namespace layernorm::test
