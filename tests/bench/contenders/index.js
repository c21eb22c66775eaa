/** All contenders, in the order of the tables. */

import { inBrowser } from "./contender.js";
import { memoryCopy, simdCopy } from "./copy.js";
import { jaxJs } from "./jax_js.js";
import { layernormNew, layernormOut, layernormPlan, layernormPlan32 } from "./layernorm.js";
import { onnxruntimeNode, onnxruntimeWeb } from "./onnxruntime.js";
import { outParts, planParts } from "./parts.js";
import { plainJs } from "./plain_js.js";
import { tfjsLayer, tfjsOps } from "./tfjs.js";

/** @type {readonly import("./contender.js").Contender[]} */
export const CONTENDERS = [
  layernormPlan,
  layernormOut,
  layernormNew,
  layernormPlan32,
  planParts,
  outParts,
  memoryCopy,
  simdCopy,
  plainJs,
  onnxruntimeWeb,
  onnxruntimeNode,
  tfjsLayer,
  tfjsOps,
  jaxJs,
].filter(({ nodeOnly }) => !(nodeOnly && inBrowser));
