/** Filled in by tools/build_web.js. */
declare const PACKAGE_VERSION: string;

declare module "layernorm:pieces" {
  const pieces: Record<keyof typeof import("./formulas.js").PIECES, string[]>;
  export default pieces;
}

/** A section's, with its formulas typeset. */
declare module "*.html" {
  const html: string;
  export default html;
}

/** TensorFlow.js is installed for some tests and for the build of the page alone, so types are checked without it. */
declare module "@tensorflow/tfjs-core";
declare module "@tensorflow/tfjs-backend-cpu";
declare module "@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm";
