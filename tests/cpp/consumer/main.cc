#include <layernorm/layernorm.h>

#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

int main() {
  const std::vector<float> x = {3, 5, 2, 8};
  std::vector<float> y(x.size());
  layernorm::Options options;
  options.weight = 1.5;
  options.bias = 0.5;
  const layernorm::Status status = layernorm::layer_norm(std::span<const float>(x), 4, options, std::span<float>(y));
  if (status != layernorm::Status::ok) {
    std::fprintf(stderr, "%s\n", layernorm::message(status));
    return 1;
  }
  std::printf("layernorm %d.%d.%d: %.4f %.4f %.4f %.4f\n", LAYERNORM_VERSION_MAJOR, LAYERNORM_VERSION_MINOR,
              LAYERNORM_VERSION_PATCH, y[0], y[1], y[2], y[3]);
  return std::fabs(y[0] + 0.481980F) < 1e-5F ? 0 : 1;
}
