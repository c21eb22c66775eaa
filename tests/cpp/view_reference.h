// What a call over a view should give, in long double.
#ifndef LAYERNORM_TESTS_CPP_VIEW_REFERENCE_H_
#define LAYERNORM_TESTS_CPP_VIEW_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "view_cases.h"

namespace layernorm::test {

inline std::vector<double> reference(const Case& of) {
  const Call& call = of.call;
  const bool adds = call.parameter(Operand::residual).kind != Parameter::Kind::none;
  const std::vector<double> x = of.values(adds ? Operand::sum : Operand::x, call.dtype);
  std::map<Operand, std::vector<double>> loaded;
  for (const Operand operand : kParameters) {
    if (call.parameter(operand).kind == Parameter::Kind::vector)
      loaded[operand] = of.values(operand, of.dtype_of(operand));
  }
  const auto indices = [&](size_t i) {
    std::vector<size_t> index(call.rank);
    for (size_t d = call.rank; d-- > 0; i /= static_cast<size_t>(call.dims[d].size)) {
      index[d] = i % static_cast<size_t>(call.dims[d].size);
    }
    return index;
  };
  const auto parameter = [&](Operand operand, const std::vector<size_t>& index, double absent) {
    const Parameter& given = call.parameter(operand);
    if (given.kind == Parameter::Kind::none) return absent;
    if (given.kind == Parameter::Kind::number) return given.number;
    size_t at = 0;
    for (size_t d = 0; d < call.rank; ++d)
      at += index[d] * static_cast<size_t>(call.strides[static_cast<size_t>(operand)][d]);
    return loaded[operand][at];
  };
  const auto run_of = [&](const std::vector<size_t>& index) {
    size_t run = 0;
    for (size_t d = 0; d < call.rank; ++d) {
      if (!call.dims[d].reduced) run = run * static_cast<size_t>(call.dims[d].size) + index[d];
    }
    return run;
  };
  struct Sums {
    long double sum = 0, square = 0, absolute = 0, largest = 0;
    size_t n = 0;
  };
  std::vector<Sums> sums(of.runs);
  for (size_t i = 0; i < x.size(); ++i) {
    Sums& s = sums[run_of(indices(i))];
    s.sum += x[i];
    s.absolute += std::fabs(x[i]);
    s.largest = std::max<long double>(s.largest, std::fabs(x[i]));
    ++s.n;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    Sums& s = sums[run_of(indices(i))];
    const bool centered = call.op == Op::layer_norm || call.op == Op::mean_variance_normalize;
    const long double d = x[i] - (centered ? s.sum / s.n : 0);
    s.square += d * d;
  }
  std::vector<double> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const std::vector<size_t> index = indices(i);
    const Sums& s = sums[run_of(index)];
    const long double n = s.n;
    const long double mean = s.sum / n;
    const long double norm = call.op == Op::l2_normalize   ? std::sqrt(s.square)
                             : call.op == Op::l1_normalize ? s.absolute
                                                           : s.largest;
    long double v = 0;
    switch (call.op) {
      case Op::layer_norm:
        v = (x[i] - mean) / std::sqrt(s.square / n + call.eps);
        break;
      case Op::rms_norm:
        v = x[i] / std::sqrt(s.square / n + call.eps);
        break;
      case Op::mean_variance_normalize:
        v = (x[i] - mean) / (std::sqrt(s.square / n) + call.eps);
        break;
      case Op::batch_norm:
        v = (x[i] - parameter(Operand::running_mean, index, 0)) /
            std::sqrt(parameter(Operand::running_var, index, 1) + static_cast<long double>(call.eps));
        break;
      default:
        v = x[i] / std::max<long double>(norm, call.eps);
    }
    const bool weighted = call.parameter(Operand::weight).kind != Parameter::Kind::none;
    v = v * (weighted ? parameter(Operand::weight, index, 1) + call.weight_offset : 1) +
        parameter(Operand::bias, index, 0);
    v = v * (1 + parameter(Operand::scale, index, 0)) + parameter(Operand::shift, index, 0);
    switch (call.activation) {
      case Activation::none:
        break;
      case Activation::relu:
        v = v < 0 ? 0 : v;
        break;
      case Activation::silu:
        v = v / (1 + std::exp(-v));
        break;
      case Activation::gelu:
        v = v * 0.5L * std::erfc(-v / std::sqrt(2.0L));
        break;
      case Activation::gelu_tanh:
        v = v * 0.5L * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0L)) * (v + 0.044715L * v * v * v)));
        break;
      case Activation::sigmoid:
        v = 1 / (1 + std::exp(-v));
        break;
      case Activation::tanh:
        v = std::tanh(v);
        break;
    }
    y[i] = static_cast<double>(v);
  }
  return y;
}

inline double tolerance(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return 0x1p-19;
    case DType::float64:
      return 0x1p-44;
    case DType::float16:
      return 0x1p-9;
    default:
      return 0x1p-6;
  }
}

}  // namespace layernorm::test

#endif  // LAYERNORM_TESTS_CPP_VIEW_REFERENCE_H_
