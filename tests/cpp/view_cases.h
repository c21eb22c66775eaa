// Calls over random views.
#ifndef LAYERNORM_TESTS_CPP_VIEW_CASES_H_
#define LAYERNORM_TESTS_CPP_VIEW_CASES_H_

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "layernorm/layernorm.h"

namespace layernorm::test {

inline constexpr Operand kParameters[] = {Operand::residual, Operand::gate,         Operand::sum_bias,
                                          Operand::weight,   Operand::bias,         Operand::scale,
                                          Operand::shift,    Operand::running_mean, Operand::running_var};

/// A call with memory of its own for each operand, each of exactly its size.
struct Case {
  Call call;
  std::map<Operand, std::vector<std::byte>> memory;
  std::map<Operand, DType> dtypes;
  size_t elements = 1;
  size_t runs = 1;

  std::byte* allocate(Operand operand, DType dtype, const std::vector<double>& values) {
    std::vector<std::byte>& bytes = memory[operand];
    dtypes[operand] = dtype;
    bytes.resize(values.size() * element_size(dtype));
    convert(DType::float64, values.data(), dtype, bytes.data(), values.size());
    return bytes.data();
  }

  [[nodiscard]] std::vector<double> values(Operand operand, DType dtype) const {
    const std::vector<std::byte>& bytes = memory.at(operand);
    std::vector<double> result(bytes.size() / element_size(dtype));
    convert(dtype, bytes.data(), DType::float64, result.data(), result.size());
    return result;
  }

  [[nodiscard]] DType dtype_of(Operand operand) const { return dtypes.at(operand); }
};

class Pieces final : public Transfer {
 public:
  explicit Pieces(Case& of) : case_(of) {}
  void read(Operand operand, uint64_t begin, size_t n, void* to) override {
    const size_t size = element_size(case_.dtype_of(operand));
    ASSERT_LE((begin + n) * size, case_.memory[operand].size());
    std::memcpy(to, case_.memory[operand].data() + begin * size, n * size);
  }
  void write(Operand operand, uint64_t begin, size_t n, const void* from) override {
    const size_t size = element_size(case_.dtype_of(operand));
    ASSERT_LE((begin + n) * size, case_.memory[operand].size());
    std::memcpy(case_.memory[operand].data() + begin * size, from, n * size);
  }

 private:
  Case& case_;
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  size_t below(size_t n) { return engine_() % n; }
  bool chance(size_t of) { return below(of) == 0; }
  std::vector<double> values(size_t n, double mean, double deviation) {
    std::vector<double> result(n);
    for (double& value : result) value = mean + deviation * (static_cast<double>(engine_() % 65536) / 32768 - 1);
    return result;
  }

 private:
  std::mt19937 engine_;
};

/// A call of any operation over a view of any pattern.
template <class Choices>
Case make_case_of(Choices& random) {
  Case made;
  Call& call = made.call;
  constexpr DType kDTypes[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16};
  call.op = static_cast<Op>(random.below(7));
  call.dtype = kDTypes[random.below(4)];
  call.rank = 1 + random.below(5);
  constexpr size_t kSizes[] = {1, 2, 3, 5, 8, 17, 64, 70, 131};
  size_t room = random.chance(12) ? 60000 : 4000;
  bool reduces = false;
  for (size_t d = 0; d < call.rank; ++d) {
    size_t size = kSizes[random.below(9)];
    if (size > room) size = 1;
    room /= size;
    call.dims[d] = {size, random.chance(2)};
    reduces = reduces || call.dims[d].reduced;
    made.elements *= size;
  }
  if (!reduces) call.dims[call.rank - 1].reduced = true;
  for (size_t d = 0; d < call.rank; ++d) {
    if (!call.dims[d].reduced) made.runs *= static_cast<size_t>(call.dims[d].size);
  }
  call.activation = random.chance(3) ? static_cast<Activation>(random.below(7)) : Activation::none;
  call.eps = random.chance(4) ? 1e-2 : 1e-5;
  call.weight_offset = random.chance(3) ? 1 : 0;
  call.x = made.allocate(Operand::x, call.dtype, random.values(made.elements, random.chance(3) ? 20 : 0, 2));
  const bool adds = random.chance(3) && call.op != Op::batch_norm;
  for (const Operand operand : kParameters) {
    const bool is_sum = operand == Operand::residual || operand == Operand::gate || operand == Operand::sum_bias;
    const bool is_running = operand == Operand::running_mean || operand == Operand::running_var;
    if (is_sum && !adds) continue;
    if (is_running && call.op != Op::batch_norm) continue;
    const bool needed = operand == Operand::residual || is_running;
    if (!needed && random.chance(2)) continue;
    if (!needed && random.chance(4)) {
      call.parameter(operand) = Parameter(1.25);
      continue;
    }
    // Along some of the dimensions; of running statistics, along those that are kept.
    size_t size = 1;
    for (size_t d = call.rank; d-- > 0;) {
      const bool along = is_running                     ? !call.dims[d].reduced
                         : operand == Operand::residual ? !random.chance(5)
                                                        : random.chance(2);
      if (!along) continue;
      call.strides[static_cast<size_t>(operand)][d] = size;
      size *= static_cast<size_t>(call.dims[d].size);
    }
    Parameter& parameter = call.parameter(operand);
    parameter.kind = Parameter::Kind::vector;
    parameter.dtype = kDTypes[random.below(4)];
    parameter.size = size;
    const bool is_var = operand == Operand::running_var;
    parameter.data = made.allocate(operand, parameter.dtype, random.values(size, is_var ? 2 : 0.5, 1));
  }
  call.y = made.allocate(Operand::y, call.dtype, std::vector<double>(made.elements, -7));
  if (adds) call.sum = made.allocate(Operand::sum, call.dtype, std::vector<double>(made.elements, -7));
  if (random.chance(2)) {
    made.allocate(Operand::mean, DType::float64, std::vector<double>(made.runs, -7));
    made.allocate(Operand::rstd, DType::float64, std::vector<double>(made.runs, -7));
    call.mean = reinterpret_cast<double*>(made.memory[Operand::mean].data());
    call.rstd = reinterpret_cast<double*>(made.memory[Operand::rstd].data());
  }
  return made;
}

inline Case make_case(unsigned seed) {
  Random random(seed);
  return make_case_of(random);
}

}  // namespace layernorm::test

#endif  // LAYERNORM_TESTS_CPP_VIEW_CASES_H_
