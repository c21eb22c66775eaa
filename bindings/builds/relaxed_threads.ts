// The build for both.
export { default as createGlue } from "../generated/relaxed_threads/glue.js";
export { default as text } from "../generated/relaxed_threads/wasm_text.js";
