// The bits of fixed cases, equal on every build: tests/js/hash_cases.js specifies the cases, hashes.js stores the
// hashes of what the package computed, and this file makes the same inputs and has to come to the same hashes.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "golden_hashes.h"
#include "reference.h"

namespace layernorm::test {
namespace {

constexpr uint32_t kCases = 80;
constexpr std::array<size_t, 16> kChannels = {1, 3, 4, 5, 16, 17, 31, 64, 95, 97, 128, 192, 193, 257, 768, 1023};
constexpr std::array<size_t, 4> kLong = {10007, 65537, 100003, 200003};
constexpr std::array<double, 3> kEps = {1e-5, 0, 1e-12};

/// The numbers of one case; draw and uniform give integers and fractions of a mantissa's size.
template <class T>
class CaseGenerator {
 public:
  explicit CaseGenerator(uint32_t index) : generator_(2463534242U + index) {}

  double uniform() { return (draw() - std::ldexp(1, kBits - 1)) * std::ldexp(1, 1 - kBits); }

  double element(uint32_t kind, size_t column, size_t channels) {
    switch (kind) {
      case 0:
        return uniform();
      case 1:
        return (std::ldexp(1, kBits - 1) + (generator_.bits() >> 20)) * std::ldexp(1, 10 - kBits);
      case 2:
        return (generator_.bits() >> 31 != 0 ? 1 : -1) * 12345677 * 0x1p-23;
      case 3: {
        const double sign = generator_.bits() >> 31 != 0 ? -1 : 1;
        const double mantissa = std::ldexp(1, kBits - 1) + std::fmod(draw(), std::ldexp(1, kBits - 1));
        return sign * std::ldexp(mantissa, static_cast<int>(generator_.bits() & 31) - 16 - kBits);
      }
      case 4:
        return 13421773 * 0x1p-27;
      case 5:
        return column == channels / 2 ? 3 : 0;
      case 6:
        return uniform() * std::ldexp(1, kIsFloat ? -120 : -1000);
      case 7:
        return uniform() * std::ldexp(1, kIsFloat ? 100 : 1000);
      default:
        return (0x1p22 + static_cast<double>(column)) * 0.25;
    }
  }

 private:
  static constexpr bool kIsFloat = sizeof(T) == 4;
  static constexpr int kBits = kIsFloat ? 24 : 53;

  double draw() {
    if (kIsFloat) return generator_.bits() >> 8;
    const double high = generator_.bits() >> 5;
    return high * 0x1p26 + (generator_.bits() >> 6);
  }

