// Stand-ins for parts of Emscripten's libraries that would bring more than the module uses: 2 KB after gzip.
#include <emscripten/bind.h>

using emscripten::internal::InitFunc;
using emscripten::internal::TypeID;

namespace {

InitFunc* registered = nullptr;

template <class T>
void register_integer(const char* name) {
  emscripten::internal::_embind_register_integer(TypeID<T>::get(), name, sizeof(T), std::numeric_limits<T>::min(),
                                                 std::numeric_limits<T>::max());
}

}  // namespace

// In place of Embind's bind.cpp, which registers every type of C++, strings, views and JavaScript's values: the types that the
// functions of embind.cc and team.cc have, beside enumerations.
EMSCRIPTEN_BINDINGS(types) {
  emscripten::internal::_embind_register_void(TypeID<void>::get(), "void");
  emscripten::internal::_embind_register_bool(TypeID<bool>::get(), "bool", true, false);
  emscripten::internal::_embind_register_float(TypeID<double>::get(), "double", sizeof(double));
  register_integer<int>("int");
  register_integer<unsigned>("unsigned int");
  register_integer<unsigned long>("unsigned long");
}

extern "C" {

void _embind_register_bindings(InitFunc* function) {
  function->next = registered;
  registered = function;
}

// Of another thread, which would register all again: ours have no Embind.
void _embind_initialize_bindings() {}

// For the message about a type that is not registered.
const char* __getTypeName(const std::type_info*) { return nullptr; }

// Would print before it stops.
void __cxa_pure_virtual() { __builtin_trap(); }
}
