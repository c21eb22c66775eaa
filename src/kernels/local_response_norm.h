// Local response normalization: each value divided by a power of the squares around it, across the channels.
#ifndef LAYERNORM_KERNELS_LOCAL_RESPONSE_NORM_H_
#define LAYERNORM_KERNELS_LOCAL_RESPONSE_NORM_H_

#include "layernorm/layernorm.h"

namespace layernorm {

/// The most channels that a window may reach.
inline constexpr size_t kLongestWindow = 8192;

/// Of the view [outer, channels, inner], the channels reduced.
void local_response_norm(const Call& call);

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_LOCAL_RESPONSE_NORM_H_
