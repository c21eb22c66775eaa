// What entries beside `layernorm` call. They take it from one object, so that the bundler puts all of it in the one file that
// the entries share: else there would be a file for each set of entries that use some part of it, and `layernorm` would load
// them all.
import { call, callBackward } from "./call.js";
import * as create from "./create.js";
import { plan } from "./plan.js";

export const shared = {
  call,
  callBackward,
  copyToTensor: create.copyToTensor,
  tensor: create.tensor,
  zeros: create.zeros,
  plan,
};