  Generator generator_;
};

std::string text_of(uint64_t hash) {
  std::array<char, 17> text;
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
  return text.data();
}

template <class T>
std::string hash_case(uint32_t index) {
  const bool is_layer = index % 2 == 0;
  const uint32_t kind = index / 4 % 9;
  const uint32_t params = index / 4 % 5;
  const size_t rows = index < 72 ? 1 + index % 3 : 1;
  const size_t channels = index < 72 ? kChannels[5 * index % 16] : kLong[(index - 72) / 2];

  CaseGenerator<T> generator(index);
  std::vector<T> x(rows * channels);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(generator.element(kind, i % channels, channels));
  std::vector<T> weight(channels);
  std::vector<T> bias(channels);
  Options options;
  options.eps = kEps[index / 8 % 3];
  if (params == 1 || params == 2 || params == 4) {
    for (T& w : weight) w = static_cast<T>(2 * generator.uniform());
    options.weight = Parameter(std::span<const T>(weight));
  }
  if (params == 2 || params == 4) {
    for (T& b : bias) b = static_cast<T>(generator.uniform());
    options.bias = Parameter(std::span<const T>(bias));
  }
  if (params == 3) {
    options.weight = Parameter(1.5);
    options.bias = Parameter(-0.25);
  }
  if (params == 4) options.weight_offset = 1;

  std::vector<T> y(x.size());
  std::vector<double> mean(rows);
  std::vector<double> rstd(rows);
  options.mean = mean;
  options.rstd = rstd;
  const std::span<const T> input(x);
  const Status status =
      is_layer ? layer_norm(input, channels, options, y) : rms_norm(input, channels, options, std::span<T>(y));
  EXPECT_EQ(status, Status::ok);
  uint64_t hash = hash_bytes(y.data(), y.size() * sizeof(T));
  if (is_layer) hash = hash_bytes(mean.data(), rows * sizeof(double), hash);
  hash = hash_bytes(rstd.data(), rows * sizeof(double), hash);
  return text_of(hash);
}

/// The cases of tests/js/hash_backward.js below kBackwardCases.
constexpr uint32_t kBackwardCases = 60;
constexpr std::array<size_t, 10> kBackwardChannels = {1, 3, 4, 17, 64, 97, 130, 768, 1023, 2049};

template <class T>
std::string hash_backward_case(uint32_t index) {
  constexpr DType kDType = sizeof(T) == 4 ? DType::float32 : DType::float64;
  constexpr std::array<Op, 3> kOps = {Op::layer_norm, Op::rms_norm, Op::l2_normalize};
  const size_t rows = 1 + index % 7;
  const size_t channels = kBackwardChannels[index % 10];
  CaseGenerator<T> generator(index);
  std::vector<T> x(rows * channels);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(generator.element(index % 9, i % channels, channels));
  std::vector<T> grad(x.size());
  for (T& g : grad) g = static_cast<T>(generator.uniform());
  std::vector<T> weight(channels);
  std::vector<T> y(x.size());
  std::vector<T> grad_weight(channels);
  std::vector<double> sums(2 * channels);
  std::array<double, 2> bias_sums = {};

  Call call;
  call.op = kOps[index % 3];
  call.backward = true;
  call.dtype = call.grad_output_dtype = kDType;
  call.rank = 2;
  call.dims[0] = {rows, false};
  call.dims[1] = {channels, true};
  call.x = x.data();
  call.grad_output = grad.data();
  call.y = y.data();
  const bool affine = call.op != Op::l2_normalize;
  if (affine) {
    for (T& w : weight) w = static_cast<T>(2 * generator.uniform());
    call.parameter(Operand::weight) = Parameter(std::span<const T>(weight));
    call.strides[static_cast<size_t>(Operand::weight)][1] = 1;
    call.gradient(Operand::weight) = {true, kDType, channels, sums.data(), grad_weight.data()};
    call.parameter(Operand::bias) = Parameter(0.0);
    call.gradient(Operand::bias) = {true, DType::float64, 1, bias_sums.data(), nullptr};
    // A single row's: the weight has as many elements as x.
    if (rows == 1) call.gradient(Operand::weight).sums = nullptr;
  }
  EXPECT_EQ(check(call), Status::ok);
  run(call);
  uint64_t hash = hash_bytes(y.data(), y.size() * sizeof(T));
  if (affine) {
    hash = hash_bytes(grad_weight.data(), channels * sizeof(T), hash);
    hash = hash_bytes(bias_sums.data(), sizeof(double), hash);
  }
  return text_of(hash);
}

TEST(Hashes, OfGradientsEqualThoseOfThePackage) {
  ASSERT_GT(std::size(kGoldenBackwardHashes), kBackwardCases);
  for (const GoldenHash& golden : kGoldenBackwardHashes) {
    const auto index = static_cast<uint32_t>(std::stoul(golden.name));
    if (index >= kBackwardCases) continue;
    const bool is_float = index / 3 % 2 == 0;
    EXPECT_EQ(is_float ? hash_backward_case<float>(index) : hash_backward_case<double>(index), golden.hash)
        << golden.name;
  }
}

TEST(Hashes, EqualThoseOfThePackage) {
  ASSERT_EQ(std::size(kGoldenHashes), kCases);
  for (const GoldenHash& golden : kGoldenHashes) {
    const auto index = static_cast<uint32_t>(std::stoul(golden.name));  // a name begins with its number
    const bool is_float = index / 2 % 2 == 0;
    EXPECT_EQ(is_float ? hash_case<float>(index) : hash_case<double>(index), golden.hash) << golden.name;
  }
}

}  // namespace
}  // namespace layernorm::test
