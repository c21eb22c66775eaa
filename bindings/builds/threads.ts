// The build for threads, over shared memory.
export { default as createGlue } from "../generated/threads/glue.js";
export { default as text } from "../generated/threads/wasm_text.js";
