// Splitting a call: a part of it is a call by itself, over some of the indices of one dimension that is kept. Where that makes sums,
// each part has some of its own; or all leave what rows contribute to them, which one thread then adds in their order.
#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "kernels/gradient.h"
#include "kernels/layout.h"
#include "kernels/narrow_gradient.h"

namespace layernorm {
namespace {

bool wants_gradients(const Call& call) {
  return call.backward && std::ranges::any_of(call.gradients, [](const Call::Gradient& each) { return each.wanted; });
}

// Whether a call makes sums that its parts could share, or have each.
bool splits_sums(const Call& call) {
  return kSplitsSums && call.transfer == nullptr && wants_gradients(call) && Layout::size_from(call, 0) != 0;
}

/// What is split: the dimensions [first, last], all of them kept, whose positions count together.
struct Split {
  size_t first = 0;
  size_t last = 0;
  uint64_t positions = 1;

  // As many dimensions as there have to be for so many parts.
  explicit Split(size_t dim, uint64_t size) : first(dim), last(dim), positions(size) {}
  Split(const Call& call, uint64_t most) {
    const bool sums = wants_gradients(call);
    const auto can_split = [&](size_t dim) {
      return dim < call.rank && !call.dims[dim].reduced && (!sums || has_own_sums(call, dim));
    };
    // Where parts make no sums they begin at the first dimension that is kept.
    while (first < call.rank && (call.dims[first].reduced || (sums && !can_split(first)))) ++first;
    if (first == call.rank || !can_begin_at(call, first, sums)) return;
    last = first;
    positions = call.dims[first].size;
    while (positions < most && can_split(last + 1)) positions *= call.dims[++last].size;
  }

 private:
  // Where it is not the first dimension, the elements of a part do not follow each other: neither the sums of the add forms nor
  // local_response_norm know of `Dim::whole`.
  static bool can_begin_at(const Call& call, size_t dim, bool sums) {
    const bool adds = call.parameter(Operand::residual).kind != Parameter::Kind::none;
    if (dim > 0 && (adds || call.op == Op::local_response_norm)) return false;
    const Layout layout(call);
    if (!sums || !layout.columns) return true;
    // Columns add to a sum together that they share; where a part begins would change which.
    for (size_t d = layout.inner; d < call.rank; ++d) {
      if (dim >= layout.inner && !call.dims[d].reduced && !has_own_sums(call, d)) return false;
    }
    return true;
  }
};

// Elements that lie together: fewer are many short rows, and threads that write to the same cache lines. Sums take longer.
constexpr uint64_t kShortestPiece = 256;
constexpr uint64_t kShortestPieceOfSums = 64;
constexpr uint64_t kRows = NarrowGradient::kRows;

uint64_t elements_from(const Call& call, size_t dim) {
  uint64_t elements = 1;
  for (; dim < call.rank; ++dim) elements *= call.dims[dim].size;
  return elements;
}

// Parts at most, each with some of the positions of a split.
uint64_t count_pieces(const Call& call, uint64_t most) {
  const Split split(call, most);
  const uint64_t parts = std::min(most, split.positions);
  if (split.first == 0) return parts;
  // A part reads and writes a piece of each stretch that follows another dimension.
  const uint64_t stretch = elements_from(call, split.first);
  return std::min(parts, stretch / (wants_gradients(call) ? kShortestPieceOfSums : kShortestPiece));
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
      constexpr auto kFirst = static_cast<size_t>(Operand::residual);
      if (operand < kFirst || operand - kFirst >= kGradients) continue;
      Call::Gradient& gradient = part.gradients[operand - kFirst];
      advance(gradient.data, offset, element_size(gradient.dtype));
      if (gradient.sums != nullptr) gradient.sums += offset;
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

// The dimension of rows that are logged.
size_t row_dim(const Call& call) {
  size_t dim = 0;
  while (call.dims[dim].size == 1) ++dim;
  return dim;
}

// Rows that are logged together.
uint64_t count_groups(const Call& call) { return (call.dims[row_dim(call)].size + kRows - 1) / kRows; }

void run_rows(const Call& call, size_t part, size_t parts, std::byte* log) {
  const uint64_t size = log_size(call);
  const size_t dim = row_dim(call);
  const uint64_t rows = call.dims[dim].size;
  const uint64_t groups = count_groups(call);
  const uint64_t begin = groups * part / parts;
  const uint64_t end = groups * (part + 1) / parts;
  if (begin == end) return;
  Call own = call;
  own.is_part = true;
  own.log = log + size / groups * begin;
  narrow(call, Split(dim, rows), begin * kRows, std::min(end * kRows, rows) - begin * kRows, own);
  run(own);
}

// Whether parts have sums of their own.
bool has_sums_apart(const Call& call) { return splits_sums(call) && log_size(call) == 0; }

}  // namespace

size_t count_parts(const Call& call, size_t most) {
  if (call.transfer != nullptr || (wants_gradients(call) && !splits_sums(call))) return 1;
  const uint64_t log = log_size(call);
  const uint64_t parts = log != 0 ? std::min<uint64_t>(most, count_groups(call)) : count_pieces(call, most);
  return static_cast<size_t>(std::max<uint64_t>(1, parts));
}

void begin_parts(const Call& call) {
  // Clears them.
  if (has_sums_apart(call)) const Gradients gradients(call, count_elements(call), call.rank);
}

void end_parts(const Call& call, std::byte* log) {
  if (!splits_sums(call)) return;
  Call own = call;
  if (log_size(call) != 0) {
    own.log = log;
    run(own);
  } else {
    own.is_part = true;
    Gradients(own, count_elements(call), call.rank).finish();
  }
}

void run_part(const Call& call, size_t part, size_t parts, std::byte* log) {
  if (splits_sums(call) && log_size(call) != 0) return run_rows(call, part, parts, log);
  Call own = call;
  own.is_part = has_sums_apart(call);
  if (parts == 1) return run(own);
  const Split split(call, parts);
  const uint64_t end = split.positions * (part + 1) / parts;
  const uint64_t row = call.dims[split.last].size;
  for (uint64_t begin = split.positions * part / parts; begin < end;) {
    const uint64_t n = std::min(end - begin, row - begin % row);
    Call piece = own;
    narrow(call, split, begin, n, piece);
    run(piece);
    begin += n;
  }
}

}  // namespace layernorm
