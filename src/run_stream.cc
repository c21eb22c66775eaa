#include <new>
#include <type_traits>

#include "kernels/run_f32.h"
#include "kernels/run_f64.h"
#include "layernorm/layernorm.h"

namespace layernorm {
namespace {

/// Calls visitor with the run that the state holds and whether it is centered.
template <class State, class Visitor>
decltype(auto) visit(Op op, DType dtype, State* state, const Visitor& visitor) {
  const auto as = [&]<class Run, bool kCentered>(std::bool_constant<kCentered> centered, Run*) -> decltype(auto) {
    using Pointer = std::conditional_t<std::is_const_v<State>, const Run*, Run*>;
    return visitor(*std::launder(reinterpret_cast<Pointer>(state)), centered);
  };
  constexpr RunF32<true>* kLayerF32 = nullptr;
  constexpr RunF32<false>* kRmsF32 = nullptr;
  constexpr RunF64<true>* kLayerF64 = nullptr;
  constexpr RunF64<false>* kRmsF64 = nullptr;
  if (op == Op::layer_norm) {
    return dtype == DType::float32 ? as(std::true_type(), kLayerF32) : as(std::true_type(), kLayerF64);
  }
  return dtype == DType::float32 ? as(std::false_type(), kRmsF32) : as(std::false_type(), kRmsF64);
}

}  // namespace

RunStream::RunStream(const Call& call) : op_(call.op), dtype_(call.dtype), weight_offset_(call.weight_offset) {
  visit(op_, dtype_, state_, [&](auto& run, auto centered) {
    using Run = std::remove_reference_t<decltype(run)>;
    static_assert(sizeof(Run) <= kStateBytes && std::is_trivially_copyable_v<Run>);
    using Element = typename Run::Element;
    ParameterBlocks<Element> weight(call.weight, 1, call.weight_offset);
    new (state_) Run(call.channels, call.eps, weigh<Element, decltype(centered)::value>(weight, call.channels));
  });
}

void RunStream::add(const void* x, size_t n) {
  visit(op_, dtype_, state_, [&](auto& run, auto) {
    using Element = typename std::remove_reference_t<decltype(run)>::Element;
    run.add(static_cast<const Element*>(x), n);
  });
}

bool RunStream::next_pass() {
  return visit(op_, dtype_, state_, [](auto& run, auto) { return run.next_pass(); });
}

void RunStream::write(const void* x, const Parameter& weight, const Parameter& bias, void* y, size_t n) const {
  visit(op_, dtype_, state_, [&](const auto& run, auto centered) {
    using Element = typename std::remove_cvref_t<decltype(run)>::Element;
    ParameterBlocks<Element> weights(weight, 1, weight_offset_);
    ParameterBlocks<Element> biases(bias, Element(-0.0), 0);
    run.normalizer().template write<centered>(static_cast<const Element*>(x), weights, biases, static_cast<Element*>(y),
                                              n);
  });
}

double RunStream::mean() const {
  return visit(op_, dtype_, state_, [](const auto& run, auto) { return run.normalizer().mean(); });
}
double RunStream::rstd() const {
  return visit(op_, dtype_, state_, [](const auto& run, auto) { return run.normalizer().rstd; });
}

}  // namespace layernorm
