// Kernels that are compiled once, for speed, beside those for rows: the loops that call them are compiled for size. None of
// these may be inlined: what they call would be compiled anew.
#ifndef LAYERNORM_KERNELS_KERNELS_H_
#define LAYERNORM_KERNELS_KERNELS_H_

#include "kernels/run_f32.h"
#include "kernels/run_f64.h"

namespace layernorm {

extern template class ParameterBlocks<float>;
extern template class ParameterBlocks<double>;
extern template void NormalizerF64::write<true>(const double*, ParameterBlocks<double>&, ParameterBlocks<double>&,
                                                double*, size_t, size_t) const;
extern template void NormalizerF64::write<false>(const double*, ParameterBlocks<double>&, ParameterBlocks<double>&,
                                                 double*, size_t, size_t) const;
extern template float ParameterBlocks<float>::bound<float>(size_t);

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_KERNELS_H_
