// The wasm that `layernorm` carries, layernorm.wasm as text.
export { default as inlined } from "./generated/wasm_text.js";
