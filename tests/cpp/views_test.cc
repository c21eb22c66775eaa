// Every operation over views of every pattern: right, the same bits whether operands lie in memory or are handed over in
// pieces, and nothing read or written beyond them (under AddressSanitizer).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>

#include "layernorm/layernorm.h"

namespace layernorm::test {
namespace {

constexpr Operand kParameters[] = {Operand::residual, Operand::gate,         Operand::sum_bias,
                                   Operand::weight,   Operand::bias,         Operand::scale,
                                   Operand::shift,    Operand::running_mean, Operand::running_var};

/// A call with memory of its own for each operand, each of exactly its size.
struct Case {
  Call call;
  std::map<Operand, std::vector<std::byte>> memory;
  size_t elements = 1;
  size_t runs = 1;

  std::byte* allocate(Operand operand, DType dtype, const std::vector<double>& values) {
    std::vector<std::byte>& bytes = memory[operand];
    bytes.resize(values.size() * element_size(dtype));
    convert(DType::float64, values.data(), dtype, bytes.data(), values.size());
    return bytes.data();
  }

  [[nodiscard]] std::vector<double> values(Operand operand, DType dtype) const {
    const std::vector<std::byte>& bytes = memory.at(operand);
    std::vector<double> result(bytes.size() / element_size(dtype));
    convert(dtype, bytes.data(), DType::float64, result.data(), result.size());
    return result;
  }

  [[nodiscard]] DType dtype_of(Operand operand) const {
    if (operand == Operand::mean || operand == Operand::rstd) return DType::float64;
    const Parameter& parameter = call.parameter(operand);
    return parameter.kind == Parameter::Kind::vector ? parameter.dtype : call.dtype;
  }
};

class Pieces final : public Transfer {
 public:
  explicit Pieces(Case& of) : case_(of) {}
  void read(Operand operand, uint64_t begin, size_t n, void* to) override {
    const size_t size = element_size(case_.dtype_of(operand));
    ASSERT_LE((begin + n) * size, case_.memory[operand].size());
    std::memcpy(to, case_.memory[operand].data() + begin * size, n * size);
  }
  void write(Operand operand, uint64_t begin, size_t n, const void* from) override {
    const size_t size = element_size(case_.dtype_of(operand));
    ASSERT_LE((begin + n) * size, case_.memory[operand].size());
    std::memcpy(case_.memory[operand].data() + begin * size, from, n * size);
  }

 private:
  Case& case_;
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  size_t below(size_t n) { return engine_() % n; }
  bool chance(size_t of) { return below(of) == 0; }
  std::vector<double> values(size_t n, double mean, double deviation) {
    std::vector<double> result(n);
    for (double& value : result) value = mean + deviation * (static_cast<double>(engine_() % 65536) / 32768 - 1);
    return result;
  }

