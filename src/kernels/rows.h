// Normalization of contiguous runs, one after the other.
#ifndef LAYERNORM_KERNELS_ROWS_H_
#define LAYERNORM_KERNELS_ROWS_H_

#include "kernels/parameter_blocks.h"
#include "kernels/scaling.h"

namespace layernorm {

/// Whether an operation's runs can be normalized by rows.
constexpr bool has_rows(Op op) {
  return op == Op::layer_norm || op == Op::rms_norm || op == Op::l2_normalize || op == Op::mean_variance_normalize;
}

/// Goes to the parameters of a row.
class RowSteps {
 public:
  virtual void move_to(size_t row) = 0;

 protected:
  ~RowSteps() = default;
};

template <class T>
struct RowsJob {
  Scaling scaling;
  size_t rows;
  const T* x;
  T* y;  // apart from x, or x itself
  ParameterBlocks<T>& weight;
  ParameterBlocks<T>& bias;
  double weight_bound;  // as weigh() has it, for every row
  double* mean;         // one each per row, or null
  double* rstd;
  RowSteps* steps = nullptr;  // unless all rows share their parameters
};

void normalize_rows(const RowsJob<float>& job);
void normalize_rows(const RowsJob<double>& job);

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_ROWS_H_
