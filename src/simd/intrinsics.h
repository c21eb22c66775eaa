// wasm SIMD intrinsics, natively through SIMDe, so that native tests check the bits that ship.
#ifndef LAYERNORM_SIMD_INTRINSICS_H_
#define LAYERNORM_SIMD_INTRINSICS_H_

#ifdef __wasm_simd128__
#include <wasm_simd128.h>
#else
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/wasm/simd128.h>
#endif

#endif  // LAYERNORM_SIMD_INTRINSICS_H_
