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
