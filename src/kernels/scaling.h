// What a run is divided by, from its statistics: the one difference between most operations.
#ifndef LAYERNORM_KERNELS_SCALING_H_
#define LAYERNORM_KERNELS_SCALING_H_

#include <cmath>
#include <cstddef>

#include "layernorm/layernorm.h"

namespace layernorm {

struct Scaling {
  Op op;
  double eps;
  size_t size;  // elements of a run

  /// eps as far as it stands beside the variance.
  [[nodiscard]] double eps_inside() const { return op <= Op::rms_norm || op == Op::batch_norm ? eps : 0; }

  /// Infinite where nothing is to divide by. Values may have been scaled before by `scale`.
  [[nodiscard]] double factor(double variance, double scale = 1) const {
    switch (op) {
      case Op::l2_normalize:
        return floored(std::sqrt(variance * static_cast<double>(size)), scale);
      case Op::mean_variance_normalize:
        return 1 / (std::sqrt(variance) + eps * scale);
      default:
        return 1 / std::sqrt(variance + eps * scale * scale);
    }
  }

  /// Whether a norm is too small, so that eps divides.
  [[nodiscard]] bool is_floored(double variance, double scale) const {
    return op == Op::l2_normalize && std::sqrt(variance * static_cast<double>(size)) < eps * scale;
  }

  /// For a norm of scaled values.
  [[nodiscard]] double floored(double norm, double scale) const {
    const double least = eps * scale;
    return 1 / (norm < least ? least : norm);
  }
};

/// Whether an operation divides by the sum of magnitudes or by the largest.
constexpr bool is_norm(Op op) { return op == Op::l1_normalize || op == Op::max_normalize; }

/// Whether an operation subtracts the mean.
constexpr bool is_centered(Op op) {
  return op == Op::layer_norm || op == Op::mean_variance_normalize || op == Op::batch_norm;
}

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_SCALING_H_
