// layernorm: normalization kernels in portable SIMD. This header is the manual of the C++ interface.
//
// Shapes are given in elements, never bytes. A tensor is row-major; every row is one run, the values that are
// normalized together. Results depend on the run, the parameters and the options alone: the same bits for a row alone
// or in a batch, natively and as WebAssembly.
#ifndef LAYERNORM_LAYERNORM_H_
#define LAYERNORM_LAYERNORM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#define LAYERNORM_VERSION_MAJOR 0
#define LAYERNORM_VERSION_MINOR 1
#define LAYERNORM_VERSION_PATCH 0

namespace layernorm {

/// Element types. The enumerators are the names that JavaScript's users write.
enum class DType : uint8_t { float32, float64, float16, bfloat16 };

/// What is applied to a result, in PyTorch's definitions: relu max(x, 0); silu x * sigmoid(x); gelu
/// x / 2 * (1 + erf(x / sqrt(2))); gelu_tanh x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
enum class Activation : uint8_t { none, relu, silu, gelu, gelu_tanh, sigmoid, tanh };

/// Operations: one row each in ops.def.
enum class Op : uint8_t {
#define LAYERNORM_OP(name) name,
#include "layernorm/ops.def"
#undef LAYERNORM_OP
};

/// What a call can answer: one row each in status.def.
enum class Status : uint8_t {
#define LAYERNORM_STATUS(name, text) name,
#include "layernorm/status.def"
#undef LAYERNORM_STATUS
};

/// One line of English for a status.
[[nodiscard]] const char* message(Status status);

[[nodiscard]] constexpr size_t element_size(DType dtype) {
  return dtype == DType::float64 ? 8 : dtype == DType::float32 ? 4 : 2;
}

/// A parameter: absent, one number for all elements, or a vector, whose element type may differ from that of x. Values are
/// rounded once to the arithmetic type: float32, or float64 for float64 x.
struct Parameter {
  enum class Kind : uint8_t { none, number, vector };

  Kind kind = Kind::none;
  DType dtype = DType::float32;
  double number = 0;
  const void* data = nullptr;
  size_t size = 0;

