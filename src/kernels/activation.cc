#include "kernels/activation.h"

namespace layernorm {
namespace {

// In place on n elements, a multiple of the lanes.
template <class T, class Function>
void map_vectors(T* y, size_t n, const Function& function) {
  LAYERNORM_ROLLED
  for (const T* end = y + n; y != end; y += simd::Vector<T>::kLanes) simd::store(y, function(simd::load(y)));
}

[[gnu::noinline]] void activate_vectors(Activation activation, double* y, size_t n) {
  switch (activation) {
    case Activation::none:
      return;
    case Activation::relu:
      return map_vectors(y, n, [](simd::F64x2 x) { return relu(x); });
    case Activation::silu:
      return map_vectors(y, n, [](simd::F64x2 x) { return silu(x); });
    case Activation::gelu:
      return map_vectors(y, n, gelu);
    case Activation::gelu_tanh:
      return map_vectors(y, n, [](simd::F64x2 x) { return gelu_tanh(x); });
    case Activation::sigmoid:
      return map_vectors(y, n, [](simd::F64x2 x) { return simd::sigmoid(x); });
    case Activation::tanh:
      return map_vectors(y, n, [](simd::F64x2 x) { return simd::tanh(x); });
  }
}

[[gnu::noinline]] void activate_vectors(Activation activation, float* y, size_t n) {
  using namespace simd;
  switch (activation) {
    case Activation::relu:
      return map_vectors(y, n, [](F32x4 x) { return relu(x); });
    case Activation::silu:
      return map_vectors(y, n, [sigmoids = SigmoidF32()](F32x4 x) { return sigmoids.silu(x); });
    case Activation::gelu_tanh:
      return map_vectors(y, n, [sigmoids = SigmoidF32()](F32x4 x) { return sigmoids.gelu_tanh(x); });
    case Activation::sigmoid:
      return map_vectors(y, n, [sigmoids = SigmoidF32()](F32x4 x) { return sigmoids.sigmoid(x); });
    default:
      break;
  }
  constexpr size_t kPiece = 64;
  double wide[kPiece];
  while (n != 0) {
    const size_t size = n < kPiece ? n : kPiece;
    LAYERNORM_ROLLED
    for (size_t i = 0; i < size; i += F32x4::kLanes) {
      const F32x4 x = load(y + i);
      store(wide + i, promote_low(x));
      store(wide + i + F64x2::kLanes, promote_high(x));
    }
    activate_vectors(activation, wide, size);
    LAYERNORM_ROLLED
    for (size_t i = 0; i < size; i += F32x4::kLanes) {
      store(y + i, demote(load(wide + i), load(wide + i + F64x2::kLanes)));
    }
    y += size;
    n -= size;
  }
}

template <class T>
void activate_all(Activation activation, T* y, size_t n) {
  constexpr size_t kLanes = simd::Vector<T>::kLanes;
  const size_t rest = n % kLanes;
  activate_vectors(activation, y, n - rest);
  if (rest == 0) return;
  y += n - rest;
  T last[kLanes];
  simd::store(last, simd::load_partial(y, rest, T(0)));
  activate_vectors(activation, last, kLanes);
  simd::store_partial(y, rest, simd::load(last));
}

}  // namespace

void activate(Activation activation, float* y, size_t n) { activate_all(activation, y, n); }
void activate(Activation activation, double* y, size_t n) { activate_all(activation, y, n); }

}  // namespace layernorm
