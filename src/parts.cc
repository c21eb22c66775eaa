// Splitting a call: a part of it is a call by itself, over some of the indices of one dimension that is kept.
#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "layernorm/layernorm.h"

namespace layernorm {
namespace {

/// What is split: the dimensions [first, last], all of them kept, whose positions count together.
struct Split {
  size_t first = 0;
  size_t last = 0;
  uint64_t positions = 1;

  // As many dimensions as there have to be for so many parts.
  Split(const Call& call, size_t most) {
    while (first < call.rank && call.dims[first].reduced) ++first;
    if (first == call.rank || !can_begin_at(call, first)) return;
    last = first;
    positions = call.dims[first].size;
    while (positions < most && last + 1 < call.rank && !call.dims[last + 1].reduced) {
      positions *= call.dims[++last].size;
    }
  }

 private:
  // Behind a dimension that is reduced, the elements of a part do not follow each other: only the loops of `normalize` know of
  // `Dim::whole`, its sums aside.
  static bool can_begin_at(const Call& call, size_t dim) {
    const bool adds = call.parameter(Operand::residual).kind != Parameter::Kind::none;
    return dim == 0 || !(call.backward || adds || call.op == Op::local_response_norm);
  }
};

// Elements that lie together: fewer are many short rows, and threads that write to the same cache lines.
constexpr uint64_t kShortestPiece = 256;

uint64_t elements_from(const Call& call, size_t dim) {
  uint64_t elements = 1;
  for (; dim < call.rank; ++dim) elements *= call.dims[dim].size;
  return elements;
}

bool wants_gradients(const Call& call) {
  return call.backward && std::ranges::any_of(call.gradients, [](const Call::Gradient& each) { return each.wanted; });
}

// Void is void or const void.
template <class Void>
void advance(Void*& data, uint64_t elements, size_t element_size) {
  using Byte = std::conditional_t<std::is_const_v<Void>, const std::byte, std::byte>;
  if (data != nullptr) data = static_cast<Byte*>(data) + elements * element_size;
}

/// Makes `part` the n positions from `begin` on, which differ in the last dimension of the split alone.
void narrow(const Call& call, const Split& split, uint64_t begin, uint64_t n, Call& part) {
  // From one position to the next.
  const uint64_t elements = elements_from(call, split.last + 1);
  uint64_t runs = 1;
  for (size_t d = split.last + 1; d < call.rank; ++d) {
    if (!call.dims[d].reduced) runs *= call.dims[d].size;
  }
  uint64_t rest = begin;
  for (size_t d = split.last + 1; d-- > split.first; rest /= call.dims[d].size) {
    const uint64_t size = call.dims[d].size;
    part.dims[d] = {d == split.last ? n : 1, false, size};
    for (size_t operand = 0; operand < kStrided; ++operand) {
      Parameter& parameter = part.parameters[operand];
      if (parameter.kind != Parameter::Kind::vector) continue;
      const uint64_t offset = rest % size * call.strides[operand][d];
      advance(parameter.data, offset, element_size(parameter.dtype));
      parameter.size -= static_cast<size_t>(offset);
    }
  }
  const size_t size = element_size(call.dtype);
  advance(part.x, begin * elements, size);
  advance(part.y, begin * elements, size);
  advance(part.sum, begin * elements, size);
  advance(part.grad_output, begin * elements, element_size(call.grad_output_dtype));
  advance(part.grad_sum, begin * elements, element_size(call.grad_sum_dtype));
  for (double** statistic : {&part.mean, &part.rstd}) {
    if (*statistic != nullptr) *statistic += begin * runs;
  }
}

}  // namespace

size_t count_parts(const Call& call, size_t most) {
  if (call.transfer != nullptr || wants_gradients(call)) return 1;
  const Split split(call, most);
  uint64_t parts = std::min<uint64_t>(most, split.positions);
  if (split.first > 0) {
    // A part reads and writes a piece of each stretch that follows a dimension that is reduced.
    const uint64_t stretch = elements_from(call, split.first);
    parts = std::min(parts, stretch / kShortestPiece);
  }
  return static_cast<size_t>(std::max<uint64_t>(1, parts));
}

void run_part(const Call& call, size_t part, size_t parts) {
  const Split split(call, parts);
  const uint64_t end = split.positions * (part + 1) / parts;
  const uint64_t row = call.dims[split.last].size;
  for (uint64_t begin = split.positions * part / parts; begin < end;) {
    const uint64_t n = std::min(end - begin, row - begin % row);
    Call own = call;
    narrow(call, split, begin, n, own);
    run(own);
    begin += n;
  }
}

}  // namespace layernorm
