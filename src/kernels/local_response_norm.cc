#include "kernels/local_response_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/run_f64.h"
#include "kernels/tiles.h"
#include "simd/math.h"

namespace layernorm {
namespace {

// The last values of some columns: as many rows as the window has, and as many columns as there is room for.
class Ring {
 public:
  explicit Ring(size_t window) : rows_(window), columns_(kRoom / window) {}

  [[nodiscard]] size_t columns() const { return columns_; }
  double* row(size_t channel) { return values_ + channel % rows_ * columns_; }

 private:
  static constexpr size_t kRoom = kLongestWindow;
  size_t rows_, columns_;
  double values_[kRoom];
};

[[gnu::noinline]] double power(double base, double exponent) {
  return simd::lane(simd::pow(simd::splat(base), simd::splat(exponent)), 0);
}

/// The values of some columns go through here in the order of their channels.
class Response {
 public:
  Response(const LocalResponse& window, size_t channels)
      : window_(window),
        channels_(channels),
        // Below a value are (size - 1) / 2, above it the rest; more than there are channels need not be kept.
        below_(std::min((window.size - 1) / 2, channels - 1)),
        above_(std::min(window.size - 1 - (window.size - 1) / 2, channels - 1)),
        ring_(std::min(window.size, channels)) {}

  [[nodiscard]] size_t columns() const { return ring_.columns(); }
  [[nodiscard]] size_t above() const { return above_; }

  template <class T>
  void take(size_t channel, const T* x, size_t n) {
    double* row = ring_.row(channel);
    for (size_t c = 0; c < n; ++c) row[c] = x[c];
  }

  /// The results of a channel, once `above` channels beyond it were taken.
  template <class T>
  void give(size_t channel, T* y, size_t n) {
    const size_t first = channel < below_ ? 0 : channel - below_;
    const size_t last = std::min(channel + above_, channels_ - 1);
    for (size_t c = 0; c < n; ++c) {
      double largest = 0;
      for (size_t near = first; near <= last; ++near) largest = std::max(largest, std::fabs(ring_.row(near)[c]));
      const double scale = scale_for(largest);
      double sum = 0;
      for (size_t near = first; near <= last; ++near) {
        const double v = ring_.row(near)[c] * scale;
        sum += v * v;
      }
      y[c] = static_cast<T>(respond(ring_.row(channel)[c] * scale, sum, scale));
    }
  }

 private:
  // A power of two by which squares neither overflow nor, where nothing is added to them, vanish.
  [[nodiscard]] double scale_for(double largest) const {
    const double scale = scale_for_squares(largest, 0);
    return scale < 1 || window_.k == 0 ? scale : 1;
  }

  // x / (k + alpha / size * sum)^beta, of scaled values.
  [[nodiscard]] double respond(double x, double sum, double scale) const {
    const double factor = window_.alpha / static_cast<double>(window_.size);
    const double response = x * power(window_.k * scale * scale + factor * sum, -window_.beta);
    return scale == 1 ? response : response * power(scale, 2 * window_.beta - 1);
  }

  const LocalResponse& window_;
  size_t channels_, below_, above_;
  Ring ring_;
};

template <class T>
void run_as(const Call& call) {
  const uint64_t outer = call.dims[0].size;
  const auto channels = static_cast<size_t>(call.dims[1].size);
  const uint64_t inner = call.dims[2].size;
  Tiles tiles(call, Operand::x, call.x);
  Response response(call.window, channels);
  const auto x_of = [](const Tiles::Tile& tile) { return reinterpret_cast<const T*>(tile.x); };
  const auto y_of = [](const Tiles::Tile& tile) { return reinterpret_cast<T*>(tile.y); };
  // Channels that lie side by side come in one piece, where a tile holds them.
  const bool line = inner == 1 && channels <= tiles.capacity(channels);
  for (uint64_t i = 0; i < outer; ++i) {
    const uint64_t begin = i * channels * inner;
    for (uint64_t at = 0; at < inner; at += response.columns()) {
      const auto n = static_cast<size_t>(std::min<uint64_t>(response.columns(), inner - at));
      Tiles::Tile tile{};
      if (line) tile = tiles.get(begin, 1, channels, 0);
      for (size_t c = 0; c < channels + response.above(); ++c) {
        if (c < channels) {
          response.take(c, line ? x_of(tile) + c : x_of(tiles.get(begin + c * inner + at, 1, n, 0)), n);
        }
        if (c < response.above()) continue;
        const size_t done = c - response.above();
        if (line) {
          response.give(done, y_of(tile) + done, n);
        } else {
          // What was there is in the ring.
          response.give(done, y_of(tiles.get(begin + done * inner + at, 1, n, 0)), n);
          tiles.put();
        }
      }
      if (line) tiles.put();
    }
  }
}

}  // namespace

void local_response_norm(const Call& call) {
  call.dtype == DType::float64 ? run_as<double>(call) : run_as<float>(call);
}

}  // namespace layernorm
