// The raw module: names and numbers only. Loops, defaults and messages stand in the core or in TypeScript.
//
// Addresses are in bytes, sizes in elements. A call is an object in wasm memory that stands for one descriptor: set it
// up, then run it as often as wanted. JavaScript's side has checked everything before it comes here.
#include <emscripten/bind.h>
#include <emscripten/em_js.h>

#include <algorithm>

#include "layernorm/layernorm.h"
#include "memory.h"
#include "team.h"

// Elements of operands that stay in JavaScript's memory; the raw module's owner sets the two functions.
EM_JS(void, layernorm_read, (int operand, double begin, size_t n, void* to),
      { Module["read"](operand, begin, n, to); });
EM_JS(void, layernorm_write, (int operand, double begin, size_t n, const void* from),
      { Module["write"](operand, begin, n, from); });

namespace layernorm {
namespace {

class JavaScriptTransfer final : public Transfer {
 public:
  std::span<std::byte> stage() override { return room; }
  void read(Operand operand, uint64_t begin, size_t n, void* to) override {
    layernorm_read(static_cast<int>(operand), static_cast<double>(begin), n, to);
  }
  void write(Operand operand, uint64_t begin, size_t n, const void* from) override {
    layernorm_write(static_cast<int>(operand), static_cast<double>(begin), n, from);
  }

  std::span<std::byte> room;
};

JavaScriptTransfer transfer;

// A descriptor, and what was found out about it since it changed last.
struct BoundCall {
  enum class Kind : uint8_t { unknown, plain, general, shared };

