// Broadcasting of a parameter to the normalized dimensions, by copies of its elements.
import { count, type Dims } from "./dims.js";
import { DTYPES } from "./dtypes.js";
import { flatOperand, type Operand } from "./operands.js";
import { stateOf } from "./tensor.js";

/** A settled operand of dimensions `from` as one of dimensions `to`, or undefined if it does not broadcast to them. */
export function expandTo(operand: Operand, from: Dims, to: Dims): Operand | number | undefined {
  const shift = to.length - from.length;
  if (from.some((dim, i) => dim !== 1 && dim !== to[shift + i])) return undefined;
  const size = count(to);
  if (operand.size === size) return operand;
  const source =
    operand.array ?? stateOf(operand.tensor!)!.owner.block!.backend.elementsOf(operand);
  if (source.length === 1) return source[0]!;

  const target = DTYPES[operand.dtype].create(size);
  // Strides of the source along each of the dimensions; 0 where it repeats.
  const strides = new Array<number>(to.length).fill(0);
  let stride = 1;
  for (let d = from.length - 1; d >= 0; d--) {
    if (from[d] !== 1) strides[shift + d] = stride;
    stride *= from[d]!;
  }
  for (let i = 0; i < size; i++) {
    let rest = i;
    let at = 0;
    for (let d = to.length - 1; d >= 0; d--) {
      at += (rest % to[d]!) * strides[d]!;
      rest = Math.floor(rest / to[d]!);
    }
    target[i] = source[at]!;
  }
  const expanded = flatOperand(operand.dtype, target);
  expanded.size = size;
  return expanded;
}
