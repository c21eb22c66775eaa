// Normalization over the last dimension: every row of x is one contiguous run.
#ifndef LAYERNORM_KERNELS_ROWS_H_
#define LAYERNORM_KERNELS_ROWS_H_

#include "layernorm/layernorm.h"

namespace layernorm {

/// Runs a call of layer_norm or rms_norm that `check` accepts.
void normalize_rows(const Call& call);

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_ROWS_H_
