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
enum class DType : uint8_t { float32, float64 };

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

[[nodiscard]] constexpr size_t element_size(DType dtype) { return dtype == DType::float64 ? 8 : 4; }

/// A weight or a bias: absent, one number for every feature, or a vector with one element per feature, whose element
/// type may differ from that of x. Values are rounded once to the arithmetic type: float32, or float64 for float64 x.
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

/// The plain descriptor that every call becomes: what a binding fills in. `run` trusts it; `check` says whether it may.
struct Call {
  Op op = Op::layer_norm;
  DType dtype = DType::float32;
  size_t outer = 0;     // rows
  size_t channels = 0;  // features of a row
  double eps = 1e-5;
  double weight_offset = 0;
  Parameter weight;
  Parameter bias;
  const void* x = nullptr;
  void* y = nullptr;
  double* mean = nullptr;
  double* rstd = nullptr;
};

[[nodiscard]] Status check(const Call& call);
void run(const Call& call);

/// One run, in pieces: for data that does not lie in memory at once. The bits are those of `run`. Use:
///   RunStream stream(call);   // its op, dtype, channels, eps and weight_offset count, and weight as said below
///   do { for each piece: stream.add(x, n); } while (stream.next_pass());
///   for each piece: stream.write(x, weight, bias, y, n);   // pieces of the parameters where they are vectors
/// A run of up to kWeighed elements needs the whole weight in `call`: its size decides how precise sums must be.
/// Every piece but the last must have a multiple of kPiece elements, and each pass must bring the same values.
class RunStream {
 public:
  static constexpr size_t kPiece = 64;
  static constexpr size_t kWeighed = 8192;

  explicit RunStream(const Call& call);
  void add(const void* x, size_t n);
  /// Whether the statistics need the values once more; when not, mean() and rstd() stand and write() may be called.
  [[nodiscard]] bool next_pass();
  void write(const void* x, const Parameter& weight, const Parameter& bias, void* y, size_t n) const;
  [[nodiscard]] double mean() const;
  [[nodiscard]] double rstd() const;

 private:
  static constexpr size_t kStateBytes = 384;
  Op op_;
  DType dtype_;
  double weight_offset_;
  alignas(16) std::byte state_[kStateBytes];
};

}  // namespace layernorm

#endif  // LAYERNORM_LAYERNORM_H_
