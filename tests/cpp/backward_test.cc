// Gradients over views of every pattern: what finite differences of the forward call say, the same bits whether operands lie in
// memory or are handed over in pieces, and nothing read or written beyond them (under AddressSanitizer).
#include <cmath>
#include <utility>

#include "backward_cases.h"

namespace layernorm::test {
namespace {

/// The forward case of a seed, of an operation that has gradients.
Case make_forward(unsigned seed, bool wide) {
  for (;; seed += 1000000) {
    Case made = make_case(seed);
    const Op op = made.call.op;
    const bool has = op == Op::layer_norm || op == Op::rms_norm || op == Op::l2_normalize || op == Op::batch_norm;
    if (!has || (wide && (made.call.dtype != DType::float64 || made.elements > 2000))) continue;
    return made;
  }
}

Case make_backward(Case forward, unsigned seed) {
  Random random(seed);
  return make_backward_of(std::move(forward), random);
}

class Gradients : public testing::TestWithParam<unsigned> {};

TEST_P(Gradients, AreTheSameInMemoryAndInPieces) {
  for (unsigned i = 0; i < 150; ++i) {
    const unsigned seed = GetParam() * 1000 + i;
    Case direct = make_backward(make_forward(seed, false), seed);
    ASSERT_EQ(check(direct.call), Status::ok) << "seed " << seed;
    run(direct.call);
    Case pieces = make_backward(make_forward(seed, false), seed);
    Pieces transfer(pieces);
    Call& call = pieces.call;
    call.transfer = &transfer;
    for (const auto& [operand, bytes] : pieces.memory) call.remote[static_cast<size_t>(operand)] = true;
    for (Parameter& parameter : call.parameters) parameter.data = nullptr;
    for (Call::Gradient& gradient : call.gradients) {
      gradient.sums = nullptr;
      gradient.data = nullptr;
    }
    call.x = call.grad_output = call.grad_sum = nullptr;
    call.y = nullptr;
    run(call);
    ASSERT_EQ(pieces.memory, direct.memory) << "seed " << seed;
  }
}

// Each of which has to write all that it leaves, and no more.
struct Log {
  explicit Log(const Call& call) : bytes((log_size(call) + 15) / 16) {}
  std::byte* data() { return reinterpret_cast<std::byte*>(bytes.data()); }

  struct alignas(16) Chunk {
    unsigned char of[16] = {0x55};
  };
  std::vector<Chunk> bytes;
};

void run_parts(const Call& call, size_t parts) {
  Log log(call);
  begin_parts(call);
  for (size_t part = parts; part-- > 0;) run_part(call, part, parts, log.data());
  end_parts(call, log.data());
}

TEST_P(Gradients, AreMadeInPartsByTheSameBits) {
  size_t split = 0;
  for (unsigned i = 0; i < 150; ++i) {
    const unsigned seed = GetParam() * 1000 + i;
    const auto make = [&] {
      Case made = make_backward(make_forward(seed, false), seed);
      for (size_t of = 0; of < kGradients; ++of) {
        if (i % 3 == 0 || (i % 3 == 1 && of == seed % kGradients)) made.call.gradients[of].wanted = false;
      }
      return made;
    };
    Case whole = make();
    run(whole.call);
    for (const size_t most : {2, 3, 16}) {
      Case parts = make();
      const size_t count = count_parts(parts.call, most);
      ASSERT_LE(count, most);
      split += count > 1 && i % 3 == 2 ? 1 : 0;
      run_parts(parts.call, count);
      ASSERT_EQ(parts.memory, whole.memory) << "seed " << seed << ", " << count << " parts";
    }
  }
#ifndef __wasm__
  EXPECT_GT(split, 10U);
#endif
}

TEST_P(Gradients, AreZeroWithoutValues) {
  for (unsigned i = 0; i < 50; ++i) {
    const unsigned seed = GetParam() * 1000 + i;
    Case backward = make_backward(make_forward(seed, false), seed);
    Random random(seed);
    // What stands along a dimension of x has no elements then, or repeats along it.
    backward.call.dims[random.below(backward.call.rank)].size = 0;
    for (Call::Gradient& gradient : backward.call.gradients) {
      // As large as x was, with no place for sums.
      if (gradient.sums == nullptr) gradient.wanted = false;
    }
    run(backward.call);
    for (size_t of = 0; of < kGradients; ++of) {
      const Call::Gradient& gradient = backward.call.gradients[of];
      if (!gradient.wanted) continue;
      for (uint64_t k = 0; k < gradient.size; ++k) ASSERT_EQ(gradient.sums[k], 0) << "seed " << seed;
    }
  }
}

/// The sum of gradients times results.
double objective(const Case& forward, const Case& backward) {
  run(forward.call);
  double sum = 0;
  const auto add = [&](Operand result, Operand gradient) {
    const std::vector<double> values = forward.values(result, DType::float64);
    const std::vector<double> grads = backward.values(gradient, backward.dtype_of(gradient));
    for (size_t i = 0; i < values.size(); ++i) sum += values[i] * grads[i];
  };
  add(Operand::y, Operand::grad_output);
  if (backward.call.grad_sum != nullptr) add(Operand::sum, Operand::grad_sum);
  return sum;
}

TEST_P(Gradients, AreWhatFiniteDifferencesSay) {
  for (unsigned i = 0; i < 40; ++i) {
    const unsigned seed = GetParam() * 1000 + i;
    Case backward = make_backward(make_forward(seed, true), seed);
    run(backward.call);
    Case forward = make_forward(seed, true);
    if (forward.call.activation == Activation::relu) continue;  // its bend is in the way
    // Of everything that is of float64, all elements at once, in a random direction.
    Random random(seed + 7);
    for (const Operand operand : {Operand::x, Operand::residual, Operand::gate, Operand::sum_bias, Operand::weight,
                                  Operand::bias, Operand::scale, Operand::shift}) {
      if (forward.memory.count(operand) == 0 || forward.dtype_of(operand) != DType::float64) continue;
      auto* values = reinterpret_cast<double*>(forward.memory[operand].data());
      const size_t n = forward.memory[operand].size() / sizeof(double);
      const std::vector<double> direction = random.values(n, 0, 1);
      const Operand gradient = operand == Operand::x ? Operand::y : grad_of(operand);
      const std::vector<double> grads = backward.values(gradient, DType::float64);
      double expected = 0;
      for (size_t k = 0; k < n; ++k) expected += direction[k] * grads[k];
      constexpr double kStep = 1e-6;
      const auto at = [&](double step) {
        std::vector<double> old(values, values + n);
        for (size_t k = 0; k < n; ++k) values[k] += step * direction[k];
        const double found = objective(forward, backward);
        std::copy(old.begin(), old.end(), values);
        return found;
      };
      const double slope = (at(kStep) - at(-kStep)) / (2 * kStep);
      double size = 0;
      for (const double g : grads) size += std::fabs(g);
      // eps 1e-5 beside runs of one value bends sharply.
      ASSERT_NEAR(slope, expected, 1e-4 * (size + 1)) << "seed " << seed << ", operand " << static_cast<int>(operand);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Gradients, testing::Range(0U, 4U));

}  // namespace
}  // namespace layernorm::test
