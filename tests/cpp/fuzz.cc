// A target for libFuzzer, under AddressSanitizer and UndefinedBehaviorSanitizer. The input's bytes choose
//   a call that is right: what it gives is held against the reference, and against the same call in pieces;
//   the same with elements of any bits, NaN and infinity among them: the same twice, and nothing beyond the operands;
//   its gradients, the same both ways;
//   a window of local_response_norm, or running statistics that are updated;
//   a descriptor with any numbers in it: what `check` allows reads and writes its operands alone.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>

#include "backward_cases.h"
#include "view_cases.h"
#include "view_reference.h"

namespace layernorm::test {
namespace {

/// Choices by the input's bytes, 0 after their end. Values are drawn from a seed, so that few bytes make a large tensor.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size), random_(number(4)) {}

  size_t number(size_t bytes) {
    size_t result = 0;
    for (; bytes > 0 && size_ > 0; --bytes, --size_) result = result << 8 | *data_++;
    return result;
  }
  size_t below(size_t n) { return number(n > 256 ? 2 : 1) % n; }
  bool chance(size_t of) { return below(of) == 0; }
  std::vector<double> values(size_t n, double mean, double deviation) { return random_.values(n, mean, deviation); }

  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(from.size())];
  }

  /// Any bits.
  void scramble(std::vector<std::byte>& bytes) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_.below(256));
  }

 private:
  const uint8_t* data_;
  size_t size_;
  Random random_;
};

void require(bool holds, const char* what, size_t index = 0, double got = 0, double expected = 0) {
  if (holds) return;
  std::fprintf(stderr, "%s: element %zu is %.17g, expected %.17g\n", what, index, got, expected);
  std::abort();
}

/// A result is near what is expected, or infinite where its type ends before that.
void require_near(DType dtype, const char* what, size_t index, double got, double expected) {
  const bool is_beyond = dtype == DType::float16 && std::fabs(expected) > 65500;
  if (is_beyond && got == std::copysign(INFINITY, expected)) return;
  const double most = tolerance(dtype) * std::max(1.0, std::fabs(expected)) * 64;
  require(std::fabs(got - expected) <= most, what, index, got, expected);
}

/// Elements are the same, whatever a NaN carries.
void require_same(const Case& a, const Case& b) {
  for (const auto& [operand, bytes] : a.memory) {
    if (bytes == b.memory.at(operand)) continue;
    const std::vector<double> left = a.values(operand, a.dtype_of(operand));
    const std::vector<double> right = b.values(operand, b.dtype_of(operand));
    for (size_t i = 0; i < left.size(); ++i) {
      const bool same = std::isnan(left[i]) ? std::isnan(right[i])
                                            : left[i] == right[i] && std::signbit(left[i]) == std::signbit(right[i]);
      require(same, "in pieces", i, right[i], left[i]);
    }
  }
}

/// The operands of a copied call are where the copy has them.
void point_to_own(Case& of) {
  Call& call = of.call;
  const auto own = [&](Operand operand) -> void* {
    const auto found = of.memory.find(operand);
    return found == of.memory.end() ? nullptr : found->second.data();
  };
  for (const Operand operand : kParameters) call.parameter(operand).data = own(operand);
  call.x = own(Operand::x);
  call.y = own(Operand::y);
  call.sum = own(Operand::sum);
  call.mean = static_cast<double*>(own(Operand::mean));
  call.rstd = static_cast<double*>(own(Operand::rstd));
  call.grad_output = own(Operand::grad_output);
  call.grad_sum = own(Operand::grad_sum);
  for (const Operand operand : kDifferentiable) {
    Call::Gradient& gradient = call.gradient(operand);
    // Each has one of the two.
    if (gradient.data != nullptr) gradient.data = own(grad_of(operand));
    if (gradient.sums != nullptr) gradient.sums = static_cast<double*>(own(grad_of(operand)));
  }
}

