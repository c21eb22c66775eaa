// layer_norm and rms_norm over rows: right at every length, in every arrangement, for every kind of parameter.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "reference.h"

namespace layernorm::test {
namespace {

using testing::Combine;
using testing::Values;

template <class T>
Status call(Op op, std::span<const T> x, size_t features, const Options& options, std::span<T> y) {
  return op == Op::layer_norm ? layer_norm(x, features, options, y) : rms_norm(x, features, options, y);
}

std::string name_of(Op op) { return op == Op::layer_norm ? "layer" : "rms"; }

struct Data {
  double mean, deviation;
};

class Rows : public testing::TestWithParam<std::tuple<Op, size_t>> {
 protected:
  [[nodiscard]] static Op op() { return std::get<0>(GetParam()); }
  [[nodiscard]] static size_t features() { return std::get<1>(GetParam()); }

  template <class T>
  static void expect_exact(const Options& options, double mean, double deviation) {
    constexpr size_t kRows = 5;
    const std::vector<T> x = uniform_values<T>(7, kRows * features(), mean, deviation);
    std::vector<T> y(x.size());
    ASSERT_EQ(call<T>(op(), x, features(), options, y), Status::ok);
    EXPECT_LE((largest_error<T>(op(), x, features(), options, y)), 3)
        << "mean " << mean << ", deviation " << deviation << ", eps " << options.eps;
  }
};

TEST_P(Rows, MatchesTheReferenceForEveryKindOfData) {
  for (const Data& data :
       {Data{0, 1}, Data{100, 1}, Data{1e4, 1}, Data{1e6, 1}, Data{0, 1e-30}, Data{0, 1e18}, Data{3e38, 1e37}}) {
    for (const double eps : {1e-5, 0.0}) {
      Options options;
      options.eps = eps;
      expect_exact<float>(options, data.mean, data.deviation);
      expect_exact<double>(options, data.mean, data.deviation);
    }
  }
}

TEST_P(Rows, TakesEveryKindOfParameter) {
  const std::vector<float> narrow = uniform_values<float>(8, features());
  const std::vector<double> wide = uniform_values<double>(9, features());
  const std::vector<float> large = uniform_values<float>(17, features(), 0, 1e4);
  const Parameter kinds[] = {Parameter(),
                             Parameter(-1.5),
                             Parameter(300.0),
                             Parameter(std::span<const float>(narrow)),
                             Parameter(std::span<const double>(wide)),
                             Parameter(std::span<const float>(large))};
  for (const Parameter& weight : kinds) {
    for (const Parameter& bias : kinds) {
      for (const double offset : {0.0, 1.0}) {
        Options options;
        options.weight = weight;
        options.bias = bias;
        options.weight_offset = offset;
        for (const double mean : {0.0, 1e3}) {
          expect_exact<float>(options, mean, 1);
          expect_exact<double>(options, mean, 1);
        }
      }
    }
  }
}

TEST_P(Rows, GivesTheSameBitsAloneInABatchAndInPlace) {
  constexpr size_t kRows = 6;
  const size_t n = features();
  std::vector<float> x = uniform_values<float>(10, kRows * n);
  for (size_t i = 0; i < n; ++i) x[n + i] += 1000;         // a run that needs its mean first
  for (size_t i = 0; i < n; ++i) x[3 * n + i] *= 0x1p90F;  // and one that needs float64
  std::vector<float> batch(x.size());
  ASSERT_EQ(call<float>(op(), x, n, {}, batch), Status::ok);
  std::vector<float> alone(x.size());
  for (size_t row = 0; row < kRows; ++row) {
    ASSERT_EQ(
        call<float>(op(), std::span<const float>(x).subspan(row * n, n), n, {}, std::span(alone).subspan(row * n, n)),
        Status::ok);
  }
  EXPECT_EQ(batch, alone);
  std::vector<float> in_place = x;
  ASSERT_EQ(call<float>(op(), in_place, n, {}, in_place), Status::ok);
  EXPECT_EQ(batch, in_place);
}

TEST_P(Rows, GivesTheBiasForAConstantRun) {
  for (const double value : {0.1, 1e30, -7.0, 3e-39, 0.0}) {
    if (op() == Op::rms_norm && value != 0) continue;
    for (const double eps : {0.0, 1e-5}) {
      Options options;
      options.eps = eps;
      options.bias = Parameter(0.25);
      const std::vector<float> x(3 * features(), static_cast<float>(value));
      std::vector<float> y(x.size());
      ASSERT_EQ(call<float>(op(), x, features(), options, y), Status::ok);
      EXPECT_EQ(y, std::vector<float>(x.size(), 0.25F)) << value << ", eps " << eps;
      const std::vector<double> x64(3 * features(), value);
      std::vector<double> y64(x.size());
      ASSERT_EQ(call<double>(op(), x64, features(), options, y64), Status::ok);
      EXPECT_EQ(y64, std::vector<double>(x.size(), 0.25)) << value << ", eps " << eps;
    }
  }
}

TEST_P(Rows, LetsNanAndInfinitySpoilTheirOwnRunOnly) {
  constexpr size_t kRows = 7;
  const size_t n = features();
  const std::vector<float> clean = uniform_values<float>(11, kRows * n);
  std::vector<float> expected(clean.size());
  ASSERT_EQ(call<float>(op(), clean, n, {}, expected), Status::ok);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> x = clean;
    x[3 * n + n / 2] = bad;
    std::vector<float> y(x.size());
    ASSERT_EQ(call<float>(op(), x, n, {}, y), Status::ok);
    EXPECT_TRUE(std::isnan(y[3 * n + n / 2]));
    for (size_t i = 0; i < x.size(); ++i) {
      if (i / n != 3) ASSERT_EQ(y[i], expected[i]) << i;
    }
  }
}

TEST_P(Rows, ReportsStatistics) {
  constexpr size_t kRows = 4;
  const size_t n = features();
  const std::vector<float> x = uniform_values<float>(12, kRows * n, 3, 2);
  std::vector<float> y(x.size());
  std::vector<double> mean(kRows, -1);
  std::vector<double> rstd(kRows, -1);
  Options options;
  options.mean = mean;
  options.rstd = rstd;
  ASSERT_EQ(call<float>(op(), x, n, options, y), Status::ok);
  for (size_t row = 0; row < kRows; ++row) {
    const Statistics exact = statistics(op(), std::span<const float>(x).subspan(row * n, n), options.eps);
    const long double eps = std::numeric_limits<float>::epsilon();
    EXPECT_LE(std::fabs(rstd[row] - exact.rstd), 3 * eps * exact.rstd);
    if (op() == Op::rms_norm) {
      EXPECT_EQ(mean[row], -1) << "RMSNorm has no mean";
    } else {
      EXPECT_LE(std::fabs(mean[row] - exact.mean()), 3 * eps / exact.rstd);
    }
  }
}

/// Operands that are handed over piece by piece.
class Pieces final : public Transfer {
 public:
  std::span<const float> x, weight;
  std::span<const double> bias;
  std::vector<float> y;

