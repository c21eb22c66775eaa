// Back through an activation, for gradients that float32 does for.
#ifndef LAYERNORM_KERNELS_NARROW_DERIVATIVE_H_
#define LAYERNORM_KERNELS_NARROW_DERIVATIVE_H_

#include <cstddef>

#include "kernels/narrow.h"
#include "layernorm/layernorm.h"

namespace layernorm {

/// The gradients of n values of a run before the activation of weight * normalized + bias, from those behind it, where they may be
/// written. Each is computed in float64 and rounded once. Whether none of them has nearly vanished, which float32 would show.
[[nodiscard]] bool step_back(Activation activation, const NarrowRun& run, const float* x, const float* weight,
                             const float* bias, const float* grad, size_t n, float* to);

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_NARROW_DERIVATIVE_H_