 private:
  std::mt19937 engine_;
};

Case make_case(unsigned seed) {
  Random random(seed);
  Case made;
  Call& call = made.call;
  constexpr DType kDTypes[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16};
  call.op = static_cast<Op>(random.below(7));
  call.dtype = kDTypes[random.below(4)];
  call.rank = 1 + random.below(5);
  constexpr size_t kSizes[] = {1, 2, 3, 5, 8, 17, 64, 70, 131};
  size_t room = random.chance(12) ? 60000 : 4000;
  bool reduces = false;
  for (size_t d = 0; d < call.rank; ++d) {
    size_t size = kSizes[random.below(9)];
    if (size > room) size = 1;
    room /= size;
    call.dims[d] = {size, random.chance(2)};
    reduces = reduces || call.dims[d].reduced;
    made.elements *= size;
  }
  if (!reduces) call.dims[call.rank - 1].reduced = true;
  for (size_t d = 0; d < call.rank; ++d) {
    if (!call.dims[d].reduced) made.runs *= static_cast<size_t>(call.dims[d].size);
  }
  call.activation = random.chance(3) ? static_cast<Activation>(random.below(7)) : Activation::none;
  call.eps = random.chance(4) ? 1e-2 : 1e-5;
  call.weight_offset = random.chance(3) ? 1 : 0;
  call.x = made.allocate(Operand::x, call.dtype, random.values(made.elements, random.chance(3) ? 20 : 0, 2));
  const bool adds = random.chance(3) && call.op != Op::batch_norm;
  for (const Operand operand : kParameters) {
    const bool is_sum = operand == Operand::residual || operand == Operand::gate || operand == Operand::sum_bias;
    const bool is_running = operand == Operand::running_mean || operand == Operand::running_var;
    if (is_sum && !adds) continue;
    if (is_running && call.op != Op::batch_norm) continue;
    const bool needed = operand == Operand::residual || is_running;
    if (!needed && random.chance(2)) continue;
    if (!needed && random.chance(4)) {
      call.parameter(operand) = Parameter(1.25);
      continue;
    }
    // Along some of the dimensions; of running statistics, along those that are kept.
    size_t size = 1;
    for (size_t d = call.rank; d-- > 0;) {
      const bool along = is_running                     ? !call.dims[d].reduced
                         : operand == Operand::residual ? !random.chance(5)
                                                        : random.chance(2);
      if (!along) continue;
      call.strides[static_cast<size_t>(operand)][d] = size;
      size *= static_cast<size_t>(call.dims[d].size);
    }
    Parameter& parameter = call.parameter(operand);
    parameter.kind = Parameter::Kind::vector;
    parameter.dtype = kDTypes[random.below(4)];
    parameter.size = size;
    const bool is_var = operand == Operand::running_var;
    parameter.data = made.allocate(operand, parameter.dtype, random.values(size, is_var ? 2 : 0.5, 1));
  }
  call.y = made.allocate(Operand::y, call.dtype, std::vector<double>(made.elements, -7));
  if (adds) call.sum = made.allocate(Operand::sum, call.dtype, std::vector<double>(made.elements, -7));
  if (random.chance(2)) {
    made.allocate(Operand::mean, DType::float64, std::vector<double>(made.runs, -7));
    made.allocate(Operand::rstd, DType::float64, std::vector<double>(made.runs, -7));
    call.mean = reinterpret_cast<double*>(made.memory[Operand::mean].data());
    call.rstd = reinterpret_cast<double*>(made.memory[Operand::rstd].data());
  }
  return made;
}

std::vector<double> reference(const Case& of) {
  const Call& call = of.call;
  const bool adds = call.parameter(Operand::residual).kind != Parameter::Kind::none;
  const std::vector<double> x = of.values(adds ? Operand::sum : Operand::x, call.dtype);
  std::map<Operand, std::vector<double>> loaded;
  for (const Operand operand : kParameters) {
    if (call.parameter(operand).kind == Parameter::Kind::vector)
      loaded[operand] = of.values(operand, of.dtype_of(operand));
  }
  const auto indices = [&](size_t i) {
    std::vector<size_t> index(call.rank);
    for (size_t d = call.rank; d-- > 0; i /= static_cast<size_t>(call.dims[d].size)) {
      index[d] = i % static_cast<size_t>(call.dims[d].size);
    }
    return index;
  };
  const auto parameter = [&](Operand operand, const std::vector<size_t>& index, double absent) {
    const Parameter& given = call.parameter(operand);
    if (given.kind == Parameter::Kind::none) return absent;
    if (given.kind == Parameter::Kind::number) return given.number;
    size_t at = 0;
    for (size_t d = 0; d < call.rank; ++d)
      at += index[d] * static_cast<size_t>(call.strides[static_cast<size_t>(operand)][d]);
    return loaded[operand][at];
  };
  const auto run_of = [&](const std::vector<size_t>& index) {
    size_t run = 0;
    for (size_t d = 0; d < call.rank; ++d) {
      if (!call.dims[d].reduced) run = run * static_cast<size_t>(call.dims[d].size) + index[d];
    }
    return run;
  };
  struct Sums {
    long double sum = 0, square = 0, absolute = 0, largest = 0;
    size_t n = 0;
  };
  std::vector<Sums> sums(of.runs);
  for (size_t i = 0; i < x.size(); ++i) {
    Sums& s = sums[run_of(indices(i))];
    s.sum += x[i];
    s.absolute += std::fabs(x[i]);
    s.largest = std::max<long double>(s.largest, std::fabs(x[i]));
    ++s.n;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    Sums& s = sums[run_of(indices(i))];
    const bool centered = call.op == Op::layer_norm || call.op == Op::mean_variance_normalize;
    const long double d = x[i] - (centered ? s.sum / s.n : 0);
    s.square += d * d;
  }
  std::vector<double> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const std::vector<size_t> index = indices(i);
    const Sums& s = sums[run_of(index)];
    const long double n = s.n;
    const long double mean = s.sum / n;
    const long double norm = call.op == Op::l2_normalize   ? std::sqrt(s.square)
                             : call.op == Op::l1_normalize ? s.absolute
                                                           : s.largest;
    long double v = 0;
    switch (call.op) {
      case Op::layer_norm:
        v = (x[i] - mean) / std::sqrt(s.square / n + call.eps);
        break;
      case Op::rms_norm:
        v = x[i] / std::sqrt(s.square / n + call.eps);
        break;
      case Op::mean_variance_normalize:
        v = (x[i] - mean) / (std::sqrt(s.square / n) + call.eps);
        break;
      case Op::batch_norm:
        v = (x[i] - parameter(Operand::running_mean, index, 0)) /
            std::sqrt(parameter(Operand::running_var, index, 1) + static_cast<long double>(call.eps));
        break;
      default:
        v = x[i] / std::max<long double>(norm, call.eps);
    }
    const bool weighted = call.parameter(Operand::weight).kind != Parameter::Kind::none;
    v = v * (weighted ? parameter(Operand::weight, index, 1) + call.weight_offset : 1) +
        parameter(Operand::bias, index, 0);
    v = v * (1 + parameter(Operand::scale, index, 0)) + parameter(Operand::shift, index, 0);
    switch (call.activation) {
      case Activation::none:
        break;
      case Activation::relu:
        v = v < 0 ? 0 : v;
        break;
      case Activation::silu:
        v = v / (1 + std::exp(-v));
        break;
      case Activation::gelu:
        v = v * 0.5L * std::erfc(-v / std::sqrt(2.0L));
        break;
      case Activation::gelu_tanh:
        v = v * 0.5L * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0L)) * (v + 0.044715L * v * v * v)));
        break;
      case Activation::sigmoid:
        v = 1 / (1 + std::exp(-v));
        break;
      case Activation::tanh:
        v = std::tanh(v);
        break;
    }
    y[i] = static_cast<double>(v);
  }
  return y;
}

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return 0x1p-19;
    case DType::float64:
      return 0x1p-44;
    case DType::float16:
      return 0x1p-9;
    default:
      return 0x1p-6;
  }
}

