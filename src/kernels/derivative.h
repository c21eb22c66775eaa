// Derivatives of the activations.
#ifndef LAYERNORM_KERNELS_DERIVATIVE_H_
#define LAYERNORM_KERNELS_DERIVATIVE_H_

#include <cstddef>

#include "layernorm/layernorm.h"

namespace layernorm {

/// The derivative of an activation at n values, high + low each; that of relu at 0 is 0. n is even. Relative errors are a few
/// ulp, but near the zeros of those of silu, gelu and gelu_tanh, where their terms cancel.
void derivative(Activation activation, const double* high, const double* low, double* to, size_t n);

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_DERIVATIVE_H_
