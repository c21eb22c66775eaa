#include "kernels/row_log.h"

#include "kernels/wide_gradient.h"

namespace layernorm {

// Of calls whose rows share their parameters, as `shares_rows` of backward.cc has it, one dimension of them.
uint64_t log_size(const Call& call) {
  size_t d = 0;
  while (d < call.rank && call.dims[d].size == 1) ++d;
  if (!kSplitsSums || d == call.rank || call.dims[d].reduced) return 0;
  const uint64_t rows = call.dims[d].size;
  const uint64_t n = Layout::size_from(call, d + 1);
  const bool may_do = call.backward && call.transfer == nullptr &&
                      call.parameter(Operand::residual).kind == Parameter::Kind::none && call.y != call.x &&
                      call.y != call.grad_output;
  if (!may_do || !NarrowGradient::may_do(call, Layout(call))) return 0;
  if (n < 2 || n > NarrowGradient::kMost || rows <= NarrowGradient::kRows) return 0;
  for (auto of = static_cast<size_t>(Operand::weight); of <= static_cast<size_t>(Operand::running_var); ++of) {
    if (call.strides[of][d] != 0) return 0;
  }
  bool wants = false;
  for (const Operand of : {weight_role(call), bias_role(call)}) {
    const Call::Gradient& gradient = call.gradient(of);
    if (!gradient.wanted) continue;
    wants = true;
    // Elements in turn.
    if (call.parameter(of).kind != Parameter::Kind::vector || gradient.size != n) return 0;
    uint64_t stride = 1;
    for (size_t i = call.rank; i-- > d + 1; stride *= call.dims[i].size) {
      const uint64_t size = call.dims[i].size;
      if (size != 1 && (!call.dims[i].reduced || call.strides[static_cast<size_t>(of)][i] != stride)) return 0;
    }
  }
  if (!wants) return 0;
  return (rows + NarrowGradient::kRows - 1) / NarrowGradient::kRows * RowLog::size(static_cast<size_t>(n));
}

}  // namespace layernorm
