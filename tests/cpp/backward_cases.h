// Backward calls over random views.
#ifndef LAYERNORM_TESTS_CPP_BACKWARD_CASES_H_
#define LAYERNORM_TESTS_CPP_BACKWARD_CASES_H_

#include <vector>

#include "view_cases.h"

namespace layernorm::test {

inline constexpr Operand kDifferentiable[] = {Operand::residual, Operand::gate,  Operand::sum_bias, Operand::weight,
                                              Operand::bias,     Operand::scale, Operand::shift};

constexpr Operand grad_of(Operand of) {
  return static_cast<Operand>(static_cast<size_t>(of) + static_cast<size_t>(Operand::grad_residual) -
                              static_cast<size_t>(Operand::residual));
}

/// The backward call of a forward one, with a gradient for each of its parameters.
template <class Choices>
Case make_backward_of(Case forward, Choices& random) {
  Case& made = forward;
  Call& call = made.call;
  call.backward = true;
  call.sum = nullptr;
  call.mean = call.rstd = nullptr;
  for (const Operand operand : {Operand::sum, Operand::mean, Operand::rstd}) made.memory.erase(operand);
  call.grad_output_dtype = random.chance(3) ? DType::float32 : call.dtype;
  call.grad_output = made.allocate(Operand::grad_output, call.grad_output_dtype, random.values(made.elements, 0.25, 1));
  const bool adds = call.parameter(Operand::residual).kind != Parameter::Kind::none;
  if (adds && random.chance(2)) {
    call.grad_sum_dtype = call.dtype;
    call.grad_sum = made.allocate(Operand::grad_sum, call.dtype, random.values(made.elements, 0.5, 1));
  }
  for (const Operand of : kDifferentiable) {
    const Parameter& parameter = call.parameter(of);
    if (parameter.kind == Parameter::Kind::none) continue;
    Call::Gradient& gradient = call.gradient(of);
    gradient.wanted = true;
    const bool vector = parameter.kind == Parameter::Kind::vector;
    gradient.size = vector ? parameter.size : 1;
    const size_t size = static_cast<size_t>(gradient.size);
    if (vector && size == made.elements) {
      gradient.dtype = parameter.dtype;
      gradient.data = made.allocate(grad_of(of), parameter.dtype, std::vector<double>(size, -7));
    } else {
      const size_t parts = call.dtype == DType::float64 ? 2 : 1;
      std::byte* sums = made.allocate(grad_of(of), DType::float64, std::vector<double>(size * parts, 0));
      gradient.sums = reinterpret_cast<double*>(sums);
    }
  }
  return forward;
}

}  // namespace layernorm::test

#endif  // LAYERNORM_TESTS_CPP_BACKWARD_CASES_H_