/// Runs a case as it stands and, in a copy, with every operand handed over in pieces; the two must agree.
void run_both_ways(Case& direct) {
  Case pieces = direct;
  point_to_own(direct);
  require(check(direct.call) == Status::ok, "a right call is allowed");
  run(direct.call);
  Pieces transfer(pieces);
  Call& call = pieces.call;
  call.transfer = &transfer;
  for (const auto& [operand, bytes] : pieces.memory) call.remote[static_cast<size_t>(operand)] = true;
  for (Parameter& parameter : call.parameters) parameter.data = nullptr;
  call.x = nullptr;
  call.y = call.sum = nullptr;
  call.mean = call.rstd = nullptr;
  call.grad_output = call.grad_sum = nullptr;
  for (Call::Gradient& gradient : call.gradients) {
    gradient.sums = nullptr;
    gradient.data = nullptr;
  }
  run(call);
  require_same(direct, pieces);
}

void differential(Bytes& bytes) {
  Case made = make_case_of(bytes);
  run_both_ways(made);
  const std::vector<double> expected = reference(made);
  const std::vector<double> y = made.values(Operand::y, made.call.dtype);
  for (size_t i = 0; i < y.size(); ++i) {
    require_near(made.call.dtype, "y", i, y[i], expected[i]);
  }
}

void any_bits(Bytes& bytes) {
  Case made = make_case_of(bytes);
  made.call.eps = bytes.pick({1e-5, 0.0, 1e300, 5e-324});
  made.call.weight_offset = bytes.pick({0.0, 1.0, -1e308});
  for (auto& [operand, memory] : made.memory) {
    if (!bytes.chance(3)) bytes.scramble(memory);
  }
  run_both_ways(made);
}

void gradients(Bytes& bytes) {
  Case forward = make_case_of(bytes);
  const Op op = forward.call.op;
  if (op != Op::layer_norm && op != Op::rms_norm && op != Op::l2_normalize && op != Op::batch_norm) return;
  Case made = make_backward_of(std::move(forward), bytes);
  const bool any = bytes.chance(2);
  for (auto& [operand, memory] : made.memory) {
    // Sums begin at 0.
    if (any && operand < Operand::grad_residual && bytes.chance(2)) bytes.scramble(memory);
  }
  run_both_ways(made);
  if (any) return;
  for (const auto& [operand, memory] : made.memory) {
    for (const double value : made.values(operand, made.dtype_of(operand))) {
      // Of moderate values every gradient is finite; those of float16 may be beyond its largest.
      const bool is_narrow = made.dtype_of(operand) == DType::float16;
      require(std::isfinite(value) || (is_narrow && std::isinf(value)), "a gradient", 0, value);
    }
  }
}

void local_response(Bytes& bytes) {
  constexpr size_t kSizes[] = {1, 2, 3, 5, 17, 64, 131};
  Case made;
  Call& call = made.call;
  call.op = Op::local_response_norm;
  call.dtype = bytes.pick({DType::float32, DType::float64, DType::float16, DType::bfloat16});
  call.rank = 3;
  for (size_t d = 0; d < 3; ++d) {
    call.dims[d] = {kSizes[bytes.below(d == 0 ? 3 : 7)], d == 1};
    made.elements *= static_cast<size_t>(call.dims[d].size);
  }
  call.window = {1 + bytes.below(bytes.chance(4) ? 300 : 9), bytes.pick({1e-4, 0.5, 3.0}),
                 bytes.pick({0.75, 0.5, 1.0, 2.3}), bytes.pick({1.0, 2.0, 1e-3})};
  call.x = made.allocate(Operand::x, call.dtype, bytes.values(made.elements, 0, 2));
  call.y = made.allocate(Operand::y, call.dtype, std::vector<double>(made.elements, -7));
  run_both_ways(made);
  const std::vector<double> x = made.values(Operand::x, call.dtype);
  const std::vector<double> y = made.values(Operand::y, call.dtype);
  const auto channels = static_cast<size_t>(call.dims[1].size);
  const auto inner = static_cast<size_t>(call.dims[2].size);
  const size_t below = (call.window.size - 1) / 2;
  const size_t above = call.window.size - 1 - below;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t channel = i / inner % channels;
    long double sum = 0;
    for (size_t c = channel < below ? 0 : channel - below; c < channels && c <= channel + above; ++c) {
      const long double v = x[i + c * inner - channel * inner];
      sum += v * v;
    }
    const long double base = call.window.k + call.window.alpha / static_cast<long double>(call.window.size) * sum;
    const auto expected = static_cast<double>(x[i] / std::pow(base, static_cast<long double>(call.window.beta)));
    require_near(call.dtype, "local_response_norm", i, y[i], expected);
  }
}

