#include "layernorm/layernorm.h"

#include <cmath>

#include "kernels/rows.h"

namespace layernorm {
namespace {

struct Bytes {
  uintptr_t begin, end;

  Bytes(const void* data, size_t size) : begin(reinterpret_cast<uintptr_t>(data)), end(begin + size) {}

  [[nodiscard]] bool overlaps(const Bytes& other) const {
    return begin != end && other.begin != other.end && begin < other.end && other.begin < end;
  }
  [[nodiscard]] bool equals(const Bytes& other) const { return begin == other.begin && end == other.end; }
};

bool fits(const Parameter& parameter, size_t channels) {
  return parameter.kind != Parameter::Kind::vector || parameter.size == channels;
}

Bytes bytes_of(const Parameter& parameter) {
  if (parameter.kind != Parameter::Kind::vector) return {nullptr, 0};
  return {parameter.data, parameter.size * element_size(parameter.dtype)};
}

bool overlapping(const Call& call) {
  const size_t size = call.outer * call.channels * element_size(call.dtype);
  const Bytes x(call.x, size);
  const Bytes y(call.y, size);
  const Bytes mean(call.mean, call.mean == nullptr ? 0 : call.outer * sizeof(double));
  const Bytes rstd(call.rstd, call.rstd == nullptr ? 0 : call.outer * sizeof(double));
  if (y.overlaps(x) && !y.equals(x)) return true;
  if (mean.overlaps(rstd)) return true;
  for (const Bytes& written : {y, mean, rstd}) {
    if (written.overlaps(bytes_of(call.weight)) || written.overlaps(bytes_of(call.bias))) return true;
  }
  for (const Bytes& statistic : {mean, rstd}) {
    if (statistic.overlaps(x) || statistic.overlaps(y)) return true;
  }
  return false;
}

template <class T>
Status call_rows(Op op, std::span<const T> x, size_t features, const Options& options, std::span<T> y) {
  if (features == 0) return Status::bad_dims;
  if (x.size() % features != 0 || y.size() != x.size()) return Status::size_mismatch;
  Call call;
  call.op = op;
  call.dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
  call.outer = x.size() / features;
  call.channels = features;
  call.eps = options.eps;
  call.weight_offset = options.weight_offset;
  call.weight = options.weight;
  call.bias = options.bias;
  call.x = x.data();
  call.y = y.data();
  for (const std::span<double>& statistic : {options.mean, options.rstd}) {
    if (!statistic.empty() && statistic.size() != call.outer) return Status::size_mismatch;
  }
  call.mean = options.mean.empty() || op == Op::rms_norm ? nullptr : options.mean.data();
  call.rstd = options.rstd.empty() ? nullptr : options.rstd.data();
  const Status status = check(call);
  if (status == Status::ok) run(call);
  return status;
}

}  // namespace

const char* message(Status status) {
  switch (status) {
#define LAYERNORM_STATUS(name, text) \
  case Status::name:                 \
    return text;
#include "layernorm/status.def"
#undef LAYERNORM_STATUS
  }
  return "unknown status";
}

Status check(const Call& call) {
  const size_t most = SIZE_MAX / element_size(call.dtype);
  if (call.channels == 0 || call.outer > most / call.channels) return Status::bad_dims;
  if (!fits(call.weight, call.channels) || !fits(call.bias, call.channels)) return Status::size_mismatch;
  if (!(call.eps >= 0) || std::isinf(call.eps)) return Status::bad_eps;
  if (!std::isfinite(call.weight_offset)) return Status::bad_weight_offset;
  return overlapping(call) ? Status::overlap : Status::ok;
}

void run(const Call& call) { normalize_rows(call); }

Status layer_norm(std::span<const float> x, size_t features, const Options& options, std::span<float> y) {
  return call_rows(Op::layer_norm, x, features, options, y);
}
Status layer_norm(std::span<const double> x, size_t features, const Options& options, std::span<double> y) {
  return call_rows(Op::layer_norm, x, features, options, y);
}
Status rms_norm(std::span<const float> x, size_t features, const Options& options, std::span<float> y) {
  return call_rows(Op::rms_norm, x, features, options, y);
}
Status rms_norm(std::span<const double> x, size_t features, const Options& options, std::span<double> y) {
  return call_rows(Op::rms_norm, x, features, options, y);
}

}  // namespace layernorm