  constexpr Parameter() = default;
  constexpr Parameter(double value) : kind(Kind::number), number(value) {}  // NOLINT(google-explicit-constructor)
  constexpr Parameter(std::span<const float> values)                        // NOLINT(google-explicit-constructor)
      : kind(Kind::vector), dtype(DType::float32), data(values.data()), size(values.size()) {}
  constexpr Parameter(std::span<const double> values)  // NOLINT(google-explicit-constructor)
      : kind(Kind::vector), dtype(DType::float64), data(values.data()), size(values.size()) {}
};

/// The constants of local_response_norm: y = x / (k + alpha / size * sum of x^2 over the window)^beta.
struct LocalResponse {
  size_t size = 1;
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1;
};

/// The options of a call.
///   weight, bias   as Parameter; absent: 1 and 0
///   weight_offset  added to the weight (1 for Gemma's RMSNorm); without weight it has no effect
///   eps            inside the square root, finite, >= 0; stays float64 whatever the element type
///   mean, rstd     one element per row, or empty when not wanted; RMSNorm has no mean and leaves it alone
struct Options {
  Parameter weight;
  Parameter bias;
  double weight_offset = 0;
  double eps = 1e-5;
  std::span<double> mean;
  std::span<double> rstd;
};

/// Layer normalization of each row of x [rows, features].
///   y = (x - mean) * rstd * (weight_offset + weight) + bias,   rstd = 1 / sqrt(var + eps),   var biased
/// y has the size of x and may be x itself; otherwise the two must not overlap. features must divide the size of x.
/// |y - exact| <= 3 * 2^-23 * M for float32 and 3 * 2^-52 * M for float64, where M is the largest magnitude among 1, the
/// exact result, weight * normalized value and bias. Float32 rows that were built to add up every rounding error reached 3.9
/// instead of 3, and weights above 2^30 are outside the bound. A constant row gives the bias, also with eps 0; rstd is then infinite.
/// NaN and infinity spoil their own row only. No rows: ok, nothing written.
/// Returns bad_dims, size_mismatch, bad_eps, bad_weight_offset or overlap before anything is written.
/// Ba, Kiros, Hinton 2016, https://arxiv.org/abs/1607.06450; matches torch.nn.LayerNorm.
[[nodiscard]] Status layer_norm(std::span<const float> x, size_t features, const Options& options, std::span<float> y);
[[nodiscard]] Status layer_norm(std::span<const double> x, size_t features, const Options& options,
                                std::span<double> y);

/// Root mean square normalization of each row of x [rows, features].
///   y = x * rstd * (weight_offset + weight) + bias,   rstd = 1 / sqrt(mean(x^2) + eps)
/// Everything else as layer_norm; a row of zeros gives the bias.
/// Zhang, Sennrich 2019, https://arxiv.org/abs/1910.07467; matches torch.nn.RMSNorm.
[[nodiscard]] Status rms_norm(std::span<const float> x, size_t features, const Options& options, std::span<float> y);
[[nodiscard]] Status rms_norm(std::span<const double> x, size_t features, const Options& options, std::span<double> y);

/// What a call reads and writes: tensors, and parameters that may be absent or numbers. Those that come first, up to
/// kStrided, have strides.
enum class Operand : uint8_t {
  x,
  residual,
  gate,
  sum_bias,
  weight,
  bias,
  scale,
  shift,
  running_mean,
  running_var,
  given_mean,
  given_rstd,
  // Results.
  y,
  sum,
  mean,
  rstd,
  // Of a backward call: what is read beside the operands of the forward one, and the gradients, in the order of what they
  // are gradients of.
  grad_output,
  grad_sum,
  grad_residual,
  grad_gate,
  grad_sum_bias,
  grad_weight,
  grad_bias,
  grad_scale,
  grad_shift
};
inline constexpr size_t kStrided = 12;
inline constexpr size_t kOperands = 25;

/// The parameters that have gradients, residual to shift.
inline constexpr size_t kGradients = 7;

/// One dimension of a view of x: a run is made of the values that share their indices of the dimensions that are kept.
struct Dim {
  uint64_t size = 1;
  bool reduced = false;
  uint64_t whole = 0;  // of the tensor that x is part of, where it is larger: the same dimension's size
};

/// Operands that do not lie in memory at once: elements [begin, begin + n) of one, in its own element type.
class Transfer {
 public:
  /// Room for the pieces that are worked on, aligned to 16 bytes, of a size that caches hold; where it is small, or none, the
  /// core has some of its own.
  virtual std::span<std::byte> stage() { return {}; }
  virtual void read(Operand operand, uint64_t begin, size_t n, void* to) = 0;
  virtual void write(Operand operand, uint64_t begin, size_t n, const void* from) = 0;

 protected:
  ~Transfer() = default;
};

/// The plain descriptor that every call becomes: what a binding fills in. `run` trusts it; `check` says whether it may.
///
/// x is seen as `dims`, row-major. Any of them may be reduced, so one descriptor covers every operation: group
/// normalization has its channels split in two, batch normalization reduces the batch. Of a parameter, `strides` says by how
/// many elements it advances along each dimension, 0 where it repeats.
///   residual            if there: sum = (residual + gate * x) + sum_bias, each step rounded, and sum is normalized
///   scale, shift        y * (1 + scale) + shift after the affine part
///   activation          last
///   running_mean, _var  batch_norm: the statistics; layer_norm: updated by `momentum`, the weight of the new value,
///                       an element for each index of the one dimension that is kept
///
/// A backward call takes the gradient of y, as large as x, and writes that of x to y. Parameters have gradients where
/// `gradients` says so.
///   given_mean, _rstd   the statistics of each run, as exact ones; absent: taken from x
///   grad_sum            if there: added to the gradient of the sum
struct Call {
  static constexpr size_t kMaxRank = 54;  // dimensions of size 1 left out, more would not fit 2^53 elements