void training(Bytes& bytes) {
  constexpr size_t kSizes[] = {1, 2, 3, 5, 17, 64, 131};
  Case made;
  Call& call = made.call;
  call.op = Op::layer_norm;
  call.dtype = bytes.pick({DType::float32, DType::float64, DType::float16, DType::bfloat16});
  call.rank = 1 + bytes.below(3);
  const size_t kept = bytes.below(call.rank + 1);
  for (size_t d = 0; d < call.rank; ++d) {
    call.dims[d] = {kSizes[bytes.below(7)], d != kept};
    if (made.elements * call.dims[d].size > 20000) call.dims[d].size = 1;
    made.elements *= static_cast<size_t>(call.dims[d].size);
  }
  made.runs = kept < call.rank ? static_cast<size_t>(call.dims[kept].size) : 1;
  const size_t n = made.elements / made.runs;
  call.unbiased = n > 1 && bytes.chance(2);
  call.momentum = bytes.pick({0.1, 0.0, 1.0, 0.9});
  call.x = made.allocate(Operand::x, call.dtype, bytes.values(made.elements, 1, 2));
  call.y = made.allocate(Operand::y, call.dtype, std::vector<double>(made.elements, -7));
  std::map<Operand, std::vector<double>> before;
  for (const Operand operand : {Operand::running_mean, Operand::running_var}) {
    if (bytes.chance(4)) continue;
    Parameter& running = call.parameter(operand);
    running.kind = Parameter::Kind::vector;
    running.dtype = bytes.pick({DType::float32, DType::float64, DType::float16, DType::bfloat16});
    running.size = made.runs;
    if (kept < call.rank) call.strides[static_cast<size_t>(operand)][kept] = 1;
    running.data = made.allocate(operand, running.dtype, bytes.values(made.runs, 2, 1));
    before[operand] = made.values(operand, running.dtype);
  }
  run_both_ways(made);
  const std::vector<double> x = made.values(Operand::x, call.dtype);
  size_t inner = 1;
  for (size_t d = kept + 1; d < call.rank; ++d) inner *= static_cast<size_t>(call.dims[d].size);
  std::vector<long double> mean(made.runs), square(made.runs);
  const auto run_of = [&](size_t i) { return kept < call.rank ? i / inner % made.runs : 0; };
  for (size_t i = 0; i < x.size(); ++i) mean[run_of(i)] += static_cast<long double>(x[i]) / n;
  for (size_t i = 0; i < x.size(); ++i) {
    const long double deviation = x[i] - mean[run_of(i)];
    square[run_of(i)] += deviation * deviation;
  }
  for (const auto& [operand, old] : before) {
    const std::vector<double> now = made.values(operand, made.dtype_of(operand));
    for (size_t c = 0; c < made.runs; ++c) {
      const long double batch = operand == Operand::running_mean ? mean[c] : square[c] / (call.unbiased ? n - 1 : n);
      const auto expected = static_cast<double>((1 - call.momentum) * old[c] + call.momentum * batch);
      // A float32 call has the mean to within its deviation's rounding.
      const double most = std::max(tolerance(made.dtype_of(operand)),
                                   tolerance(call.dtype == DType::float64 ? DType::float64 : DType::float32)) *
                          std::max(1.0, std::fabs(expected)) * 64;
      require(std::fabs(now[c] - expected) <= most, "running statistics", c, now[c], expected);
    }
  }
}