  void read(Operand operand, uint64_t begin, size_t n, void* to) override {
    if (operand == Operand::x) copy(x, begin, n, to);
    if (operand == Operand::weight) copy(weight, begin, n, to);
    if (operand == Operand::bias) copy(bias, begin, n, to);
  }
  void write(Operand operand, uint64_t begin, size_t n, const void* from) override {
    ASSERT_EQ(operand, Operand::y);
    ASSERT_LE(begin + n, y.size());
    std::memcpy(y.data() + begin, from, n * sizeof(float));
  }

 private:
  template <class T>
  static void copy(std::span<const T> from, uint64_t begin, size_t n, void* to) {
    ASSERT_LE(begin + n, from.size());
    std::memcpy(to, from.data() + begin, n * sizeof(T));
  }
};

TEST_P(Rows, StreamsWhatIsNotInMemoryWithTheSameBits) {
  constexpr size_t kRows = 3;
  const size_t n = features();
  const std::vector<float> weight = uniform_values<float>(13, n);
  const std::vector<double> bias = uniform_values<double>(14, n);
  for (const Data& data : {Data{0, 1}, Data{1000, 1}, Data{0, 1e30}, Data{1e7, 1}}) {
    const std::vector<float> x = uniform_values<float>(15, kRows * n, data.mean, data.deviation);
    Options options;
    options.weight = Parameter(std::span<const float>(weight));
    options.bias = Parameter(std::span<const double>(bias));
    options.weight_offset = 1;
    std::vector<float> expected(x.size());
    ASSERT_EQ(call<float>(op(), x, n, options, expected), Status::ok);
    Pieces pieces;
    pieces.x = x;
    pieces.weight = weight;
    pieces.bias = bias;
    pieces.y.resize(x.size());
    Call remote;
    remote.op = op();
    remote.rank = 2;
    remote.dims[0] = {kRows, false};
    remote.dims[1] = {n, true};
    remote.weight_offset = options.weight_offset;
    remote.transfer = &pieces;
    for (const Operand operand : {Operand::x, Operand::weight, Operand::bias, Operand::y}) {
      remote.remote[static_cast<size_t>(operand)] = true;
    }
    remote.parameter(Operand::weight) = options.weight;
    remote.parameter(Operand::bias) = options.bias;
    for (const Operand operand : {Operand::weight, Operand::bias}) {
      remote.parameter(operand).data = nullptr;
      remote.strides[static_cast<size_t>(operand)][1] = 1;
    }
    run(remote);
    ASSERT_EQ(pieces.y, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, Rows,
                         Combine(Values(Op::layer_norm, Op::rms_norm),
                                 Values(1, 2, 3, 4, 5, 15, 16, 17, 31, 63, 64, 65, 95, 96, 97, 128, 191, 192, 193, 255,
                                        768, 1023, 4096, 32768, 32769)),
                         [](const auto& parameters) {
                           return name_of(std::get<0>(parameters.param)) + "_features" +
                                  std::to_string(std::get<1>(parameters.param));
                         });

// Of those that share their parameters several are written together.
TEST(LongRows, AreExactAndHaveTheSameBitsAloneInABatchAndInPlace) {
  for (const size_t n : {size_t{65'537}, size_t{163'840}, size_t{163'841}, size_t{200'003}}) {
    constexpr size_t kRows = 6;
    std::vector<float> x = uniform_values<float>(21, kRows * n);
    for (size_t i = 0; i < n; ++i) x[n + i] += 1000;         // a run that needs its mean first
    for (size_t i = 0; i < n; ++i) x[3 * n + i] *= 0x1p90F;  // and one that needs float64
    const std::vector<float> weight = uniform_values<float>(22, n);
    const std::vector<double> bias = uniform_values<double>(23, n);
    Options options;
    options.weight = Parameter(std::span<const float>(weight));
    for (const Parameter& each : {Parameter(), Parameter(std::span<const double>(bias))}) {
      options.bias = each;
      for (const Op op : {Op::layer_norm, Op::rms_norm}) {
        std::vector<float> batch(x.size());
        ASSERT_EQ(call<float>(op, x, n, options, batch), Status::ok);
        EXPECT_LE((largest_error<float>(op, x, n, options, batch)), 3) << n;
        std::vector<float> alone(x.size());
        for (size_t begin = 0, rows = 1; begin < kRows; begin += rows, ++rows) {
          rows = std::min(rows, kRows - begin);
          ASSERT_EQ(call<float>(op, std::span<const float>(x).subspan(begin * n, rows * n), n, options,
                                std::span(alone).subspan(begin * n, rows * n)),
                    Status::ok);
        }
        EXPECT_EQ(batch, alone) << n;
        std::vector<float> in_place = x;
        ASSERT_EQ(call<float>(op, in_place, n, options, in_place), Status::ok);
        EXPECT_EQ(batch, in_place) << n;
      }
    }
  }
}

TEST(Checks, AnswerBeforeAnythingIsWritten) {
  const std::vector<float> x = uniform_values<float>(16, 12);
  const std::vector<float> three(3, 1.0F);
  const std::vector<float> untouched(12, 9.0F);
  std::vector<float> y = untouched;
  std::vector<double> two(2, 9.0);
  const auto status = [&](size_t features, const Options& options) { return layer_norm(x, features, options, y); };
  Options options;
  EXPECT_EQ(status(0, options), Status::bad_dims);
  EXPECT_EQ(status(5, options), Status::size_mismatch);
  options.weight = Parameter(std::span<const float>(three));
  EXPECT_EQ(status(4, options), Status::size_mismatch);
  options.weight = Parameter();
  for (const double eps : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    options.eps = eps;
    EXPECT_EQ(status(4, options), Status::bad_eps);
  }
  options.eps = 0;
  options.weight_offset = std::numeric_limits<double>::infinity();
  EXPECT_EQ(status(4, options), Status::bad_weight_offset);
  options.weight_offset = 0;
  options.mean = two;
  EXPECT_EQ(status(4, options), Status::size_mismatch);
  EXPECT_EQ(y, untouched);
  EXPECT_EQ(two, std::vector<double>(2, 9.0));
  EXPECT_STREQ(message(Status::bad_eps), "eps must be finite and >= 0");
}

TEST(Checks, RefuseOverlap) {
  std::vector<float> buffer(20, 1.0F);
  const std::span<float> all(buffer);
  EXPECT_EQ(layer_norm(all.first(8), 4, {}, all.subspan(4, 8)), Status::overlap);
  EXPECT_EQ(layer_norm(all.first(8), 4, {}, all.first(8)), Status::ok);
  Options options;
  options.bias = Parameter(std::span<const float>(all.subspan(4, 4)));
  EXPECT_EQ(layer_norm(all.subspan(8, 8), 4, options, all.first(8)), Status::overlap);
}

TEST(Checks, RefuseSizesThatOverflow) {
  Call call;
  call.rank = 2;
  call.dims[0] = {SIZE_MAX / 4, false};
  call.dims[1] = {8, true};
  EXPECT_EQ(check(call), Status::bad_dims);
}

TEST(Checks, RefuseStridesThatOverflow) {
  std::vector<float> x(10), y(10), weight(3);
  Call call;
  call.rank = 2;
  call.dims[0] = {2, false};
  call.dims[1] = {5, true};
  call.x = x.data();
  call.y = y.data();
  call.parameter(Operand::weight) = std::span<const float>(weight);
  // Four steps of 2^62 are 0 modulo 2^64.
  call.strides[static_cast<size_t>(Operand::weight)][1] = uint64_t{1} << 62;
  EXPECT_EQ(check(call), Status::size_mismatch);
  call.strides[static_cast<size_t>(Operand::weight)][1] = 0;
  call.strides[static_cast<size_t>(Operand::weight)][0] = 2;
  EXPECT_EQ(check(call), Status::ok);
  call.strides[static_cast<size_t>(Operand::weight)][0] = 3;
  EXPECT_EQ(check(call), Status::size_mismatch);
}

TEST(Checks, RefuseRunningStatisticsOfMoreThanOneDimension) {
  std::vector<float> x(24), y(24), running(4);
  Call call;
  call.rank = 3;
  call.dims[0] = {2, true};
  call.dims[1] = {4, false};
  call.dims[2] = {3, true};
  call.x = x.data();
  call.y = y.data();
  call.parameter(Operand::running_mean) = std::span<const float>(running);
  call.strides[static_cast<size_t>(Operand::running_mean)][1] = 1;
  EXPECT_EQ(check(call), Status::ok);
  call.dims[2].reduced = false;
  EXPECT_EQ(check(call), Status::bad_dims);
}

TEST(Checks, LetAnEmptyBatchPass) {
  EXPECT_EQ(layer_norm(std::span<const float>(), 4, {}, std::span<float>()), Status::ok);
}

TEST(Values, WhereDeviationsAreTheLastBitsOfTheMean) {
  const double ulp = std::numeric_limits<double>::epsilon();
  const std::vector<double> x = {1.5, 1.5, 1.5 + ulp};
  std::vector<double> y(x.size());
  Options options;
  options.eps = 0;
  ASSERT_EQ(layer_norm(x, 3, options, y), Status::ok);
  EXPECT_DOUBLE_EQ(y[0], -std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(y[1], -std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(y[2], std::sqrt(2));
}

TEST(Values, OfTheWorkedExample) {
  const std::vector<double> x = {3, 5, 2, 8, 1, 3, 5, 8, 3, 2, 7, 9};
  std::vector<double> y(x.size());
  std::vector<double> mean(3);
  std::vector<double> rstd(3);
  Options options;
  options.weight = Parameter(1.5);
  options.bias = Parameter(0.5);
  options.mean = mean;
  options.rstd = rstd;
  ASSERT_EQ(layer_norm(x, 4, options, y), Status::ok);
  EXPECT_EQ(mean, (std::vector<double>{4.5, 4.25, 5.25}));
  const double expected[] = {-0.481980, 0.827327, -1.136633, 2.791286,  -1.385135, -0.225052,
                             0.935031,  2.675155, -0.679500, -1.203722, 1.417389,  2.465833};
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], expected[i], 5e-7);
}

}  // namespace
}  // namespace layernorm::test