class Views : public testing::TestWithParam<unsigned> {};

TEST_P(Views, AreNormalizedRightInMemoryAndInPieces) {
  for (unsigned i = 0; i < 250; ++i) {
    const unsigned seed = GetParam() * 1000 + i;
    Case direct = make_case(seed);
    ASSERT_EQ(check(direct.call), Status::ok) << "seed " << seed;
    run(direct.call);
    const std::vector<double> expected = reference(direct);
    const std::vector<double> y = direct.values(Operand::y, direct.call.dtype);
    for (size_t k = 0; k < y.size(); ++k) {
      const double scale = std::max(1.0, std::fabs(expected[k])) * 64;
      ASSERT_NEAR(y[k], expected[k], tolerance(direct.call.dtype) * scale) << "seed " << seed << ", element " << k;
    }

    Case pieces = make_case(seed);
    Pieces transfer(pieces);
    Call& call = pieces.call;
    call.transfer = &transfer;
    for (const auto& [operand, bytes] : pieces.memory) call.remote[static_cast<size_t>(operand)] = true;
    for (Parameter& parameter : call.parameters) parameter.data = nullptr;
    call.x = nullptr;
    call.y = call.sum = nullptr;
    call.mean = call.rstd = nullptr;
    run(call);
    ASSERT_EQ(pieces.memory, direct.memory) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Views, testing::Range(0U, 8U));

}  // namespace
}  // namespace layernorm::test
