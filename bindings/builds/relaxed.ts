// The build for relaxed SIMD.
export { default as createGlue } from "../generated/relaxed/glue.js";
export { default as text } from "../generated/relaxed/wasm_text.js";
