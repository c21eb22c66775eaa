#include "layernorm/layernorm.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/backward.h"
#include "kernels/kernels.h"
#include "kernels/local_response_norm.h"
#include "kernels/normalize.h"
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

// The operands that are read, x aside, and those that are written, x's successors first.
constexpr Operand kParameters[] = {Operand::residual, Operand::gate,         Operand::sum_bias,
                                   Operand::weight,   Operand::bias,         Operand::scale,
                                   Operand::shift,    Operand::running_mean, Operand::running_var};

Bytes bytes_of(const Parameter& parameter) {
  if (parameter.kind != Parameter::Kind::vector) return {nullptr, 0};
  return {parameter.data, parameter.size * element_size(parameter.dtype)};
}

// The elements of x, or 0 where they are too many for memory; and the number of runs.
struct Sizes {
  size_t elements = 1;
  size_t runs = 1;
  bool overflow = false;

  explicit Sizes(const Call& call) {
    const size_t most = SIZE_MAX / element_size(call.dtype);
    for (size_t d = 0; d < call.rank; ++d) {
      const uint64_t size = call.dims[d].size;
      overflow = overflow || size > most || (size != 0 && elements > most / size);
      elements *= static_cast<size_t>(size);
      if (!call.dims[d].reduced) runs *= static_cast<size_t>(size);
    }
  }
};

bool fits(const Call& call, Operand operand) {
  const Parameter& parameter = call.parameter(operand);
  if (parameter.kind != Parameter::Kind::vector) return true;
  for (size_t d = 0; d < call.rank; ++d) {
    if (call.dims[d].size == 0) return true;
  }
  // What is left of the parameter beyond the last element that is read, without a sum that could overflow.
  if (parameter.size == 0) return false;
  uint64_t left = parameter.size - 1;
  for (size_t d = 0; d < call.rank; ++d) {
    const uint64_t steps = call.dims[d].size - 1;
    const uint64_t stride = call.strides[static_cast<size_t>(operand)][d];
    if (steps != 0 && stride > left / steps) return false;
    left -= steps * stride;
  }
  return true;
}

// Running statistics that are updated have one element for each index of the only dimension that is kept.
bool updates_fit(const Call& call) {
  if (call.op == Op::batch_norm) return true;
  const bool updates = call.parameter(Operand::running_mean).kind == Parameter::Kind::vector ||
                       call.parameter(Operand::running_var).kind == Parameter::Kind::vector;
  size_t kept = 0;
  for (size_t d = 0; d < call.rank; ++d) {
    if (!call.dims[d].reduced) ++kept;
  }
  return !updates || kept <= 1;
}

bool overlapping(const Call& call, const Sizes& sizes) {
  const size_t size = sizes.elements * element_size(call.dtype);
  const Bytes x(call.x, size);
  const Bytes y(call.y, size);
  const Bytes sum(call.sum, call.sum == nullptr ? 0 : size);
  const Bytes mean(call.mean, call.mean == nullptr ? 0 : sizes.runs * sizeof(double));
  const Bytes rstd(call.rstd, call.rstd == nullptr ? 0 : sizes.runs * sizeof(double));
  const Bytes residual = bytes_of(call.parameter(Operand::residual));
  for (const Bytes& written : {y, sum}) {
    for (const Bytes& read : {x, residual}) {
      if (written.overlaps(read) && !written.equals(read)) return true;
    }
  }
  const Bytes all[] = {y, sum, mean, rstd};
  for (const Bytes& written : all) {
    for (const Bytes& other : all) {
      if (&written != &other && written.overlaps(other)) return true;
    }
    for (const Operand operand : kParameters) {
      if (operand != Operand::residual && written.overlaps(bytes_of(call.parameter(operand)))) return true;
    }
  }
  for (const Bytes& statistic : {mean, rstd}) {
    if (statistic.overlaps(x) || statistic.overlaps(residual)) return true;
  }
  return false;
}

void set_features(Call& call, Operand operand, const Parameter& parameter) {
  call.parameter(operand) = parameter;
  if (parameter.kind == Parameter::Kind::vector) call.strides[static_cast<size_t>(operand)][1] = 1;
}