void hostile(Bytes& bytes) {
  constexpr size_t kMost = 100000;
  Case made;
  Call& call = made.call;
  const auto any = [&]() -> uint64_t {
    switch (bytes.below(5)) {
      case 0:
        return bytes.pick<uint64_t>(
            {0, UINT64_MAX, uint64_t{1} << 63, uint64_t{1} << 62, uint64_t{1} << 32, uint64_t{1} << 31});
      case 1:
        return bytes.number(8);
      default:
        return bytes.below(9);
    }
  };
  call.op = static_cast<Op>(bytes.below(8));
  call.dtype = bytes.pick({DType::float32, DType::float64, DType::float16, DType::bfloat16});
  call.activation = static_cast<Activation>(bytes.below(7));
  call.round_normalized = bytes.chance(2);
  call.rank = bytes.chance(8) ? static_cast<size_t>(any()) : 1 + bytes.below(4);
  const size_t rank = std::min(call.rank, Call::kMaxRank);
  for (size_t d = 0; d < rank; ++d) call.dims[d] = {any(), bytes.chance(2)};
  call.eps = bytes.pick<double>({1e-5, 0, -1, INFINITY, NAN});
  call.weight_offset = bytes.pick<double>({0, 1, INFINITY, NAN});
  call.window.size = bytes.chance(2) ? 5 : static_cast<size_t>(any());
  const bool adds = bytes.chance(3);
  for (const Operand operand : kParameters) {
    const bool is_sum = operand == Operand::residual || operand == Operand::gate || operand == Operand::sum_bias;
    if (is_sum ? !adds : bytes.chance(2)) continue;
    Parameter& parameter = call.parameter(operand);
    parameter.kind = Parameter::Kind::vector;
    parameter.dtype = bytes.pick({DType::float32, DType::float64, DType::float16, DType::bfloat16});
    parameter.size = bytes.below(300);
    parameter.data = made.allocate(operand, parameter.dtype, bytes.values(parameter.size, 1, 1));
    for (size_t d = 0; d < rank; ++d) call.strides[static_cast<size_t>(operand)][d] = any();
  }
  // Only what memory holds can be there; more is for `check` alone.
  bool fits = call.rank <= Call::kMaxRank;
  size_t elements = 1;
  size_t runs = 1;
  for (size_t d = 0; d < rank && fits; ++d) {
    const uint64_t size = call.dims[d].size;
    fits = size == 0 || elements <= kMost / size;
    if (!fits) break;
    elements *= static_cast<size_t>(size);
    if (!call.dims[d].reduced) runs *= static_cast<size_t>(size);
  }
  if (!fits) {
    // The answer may be either; it has to come.
    (void)check(call);
    return;
  }
  if (elements == 0) runs = 0;
  made.elements = elements;
  made.runs = runs;
  call.x = made.allocate(Operand::x, call.dtype, bytes.values(elements, 1, 1));
  call.y = made.allocate(Operand::y, call.dtype, std::vector<double>(elements));
  if (adds) call.sum = made.allocate(Operand::sum, call.dtype, std::vector<double>(elements));
  if (bytes.chance(2)) {
    made.allocate(Operand::mean, DType::float64, std::vector<double>(runs));
    made.allocate(Operand::rstd, DType::float64, std::vector<double>(runs));
  }
  point_to_own(made);
  if (check(call) == Status::ok) run(call);
}

}  // namespace
}  // namespace layernorm::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  layernorm::test::Bytes bytes(data, size);
  switch (bytes.below(10)) {
    case 0:
      layernorm::test::local_response(bytes);
      break;
    case 1:
      layernorm::test::training(bytes);
      break;
    case 2:
    case 3:
      layernorm::test::any_bits(bytes);
      break;
    case 4:
      layernorm::test::hostile(bytes);
      break;
    case 5:
    case 6:
      layernorm::test::gradients(bytes);
      break;
    default:
      layernorm::test::differential(bytes);
  }
  return 0;
}
