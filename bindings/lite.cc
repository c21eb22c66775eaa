// The module of layernorm/lite: layer_norm and rms_norm of float32 rows, by the kernels of the other one. What it works on stands in
// an arena, which JavaScript fills and empties: so few functions need neither Embind nor an allocator.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/rows.h"
#include "kernels/run_f32.h"

namespace {

using layernorm::Op;
using Parameter = layernorm::ParameterBlocks<float>;

// As bindings/lite.ts has them. Rows in one piece, or a piece of a longer one.
constexpr size_t kPiece = 32768;
constexpr size_t kMostRows = 2048;

struct Arena {
  alignas(64) float x[kPiece];
  float weight[kPiece];
  float bias[kPiece];
  double mean[kMostRows];
  double rstd[kMostRows];
} arena;

struct {
  layernorm::Scaling scaling;
  double weight_bound;
  bool has_weight, has_bias;
  float weight, bias;
} call;

std::optional<layernorm::RunF32> run;

Parameter weight() { return {call.has_weight ? arena.weight : nullptr, call.weight}; }
Parameter bias() { return {call.has_bias ? arena.bias : nullptr, call.bias}; }

}  // namespace

namespace layernorm {

// In place of what converts parameters of other types, which JavaScript does here: a tenth of the module.
void convert(DType /*from_dtype*/, const void* /*from*/, DType /*to_dtype*/, void* /*to*/, size_t /*n*/) {
  __builtin_trap();
}

}  // namespace layernorm

extern "C" {

Arena* get_arena() { return &arena; }

/// What follows is of rows of `size` values. A weight or bias without elements in the arena is a number.
void set_call(Op op, size_t size, double eps, bool has_weight, float weight, bool has_bias, float bias) {
  call = {{op, eps, size}, 0, has_weight, has_bias, weight, bias};
}

/// Takes the weight into account that stands in the arena, or the number: the next n elements of it.
void weigh(size_t n) {
  Parameter elements = weight();
  const double bound = layernorm::weigh(elements, {call.scaling.op, 0, n});
  if (bound > call.weight_bound) call.weight_bound = bound;
}

/// Normalizes whole rows.
void run_rows(size_t rows) {
  Parameter w = weight();
  Parameter b = bias();
  layernorm::normalize_rows({call.scaling, rows, arena.x, arena.x, w, b, call.weight_bound, arena.mean, arena.rstd});
}

/// A row by pieces, whose sizes but for that of the last one are a multiple of 64: begin, then add all of them until no pass
/// is wanted, then write each.
void begin_row() { run.emplace(call.scaling, call.weight_bound); }
void add_piece(size_t n) { run->add(arena.x, n); }
bool wants_next_pass() {
  if (run->next_pass()) return true;
  arena.mean[0] = run->normalizer().mean();
  arena.rstd[0] = run->normalizer().rstd;
  return false;
}
void write_piece(size_t n) {
  Parameter w = weight();
  Parameter b = bias();
  run->write(arena.x, w, b, arena.x, n, 0);
}
}
