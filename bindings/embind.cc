// The raw module: names and numbers only. Loops, defaults and messages stand in the core or in TypeScript.
//
// Addresses are in bytes, sizes in elements. A call is an object in wasm memory that stands for one descriptor: set it
// up, then run it as often as wanted. JavaScript's side has checked everything before it comes here.
#include <emscripten/bind.h>

#include "layernorm/layernorm.h"
#include "memory.h"

namespace layernorm {
namespace {

// The descriptor with the stream that may be under way for it.
struct BoundCall {
  Call call;
  RunStream stream{call};
};

// The operands that are tensors; the order is that of the public functions' arguments.
enum class Operand : uint8_t { x, weight, bias, y, mean, rstd };

Call& call_at(uintptr_t handle) { return reinterpret_cast<BoundCall*>(handle)->call; }
RunStream& stream_at(uintptr_t handle) { return reinterpret_cast<BoundCall*>(handle)->stream; }

Parameter& parameter(Call& call, Operand operand) { return operand == Operand::weight ? call.weight : call.bias; }

uintptr_t create_call() { return reinterpret_cast<uintptr_t>(create<BoundCall>()); }
void destroy_call(uintptr_t handle) { destroy(reinterpret_cast<BoundCall*>(handle)); }

void set_dims(uintptr_t handle, Op op, DType dtype, size_t outer, size_t channels) {
  Call& call = call_at(handle);
  call.op = op;
  call.dtype = dtype;
  call.outer = outer;
  call.channels = channels;
}

void set_scalars(uintptr_t handle, double eps, double weight_offset) {
  call_at(handle).eps = eps;
  call_at(handle).weight_offset = weight_offset;
}

// dtype and size are read for weight and bias only: x and y have the call's, the statistics are float64.
void set_tensor(uintptr_t handle, Operand operand, uintptr_t address, DType dtype, size_t size) {
  Call& call = call_at(handle);
  switch (operand) {
    case Operand::x:
      call.x = reinterpret_cast<const void*>(address);
      break;
    case Operand::y:
      call.y = reinterpret_cast<void*>(address);
      break;
    case Operand::mean:
      call.mean = reinterpret_cast<double*>(address);
      break;
    case Operand::rstd:
      call.rstd = reinterpret_cast<double*>(address);
      break;
    case Operand::weight:
    case Operand::bias: {
      Parameter& target = parameter(call, operand);
      target.kind = Parameter::Kind::vector;
      target.dtype = dtype;
      target.data = reinterpret_cast<const void*>(address);
      target.size = size;
      break;
    }
  }
}

void set_number(uintptr_t handle, Operand operand, double number) {
  parameter(call_at(handle), operand) = Parameter(number);
}

void set_none(uintptr_t handle, Operand operand) { parameter(call_at(handle), operand) = Parameter(); }

void run_call(uintptr_t handle) { run(call_at(handle)); }

void stream_begin(uintptr_t handle) { stream_at(handle) = RunStream(call_at(handle)); }
void stream_add(uintptr_t handle, size_t n) { stream_at(handle).add(call_at(handle).x, n); }
bool stream_next_pass(uintptr_t handle) { return stream_at(handle).next_pass(); }
void stream_write(uintptr_t handle, size_t n) {
  const Call& call = call_at(handle);
  stream_at(handle).write(call.x, call.weight, call.bias, call.y, n);
}
double stream_mean(uintptr_t handle) { return stream_at(handle).mean(); }
double stream_rstd(uintptr_t handle) { return stream_at(handle).rstd(); }

}  // namespace

EMSCRIPTEN_BINDINGS(layernorm) {
  using emscripten::enum_;
  using emscripten::enum_value_type;
  using emscripten::function;

  enum_<DType>("DType", enum_value_type::number).value("float32", DType::float32).value("float64", DType::float64);
  enum_<Op>("Op", enum_value_type::number)
#define LAYERNORM_OP(name) .value(#name, Op::name)
#include "layernorm/ops.def"
#undef LAYERNORM_OP
      ;
  enum_<Operand>("Operand", enum_value_type::number)
      .value("x", Operand::x)
      .value("weight", Operand::weight)
      .value("bias", Operand::bias)
      .value("y", Operand::y)
      .value("mean", Operand::mean)
      .value("rstd", Operand::rstd);

  function("allocate(bytes)", &allocate);
  function("release(address)", &release);
  function("create_call", &create_call);
  function("destroy_call(call)", &destroy_call);
  function("set_dims(call, op, dtype, outer, channels)", &set_dims);
  function("set_scalars(call, eps, weight_offset)", &set_scalars);
  function("set_tensor(call, operand, address, dtype, size)", &set_tensor);
  function("set_number(call, operand, number)", &set_number);
  function("set_none(call, operand)", &set_none);
  function("run(call)", &run_call);
  function("stream_begin(call)", &stream_begin);
  function("stream_add(call, n)", &stream_add);
  function("stream_next_pass(call)", &stream_next_pass);
  function("stream_write(call, n)", &stream_write);
  function("stream_mean(call)", &stream_mean);
  function("stream_rstd(call)", &stream_rstd);
}

}  // namespace layernorm
