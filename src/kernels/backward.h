// The gradients of normalization over any view of x.
#ifndef LAYERNORM_KERNELS_BACKWARD_H_
#define LAYERNORM_KERNELS_BACKWARD_H_

#include "layernorm/layernorm.h"

namespace layernorm {

/// Runs a backward call of layer_norm, rms_norm, l2_normalize or batch_norm.
void backward(const Call& call);

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_BACKWARD_H_