template <class T>
Status call_rows(Op op, std::span<const T> x, size_t features, const Options& options, std::span<T> y) {
  if (features == 0) return Status::bad_dims;
  if (x.size() % features != 0 || y.size() != x.size()) return Status::size_mismatch;
  Call call;
  call.op = op;
  call.dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
  call.rank = 2;
  call.dims[0] = {x.size() / features, false};
  call.dims[1] = {features, true};
  call.eps = options.eps;
  call.weight_offset = options.weight_offset;
  call.x = x.data();
  call.y = y.data();
  for (const auto& [operand, parameter] : {std::pair(Operand::weight, options.weight), {Operand::bias, options.bias}}) {
    if (parameter.kind == Parameter::Kind::vector && parameter.size != features) return Status::size_mismatch;
    set_features(call, operand, parameter);
  }
  for (const std::span<double>& statistic : {options.mean, options.rstd}) {
    if (!statistic.empty() && statistic.size() != call.dims[0].size) return Status::size_mismatch;
  }
  call.mean = options.mean.empty() || op == Op::rms_norm ? nullptr : options.mean.data();
  call.rstd = options.rstd.empty() ? nullptr : options.rstd.data();
  const Status status = check(call);
  if (status == Status::ok) run(call);
  return status;
}

template <class T>
void run_plain_as(const Call& call) {
  const size_t last = call.rank - 1;
  const auto n = static_cast<size_t>(call.dims[last].size);
  const size_t rows = call.rank == 1 ? 1 : static_cast<size_t>(call.dims[0].size);
  ParameterBlocks<T> weight(call, Operand::weight, 1, call.weight_offset, last, call.rank);
  ParameterBlocks<T> bias(call, Operand::bias, T(-0.0), 0, last, call.rank);
  // Made where it stays: to copy what was just stored would stall.
  RowsJob<T> job = {{call.op, call.eps, n},
                    rows,
                    static_cast<const T*>(call.x),
                    static_cast<T*>(call.y),
                    weight,
                    bias,
                    1,
                    call.mean,
                    call.rstd};
  job.weight_bound = weigh(weight, job.scaling);
  normalize_rows(job);
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
  if (call.rank == 0 || call.rank > Call::kMaxRank) return Status::bad_dims;
  const Sizes sizes(call);
  if (sizes.overflow) return Status::bad_dims;
  for (size_t d = 0; d < call.rank; ++d) {
    if (call.dims[d].reduced && call.dims[d].size == 0) return Status::bad_dims;
  }
  for (const Operand operand : kParameters) {
    if (!fits(call, operand)) return Status::size_mismatch;
  }
  if (!updates_fit(call)) return Status::bad_dims;
  if (call.op == Op::local_response_norm) {
    const bool fits_view = call.rank == 3 && !call.dims[0].reduced && call.dims[1].reduced && !call.dims[2].reduced;
    if (!fits_view || call.window.size == 0) return Status::bad_dims;
    if (std::min<uint64_t>(call.window.size, call.dims[1].size) > kLongestWindow) return Status::bad_dims;
  }
  if (!(call.eps >= 0) || std::isinf(call.eps)) return Status::bad_eps;
  if (!std::isfinite(call.weight_offset)) return Status::bad_weight_offset;
  if (call.backward) {
    for (const Operand operand : {Operand::given_mean, Operand::given_rstd}) {
      if (!fits(call, operand)) return Status::size_mismatch;
    }
    for (auto i = static_cast<size_t>(Operand::residual); i <= static_cast<size_t>(Operand::shift); ++i) {
      const auto of = static_cast<Operand>(i);
      const Parameter& parameter = call.parameter(of);
      const uint64_t size = parameter.kind == Parameter::Kind::vector ? parameter.size : 1;
      if (call.gradient(of).wanted && call.gradient(of).size != size) return Status::size_mismatch;
    }
  }
  return overlapping(call, sizes) ? Status::overlap : Status::ok;
}

bool is_plain(const Call& call) {
  const size_t last = call.rank - 1;
  for (size_t d = 0; d < call.rank; ++d) {
    if (call.dims[d].size == 0) return false;
  }
  if (call.backward) return false;
  if (call.rank > 2 || !call.dims[last].reduced || (call.rank == 2 && call.dims[0].reduced)) return false;
  if (!has_rows(call.op) || call.transfer != nullptr || is_16_bit(call.dtype)) return false;
  if (call.activation != Activation::none) return false;
  for (const Operand operand : kParameters) {
    const bool affine = operand == Operand::weight || operand == Operand::bias;
    if (!affine && call.parameter(operand).kind != Parameter::Kind::none) return false;
    if (call.rank == 2 && call.strides[static_cast<size_t>(operand)][0] != 0) return false;
  }
  return true;
}

void run_plain(const Call& call) {
  call.dtype == DType::float32 ? run_plain_as<float>(call) : run_plain_as<double>(call);
}

void run(const Call& call) {
  if (call.backward) {
    backward(call);
    return;
  }
  for (size_t d = 0; d < call.rank; ++d) {
    if (call.dims[d].size == 0) return;
  }
  if (is_plain(call)) {
    run_plain(call);
  } else if (call.op == Op::local_response_norm) {
    local_response_norm(call);
  } else {
    normalize(call);
  }
}

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
