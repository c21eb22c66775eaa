/** @type {import("./entries.js").Context} */
export const context = {
  load: (name) => import(name),
  wasm: { url: new URL("../../node_modules/layernorm/dist/layernorm.wasm", import.meta.url) },
};
