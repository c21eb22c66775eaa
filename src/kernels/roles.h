// Which operands a run is scaled and shifted by.
#ifndef LAYERNORM_KERNELS_ROLES_H_
#define LAYERNORM_KERNELS_ROLES_H_

#include "layernorm/layernorm.h"

namespace layernorm {

inline bool is_given(const Call& call, Operand operand) {
  return call.parameter(operand).kind != Parameter::Kind::none;
}

/// Whether scale and shift follow normalization.
inline bool is_conditional(const Call& call) {
  return is_given(call, Operand::scale) || is_given(call, Operand::shift);
}

/// Whether scale and shift take the place of weight and bias, which are absent: 1 + scale is then the weight.
inline bool folds(const Call& call) {
  return is_conditional(call) && !is_given(call, Operand::weight) && !is_given(call, Operand::bias);
}

inline Operand weight_role(const Call& call) { return folds(call) ? Operand::scale : Operand::weight; }
inline Operand bias_role(const Call& call) { return folds(call) ? Operand::shift : Operand::bias; }
/// What is added to that weight.
inline double weight_offset(const Call& call) { return folds(call) ? 1 : call.weight_offset; }

}  // namespace layernorm

#endif  // LAYERNORM_KERNELS_ROLES_H_
