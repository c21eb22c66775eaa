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
  EXPECT_GT(split, 0U);
#endif
}

// Rows that leave a log of what they add to sums that they share, those that float32 does not do for among them.
TEST(GradientsOfRows, AreMadeInPartsByTheSameBits) {
  unsigned seed = 0;
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    for (const size_t rows : {2, 8, 9, 16, 31, 71}) {
      for (const size_t n : {2, 3, 63, 64, 129, 1027}) {
        for (const bool hard : {false, true}) {
          ++seed;
          const auto make = [&] {
            Random random(seed);
            Case made;
            made.elements = rows * n;
            Call& call = made.call;
            call.backward = true;
            call.op = seed % 3 == 0 ? Op::rms_norm : Op::layer_norm;
            call.dtype = call.grad_output_dtype = dtype;
            call.rank = 2;
            call.dims[0] = {rows, false};
            call.dims[1] = {n, true};
            call.x = made.allocate(Operand::x, dtype, random.values(rows * n, 1, 2));
            std::vector<double> grad = random.values(rows * n, 0.25, 1);
            for (size_t i = 0; i < grad.size() && hard; ++i) {
              const size_t row = i / n;
              // No gradient at all; sums over rows that overflow; not finite.
              if (row % 5 == 0) grad[i] = 0;
              if (row >= 16 && row < 24 && i % n == 1) grad[i] = 0x1p127;
              if (row == 30 && i % n == 0) grad[i] = INFINITY;
            }
            call.grad_output = made.allocate(Operand::grad_output, dtype, grad);
            call.y = made.allocate(Operand::y, dtype, std::vector<double>(rows * n, -7));
            for (const Operand of : {Operand::weight, Operand::bias}) {
              if (of == Operand::bias && seed % 4 == 0) continue;
              Parameter& parameter = call.parameter(of);
              parameter.kind = Parameter::Kind::vector;
              parameter.dtype = DType::float32;
              parameter.size = n;
              parameter.data = made.allocate(of, DType::float32, random.values(n, 0.5, 1));
              call.strides[static_cast<size_t>(of)][1] = 1;
              Call::Gradient& gradient = call.gradient(of);
              std::byte* sums = made.allocate(grad_of(of), DType::float64, std::vector<double>(n, -7));
              gradient = {true, DType::float64, n, reinterpret_cast<double*>(sums), nullptr};
            }
            return made;
          };
          const Case whole = make();
          ASSERT_EQ(check(whole.call), Status::ok);
          run(whole.call);
          for (const size_t most : {1, 2, 3, 5, 64}) {
            const Case parts = make();
            const size_t count = count_parts(parts.call, most);
            ASSERT_LE(count, most);
#ifndef __wasm__
            if (rows > 8) {
              ASSERT_GT(log_size(parts.call), 0U);
              ASSERT_EQ(count, std::min(most, (rows + 7) / 8));
            }
#endif
            run_parts(parts.call, count);
            ASSERT_EQ(parts.memory, whole.memory) << rows << " x " << n << ", " << count << " parts";
          }
        }
      }
    }
  }
}

// Parameters that have an element for each group, or channel: parts have sums of their own.
TEST(GradientsOfChannels, AreMadeInPartsByTheSameBits) {
  unsigned seed = 0;
  // Sizes of the dimensions, which of them are reduced, and along which weight and bias advance.
  struct Form {
    std::vector<size_t> sizes;
    std::vector<bool> reduced, along;
  };
  const Form forms[] = {
      {{6, 2, 70}, {false, true, true}, {true, true, false}},                   // groups, channels first
      {{2, 6, 2, 66}, {false, false, true, true}, {false, true, true, false}},  // of several items
      {{9, 36, 5}, {true, false, true}, {false, true, true}},                   // channels last
      {{2, 9, 3, 70}, {false, true, false, true}, {false, false, true, true}},  // of several items
      {{3, 7, 70}, {true, false, true}, {false, true, false}},                  // a batch
      {{9, 201}, {true, false}, {false, true}},                                 // of features
      {{4, 3, 65}, {false, true, true}, {true, false, true}},                   // an item's own
  };
  for (const Form& form : forms) {
    for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
      for (const bool steps : {false, true}) {
        if (steps && dtype != DType::float32) continue;
        ++seed;
        const auto make = [&] {
          Random random(seed);
          Case made;
          Call& call = made.call;
          call.backward = true;
          call.dtype = call.grad_output_dtype = dtype;
          call.activation = steps ? Activation::silu : Activation::none;
          call.rank = form.sizes.size();
          for (size_t d = 0; d < call.rank; ++d) {
            call.dims[d] = {form.sizes[d], form.reduced[d]};
            made.elements *= form.sizes[d];
          }
          call.x = made.allocate(Operand::x, dtype, random.values(made.elements, 1, 2));
          call.grad_output = made.allocate(Operand::grad_output, dtype, random.values(made.elements, 0.25, 1));
          call.y = made.allocate(Operand::y, dtype, std::vector<double>(made.elements, -7));
          for (const Operand of : {Operand::weight, Operand::bias}) {
            size_t size = 1;
            for (size_t d = call.rank; d-- > 0;) {
              if (!form.along[d]) continue;
              call.strides[static_cast<size_t>(of)][d] = size;
              size *= form.sizes[d];
            }
            Parameter& parameter = call.parameter(of);
            parameter.kind = Parameter::Kind::vector;
            parameter.dtype = DType::float32;
            parameter.size = size;
            parameter.data = made.allocate(of, DType::float32, random.values(size, 0.5, 1));
            std::byte* sums = made.allocate(grad_of(of), DType::float64, std::vector<double>(2 * size, 0));
            call.gradient(of) = {true, DType::float64, size, reinterpret_cast<double*>(sums), nullptr};
          }
          return made;
        };
        const Case whole = make();
        ASSERT_EQ(check(whole.call), Status::ok);
        run(whole.call);
        for (const size_t most : {1, 2, 3}) {
          const Case parts = make();
          const size_t count = count_parts(parts.call, most);
#ifndef __wasm__
          if (most <= 2) {
            ASSERT_EQ(count, most) << "form " << &form - forms;
          }
#endif
          run_parts(parts.call, count);
          ASSERT_EQ(parts.memory, whole.memory) << "form " << &form - forms << ", " << count << " parts";
        }
      }
    }
  }
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