  Call call;
  Kind kind = Kind::unknown;
  size_t parts = 1;  // of a call that is shared by threads
};

BoundCall& bound_at(uintptr_t handle) { return *reinterpret_cast<BoundCall*>(handle); }

// To change it.
Call& call_at(uintptr_t handle) {
  bound_at(handle).kind = BoundCall::Kind::unknown;
  return bound_at(handle).call;
}

uintptr_t create_call() { return reinterpret_cast<uintptr_t>(create<BoundCall>()); }
void destroy_call(uintptr_t handle) { destroy(reinterpret_cast<BoundCall*>(handle)); }

void set_op(uintptr_t handle, Op op, bool backward, DType dtype, Activation activation, bool round_normalized,
            bool unbiased) {
  Call& call = call_at(handle);
  call.op = op;
  call.backward = backward;
  call.dtype = dtype;
  call.activation = activation;
  call.round_normalized = round_normalized;
  call.unbiased = unbiased;
}

void set_scalars(uintptr_t handle, double eps, double weight_offset, double momentum) {
  Call& call = call_at(handle);
  call.eps = eps;
  call.weight_offset = weight_offset;
  call.momentum = momentum;
}

void set_window(uintptr_t handle, size_t size, double alpha, double beta, double k) {
  call_at(handle).window = {size, alpha, beta, k};
}

void set_rank(uintptr_t handle, size_t rank) { call_at(handle).rank = rank; }

void set_dim(uintptr_t handle, size_t dim, double size, bool reduced) {
  call_at(handle).dims[dim] = {static_cast<uint64_t>(size), reduced};
}

void set_stride(uintptr_t handle, Operand operand, size_t dim, double stride) {
  call_at(handle).strides[static_cast<size_t>(operand)][dim] = static_cast<uint64_t>(stride);
}

void set_parameter(uintptr_t handle, Operand operand, const Parameter& parameter) {
  Call& call = call_at(handle);
  call.parameter(operand) = parameter;
  if (parameter.kind != Parameter::Kind::vector) std::ranges::fill(call.strides[static_cast<size_t>(operand)], 0);
}

void set_remote(uintptr_t handle, Operand operand, bool remote) {
  Call& call = call_at(handle);
  call.remote[static_cast<size_t>(operand)] = remote;
  call.transfer = std::ranges::count(call.remote, true) == 0 ? nullptr : &transfer;
}

// dtype and size are read for parameters and what a backward call reads: x, y and the sum have the call's, the statistics are
// float64.
void set_tensor(uintptr_t handle, Operand operand, uintptr_t address, DType dtype, size_t size) {
  Call& call = call_at(handle);
  switch (operand) {
    case Operand::x:
      call.x = reinterpret_cast<const void*>(address);
      break;
    case Operand::y:
      call.y = reinterpret_cast<void*>(address);
      break;
    case Operand::sum:
      call.sum = reinterpret_cast<void*>(address);
      break;
    case Operand::mean:
      call.mean = reinterpret_cast<double*>(address);
      break;
    case Operand::rstd:
      call.rstd = reinterpret_cast<double*>(address);
      break;
    case Operand::grad_output:
      call.grad_output = reinterpret_cast<const void*>(address);
      call.grad_output_dtype = dtype;
      break;
    case Operand::grad_sum:
      call.grad_sum = reinterpret_cast<const void*>(address);
      call.grad_sum_dtype = dtype;
      break;
    default: {
      Parameter parameter;
      parameter.kind = Parameter::Kind::vector;
      parameter.dtype = dtype;
      parameter.data = reinterpret_cast<const void*>(address);
      parameter.size = size;
      set_parameter(handle, operand, parameter);
    }
  }
}

void set_number(uintptr_t handle, Operand operand, double number) { set_parameter(handle, operand, Parameter(number)); }

void set_none(uintptr_t handle, Operand operand) { set_parameter(handle, operand, Parameter()); }

void set_stage(uintptr_t address, size_t bytes) { transfer.room = {reinterpret_cast<std::byte*>(address), bytes}; }

// Of the gradient of an operand.
void set_gradient(uintptr_t handle, Operand of, bool wanted, uintptr_t sums, uintptr_t data, DType dtype, size_t size) {
  call_at(handle).gradient(of) = {wanted, dtype, size, reinterpret_cast<double*>(sums), reinterpret_cast<void*>(data)};
}

void run_call(uintptr_t handle) {
  BoundCall& bound = bound_at(handle);
  if (bound.kind == BoundCall::Kind::unknown) {
    bound.parts = count_shares(bound.call);
    bound.kind = bound.parts > 1        ? BoundCall::Kind::shared
                 : is_plain(bound.call) ? BoundCall::Kind::plain
                                        : BoundCall::Kind::general;
  }
  switch (bound.kind) {
    case BoundCall::Kind::plain:
      return run_plain(bound.call);
    case BoundCall::Kind::shared:
      return run_shared(bound.call, bound.parts);
    default:
      return run(bound.call);
  }
}

void convert_elements(DType from_dtype, uintptr_t from, DType to_dtype, uintptr_t to, size_t n) {
  convert(from_dtype, reinterpret_cast<const void*>(from), to_dtype, reinterpret_cast<void*>(to), n);
}

}  // namespace

EMSCRIPTEN_BINDINGS(layernorm) {
  using emscripten::enum_;
  using emscripten::enum_value_type;
  using emscripten::function;

  enum_<DType>("DType", enum_value_type::number)
      .value("float32", DType::float32)
      .value("float64", DType::float64)
      .value("float16", DType::float16)
      .value("bfloat16", DType::bfloat16);
  enum_<Activation>("Activation", enum_value_type::number)
      .value("none", Activation::none)
      .value("relu", Activation::relu)
      .value("silu", Activation::silu)
      .value("gelu", Activation::gelu)
      .value("gelu_tanh", Activation::gelu_tanh)
      .value("sigmoid", Activation::sigmoid)
      .value("tanh", Activation::tanh);
  enum_<Op>("Op", enum_value_type::number)
#define LAYERNORM_OP(name) .value(#name, Op::name)
#include "layernorm/ops.def"
#undef LAYERNORM_OP
      ;
  // By the names of the descriptor in TypeScript.
  enum_<Operand>("Operand", enum_value_type::number)
      .value("x", Operand::x)
      .value("residual", Operand::residual)
      .value("gate", Operand::gate)
      .value("sumBias", Operand::sum_bias)
      .value("weight", Operand::weight)
      .value("bias", Operand::bias)
      .value("scale", Operand::scale)
      .value("shift", Operand::shift)
      .value("runningMean", Operand::running_mean)
      .value("runningVar", Operand::running_var)
      .value("givenMean", Operand::given_mean)
      .value("givenRstd", Operand::given_rstd)
      .value("y", Operand::y)
      .value("sum", Operand::sum)
      .value("mean", Operand::mean)
      .value("rstd", Operand::rstd)
      .value("gradOutput", Operand::grad_output)
      .value("gradSum", Operand::grad_sum)
      .value("gradResidual", Operand::grad_residual)
      .value("gradGate", Operand::grad_gate)
      .value("gradSumBias", Operand::grad_sum_bias)
      .value("gradWeight", Operand::grad_weight)
      .value("gradBias", Operand::grad_bias)
      .value("gradScale", Operand::grad_scale)
      .value("gradShift", Operand::grad_shift);

  function("allocate(bytes)", &allocate);
  function("release(address)", &release);
  function("create_call", &create_call);
  function("destroy_call(call)", &destroy_call);
  function("set_op(call, op, backward, dtype, activation, round_normalized, unbiased)", &set_op);
  function("set_scalars(call, eps, weight_offset, momentum)", &set_scalars);
  function("set_window(call, size, alpha, beta, k)", &set_window);
  function("set_rank(call, rank)", &set_rank);
  function("set_dim(call, dim, size, reduced)", &set_dim);
  function("set_stride(call, operand, dim, stride)", &set_stride);
  function("set_remote(call, operand, remote)", &set_remote);
  function("set_tensor(call, operand, address, dtype, size)", &set_tensor);
  function("set_number(call, operand, number)", &set_number);
  function("set_none(call, operand)", &set_none);
  function("set_stage(address, bytes)", &set_stage);
  function("set_gradient(call, of, wanted, sums, data, dtype, size)", &set_gradient);
  function("run(call)", &run_call);
  function("convert(from_dtype, from, to_dtype, to, n)", &convert_elements);
}

}  // namespace layernorm