  Op op = Op::layer_norm;
  DType dtype = DType::float32;
  Activation activation = Activation::none;
  bool round_normalized = false;  // to x's element type, before the weight
  bool unbiased = true;           // the running variance
  double eps = 1e-5;
  double weight_offset = 0;
  double momentum = 0.1;
  LocalResponse window;
  size_t rank = 0;
  Dim dims[kMaxRank];
  uint64_t strides[kStrided][kMaxRank] = {};
  Parameter parameters[kOperands];  // residual to given_rstd
  const void* x = nullptr;
  void* y = nullptr;
  void* sum = nullptr;
  double* mean = nullptr;
  double* rstd = nullptr;
  Transfer* transfer = nullptr;  // serves the operands that are marked remote
  bool remote[kOperands] = {};

  /// The gradient of a parameter. Where the parameter has an element for each of x, its gradient goes straight to `data`;
  /// else it is summed in `sums`, two float64 for each element beside float64 x, one beside others, and at last rounded to
  /// `data`. Without that the first `size` of the sums are the result. The sums may be remote, and so may `data` where there
  /// are none.
  struct Gradient {
    bool wanted = false;
    DType dtype = DType::float64;  // of data
    uint64_t size = 0;
    double* sums = nullptr;
    void* data = nullptr;
  };

  bool backward = false;
  DType grad_output_dtype = DType::float32;
  DType grad_sum_dtype = DType::float32;
  const void* grad_output = nullptr;
  const void* grad_sum = nullptr;
  Gradient gradients[kGradients];  // by what they are of: residual to shift

  // Of what `run_part` and `end_parts` make of a call.
  bool is_part = false;
  std::byte* log = nullptr;

  [[nodiscard]] const Parameter& parameter(Operand operand) const { return parameters[static_cast<size_t>(operand)]; }
  [[nodiscard]] Parameter& parameter(Operand operand) { return parameters[static_cast<size_t>(operand)]; }
  [[nodiscard]] bool is_remote(Operand operand) const { return remote[static_cast<size_t>(operand)]; }
  [[nodiscard]] const Gradient& gradient(Operand of) const {
    return gradients[static_cast<size_t>(of) - static_cast<size_t>(Operand::residual)];
  }
  [[nodiscard]] Gradient& gradient(Operand of) {
    return gradients[static_cast<size_t>(of) - static_cast<size_t>(Operand::residual)];
  }
};

/// Whether `run` may trust a call whose operands all lie in memory.
[[nodiscard]] Status check(const Call& call);
void run(const Call& call);

/// Whether a call is of rows as they stand, with at most a weight and a bias: what most are. `run_plain` then runs it without
/// looking again, which for a short row halves the time.
[[nodiscard]] bool is_plain(const Call& call);
void run_plain(const Call& call);

/// How many parts, at most `most`, a call can be split in that threads run at the same time. 1 where it stays whole: for operands
/// that a Transfer serves, for a single run, and for gradients of parameters whose sums cannot be told apart.
[[nodiscard]] size_t count_parts(const Call& call, size_t most);
/// Bytes of memory beside, aligned to 16, that the parts of a call have to be given: they leave there what they contribute to sums
/// that they share, a quarter of the bytes of x or less. 0 for most.
[[nodiscard]] uint64_t log_size(const Call& call);
/// Makes a call ready for its parts, and ends it when all of them are done.
void begin_parts(const Call& call);
void end_parts(const Call& call, std::byte* log);
/// Runs one of so many parts. What each of them writes no other one touches, and all of them give the bits of `run`.
void run_part(const Call& call, size_t part, size_t parts, std::byte* log);

/// Converts n elements, each rounded once, to nearest even. `to` must not overlap `from`.
void convert(DType from_dtype, const void* from, DType to_dtype, void* to, size_t n);

}  // namespace layernorm

#endif  // LAYERNORM_LAYERNORM_H_
