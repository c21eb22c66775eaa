// Normalization over any view of x.
#ifndef LAYERNORM_KERNELS_NORMALIZE_H_
#define LAYERNORM_KERNELS_NORMALIZE_H_

#include "layernorm/layernorm.h"

namespace layernorm {

/// Runs a call of any operation but local_response_norm.
void normalize(const Call& call);

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_NORMALIZE_H_
