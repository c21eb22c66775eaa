// Conversion of the storage types, against a reference that goes by value: powers of 2 and one rounding of a float64.
#include "simd/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "reference.h"

namespace layernorm::test {
namespace {

struct Float16 {
  static constexpr int kMantissa = 10, kSmallestExponent = -14;
  static constexpr auto kToFloat32 = simd::float16_to_float32;
  static constexpr auto kFromFloat32 = simd::float32_to_float16;
  static constexpr auto kFromFloat64 = simd::float64_to_float16;
};

struct Bfloat16 {
  static constexpr int kMantissa = 7, kSmallestExponent = -126;
  static constexpr auto kToFloat32 = simd::bfloat16_to_float32;
  static constexpr auto kFromFloat32 = simd::float32_to_bfloat16;
  static constexpr auto kFromFloat64 = simd::float64_to_bfloat16;
};

template <class T>
constexpr uint16_t kInfinity = 0x7fff >> T::kMantissa << T::kMantissa;
/// What NaN becomes, whatever its bits.
constexpr uint16_t kNan = 0xffff;

uint32_t bits(float v) { return std::bit_cast<uint32_t>(v); }
uint64_t bits(double v) { return std::bit_cast<uint64_t>(v); }
float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }
double double_of(uint64_t bits) { return std::bit_cast<double>(bits); }

/// The value of a finite one; what infinity's bits would be worth if they stood for a number.
template <class T>
double value_of(uint16_t magnitude) {
  const int exponent = std::max(magnitude >> T::kMantissa, 1);
  const int leading = magnitude >> T::kMantissa == 0 ? 0 : 1 << T::kMantissa;
  const int mantissa = leading + (magnitude & ((1 << T::kMantissa) - 1));
  return std::ldexp(mantissa, exponent - 1 + T::kSmallestExponent - T::kMantissa);
}

template <class T>
uint32_t expected_float32(uint16_t h) {
  const auto sign = static_cast<uint32_t>(h & 0x8000) << 16;
  const uint16_t magnitude = h & 0x7fff;
  if (magnitude < kInfinity<T>) return sign | bits(static_cast<float>(value_of<T>(magnitude)));
  const auto payload = static_cast<uint32_t>(magnitude - kInfinity<T>) << (23 - T::kMantissa);
  return sign | 0x7f800000U | payload;
}

template <class T>
uint16_t expected_from(double v) {
  const uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  if (std::isnan(v)) return kNan;
  const double magnitude = std::fabs(v);
  if (magnitude >= value_of<T>(kInfinity<T>)) return sign | kInfinity<T>;
  const int exponent = magnitude == 0 ? T::kSmallestExponent : std::max(std::ilogb(magnitude), T::kSmallestExponent);
  // The default rounding mode is to nearest even. The leading 1, and a carry, step up the exponent.
  const double mantissa = std::nearbyint(std::ldexp(magnitude, T::kMantissa - exponent));
  return sign + static_cast<uint16_t>(static_cast<int>(mantissa) + ((exponent - T::kSmallestExponent) << T::kMantissa));
}

template <class T>
std::vector<float> to_float32(const std::vector<uint16_t>& from) {
  std::vector<float> to(from.size());
  T::kToFloat32(from.data(), to.data(), from.size());
  return to;
}

template <class T>
std::vector<uint16_t> to_16(const std::vector<float>& from) {
  std::vector<uint16_t> to(from.size());
  T::kFromFloat32(from.data(), to.data(), from.size());
  return to;
}

template <class T>
std::vector<uint16_t> to_16(const std::vector<double>& from) {
  std::vector<uint16_t> to(from.size());
  T::kFromFloat64(from.data(), to.data(), from.size());
  return to;
}

template <class T, class From>
void expect_rounded(const std::vector<From>& from) {
  const std::vector<uint16_t> to = to_16<T>(from);
  for (size_t i = 0; i < from.size(); ++i) {
    ASSERT_EQ(to[i], expected_from<T>(from[i])) << from[i] << ", bits " << std::hex << bits(from[i]);
  }
}

template <class From>
void push_both_signs(std::vector<From>& values, From v) {
  values.push_back(v);
  values.push_back(-v);
}

std::vector<uint16_t> all_16_bits() {
  std::vector<uint16_t> all(0x10000);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  return all;
}

/// The values halfway between neighbours, from that between 0 and the smallest to that from which on there is infinity.
template <class T>
std::vector<double> midpoints() {
  std::vector<double> values;
  for (uint16_t h = 0; h < kInfinity<T>; ++h) values.push_back((value_of<T>(h) + value_of<T>(h + 1)) / 2);
  return values;
}

template <class T>
class Conversion : public testing::Test {};
using StorageTypes = testing::Types<Float16, Bfloat16>;
TYPED_TEST_SUITE(Conversion, StorageTypes);

TYPED_TEST(Conversion, EachValueToFloat32IsExact) {
  const std::vector<uint16_t> from = all_16_bits();
  const std::vector<float> to = to_float32<TypeParam>(from);
  for (size_t i = 0; i < from.size(); ++i) {
    ASSERT_EQ(bits(to[i]), expected_float32<TypeParam>(from[i])) << "bits " << std::hex << from[i];
  }
}

TYPED_TEST(Conversion, EachValueReturns) {
  const std::vector<uint16_t> from = all_16_bits();
  const std::vector<float> wide = to_float32<TypeParam>(from);
  const std::vector<uint16_t> to = to_16<TypeParam>(wide);
  const std::vector<uint16_t> to_from_64 = to_16<TypeParam>(std::vector<double>(wide.begin(), wide.end()));
  for (size_t i = 0; i < from.size(); ++i) {
    const bool is_nan = (from[i] & 0x7fff) > kInfinity<TypeParam>;
    ASSERT_EQ(to[i], is_nan ? kNan : from[i]) << "bits " << std::hex << from[i];
    ASSERT_EQ(to_from_64[i], to[i]) << "bits " << std::hex << from[i];
  }
}

TYPED_TEST(Conversion, MidpointsOfFloat32RoundToEvenAndTheirNeighboursToTheNearer) {
  std::vector<float> from;
  for (const double midpoint : midpoints<TypeParam>()) {
    const auto v = static_cast<float>(midpoint);
    ASSERT_EQ(v, midpoint);
    for (const uint32_t near : {bits(v) - 1, bits(v), bits(v) + 1}) push_both_signs(from, float_of(near));
  }
  expect_rounded<TypeParam>(from);
}

TYPED_TEST(Conversion, MidpointsOfFloat64RoundToEvenAndTheirNeighboursToTheNearer) {
  std::vector<double> from;
  for (const double midpoint : midpoints<TypeParam>()) {
    push_both_signs(from, midpoint);
    // From the last bit of a float64, through the last of a float32, which must not become a tie, to more than that.
    for (const int exponent : {-52, -50, -30, -25, -24, -23, -22}) {
      const double difference = std::ldexp(midpoint, exponent);
      push_both_signs(from, midpoint - difference);
      push_both_signs(from, midpoint + difference);
    }
  }
  expect_rounded<TypeParam>(from);
}

TYPED_TEST(Conversion, EachExponentOfFloat32) {
  Generator generator(1);
  std::vector<float> from;
  for (uint32_t exponent = 0; exponent < 256; ++exponent) {
    for (const uint32_t mantissa : {0x000000U, 0x000001U, 0x3fffffU, 0x400000U, 0x7ffffeU, 0x7fffffU}) {
      push_both_signs(from, float_of(exponent << 23 | mantissa));
    }
    for (int i = 0; i < 1000; ++i) push_both_signs(from, float_of(exponent << 23 | generator.bits() >> 9));
  }
  expect_rounded<TypeParam>(from);
}

TYPED_TEST(Conversion, EachExponentOfFloat64) {
  Generator generator(2);
  std::vector<double> from;
  for (uint64_t exponent = 0; exponent < 2048; ++exponent) {
    for (const uint64_t mantissa : {uint64_t{0}, uint64_t{1}, uint64_t{0x000fffffffffffff}}) {
      push_both_signs(from, double_of(exponent << 52 | mantissa));
    }
    for (int i = 0; i < 50; ++i) {
      const uint64_t mantissa = static_cast<uint64_t>(generator.bits()) << 20 ^ generator.bits();
      push_both_signs(from, double_of(exponent << 52 | mantissa));
    }
  }
  expect_rounded<TypeParam>(from);
}

TYPED_TEST(Conversion, NanStaysNan) {
  std::vector<float> from;
  std::vector<double> from_64;
  for (int bit = 0; bit < 52; ++bit) {
    push_both_signs(from_64, double_of(0x7ff0000000000000U | uint64_t{1} << bit));
    push_both_signs(from_64, double_of(0x7fffffffffffffffU ^ uint64_t{1} << bit));
    if (bit >= 23) continue;
    push_both_signs(from, float_of(0x7f800000U | 1U << bit));
    push_both_signs(from, float_of(0x7fffffffU ^ 1U << bit));
  }
  expect_rounded<TypeParam>(from);
  expect_rounded<TypeParam>(from_64);
}

template <class From, class To>
void expect_within_its_elements(void (*convert)(const From*, To*, size_t)) {
  constexpr size_t kGuard = 16;
  for (size_t n = 0; n <= 40; ++n) {
    // Each element by itself in `one`. Offsets move what is at the alignment of the elements alone.
    for (size_t offset = 0; offset < 3; ++offset) {
      // A vector of its own size: AddressSanitizer sees what is read beyond it.
      std::vector<From> from(offset + n);
      std::vector<To> to(offset + n + kGuard, To(7));
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<From>(300 * i + 5);
      convert(from.data() + offset, to.data() + offset, n);
      for (size_t i = 0; i < to.size(); ++i) {
        const bool is_written = i >= offset && i < offset + n;
        To one = 7;
        if (is_written) convert(&from[i], &one, 1);
        ASSERT_EQ(to[i], one) << "element " << i << ", n " << n << ", offset " << offset;
      }
    }
  }
}

TYPED_TEST(Conversion, AnyLengthTouchesItsElementsOnly) {
  expect_within_its_elements<uint16_t, float>(TypeParam::kToFloat32);
  expect_within_its_elements<float, uint16_t>(TypeParam::kFromFloat32);
  expect_within_its_elements<double, uint16_t>(TypeParam::kFromFloat64);
}

TEST(ConversionToFloat16, KnownValues) {
  const std::vector<double> from = {0.0,         -0.0,           1,       -2,      0.1,     65504,     65519.99,
                                    65520,       -1e300,         0x1p-14, 0x1p-24, 0x1p-25, 0x1.8p-25, 0x3.fffp-16,
                                    1 + 0x1p-11, 1 + 3 * 0x1p-11};
  const std::vector<uint16_t> expected = {0x0000, 0x8000, 0x3c00, 0xc000, 0x2e66, 0x7bff, 0x7bff, 0x7c00,
                                          0xfc00, 0x0400, 0x0001, 0x0000, 0x0001, 0x0400, 0x3c00, 0x3c02};
  EXPECT_EQ(to_16<Float16>(from), expected);
  EXPECT_EQ(to_16<Float16>(std::vector<float>(from.begin(), from.end()))[5], 0x7bff);
  // Rounded to float32 first, this would be the tie 1 + 2^-11, and round down.
  EXPECT_EQ(to_16<Float16>(std::vector<double>{1 + 0x1p-11 + 0x1p-40}), std::vector<uint16_t>{0x3c01});
}

TEST(ConversionToBfloat16, KnownValues) {
  const std::vector<double> from = {0.0, -0.0, 1, -2, 0.1, 1 + 0x1p-8, 1 + 3 * 0x1p-8, 0x1p-133, 0x1p-134, 3.4e38};
  const std::vector<uint16_t> expected = {0x0000, 0x8000, 0x3f80, 0xc000, 0x3dcd,
                                          0x3f80, 0x3f82, 0x0001, 0x0000, 0x7f80};
  EXPECT_EQ(to_16<Bfloat16>(from), expected);
  EXPECT_EQ(to_16<Bfloat16>(std::vector<float>(from.begin(), from.end())), expected);
  EXPECT_EQ(to_16<Bfloat16>(std::vector<double>{1 + 0x1p-8 + 0x1p-40}), std::vector<uint16_t>{0x3f81});
}

}  // namespace
}  // namespace layernorm::test
