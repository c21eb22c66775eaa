// What is written must stand apart from what is read, but for a whole operand that is normalized in place.
import { bufferOf, byteOffsetOf, DTYPES } from "./dtypes.js";
import { wrongValue } from "./errors.js";
import type { Operand } from "./operands.js";
import { stateOf } from "./tensor.js";

/** Throws where a settled operand that is written overlaps another; `inPlace` names those that may be itself. */
export function rejectOverlap(
  where: string,
  name: string,
  written: Operand,
  memory: object,
  otherName: string,
  other: Operand,
  inPlace: readonly string[],
): void {
  if (memoryOf(other) !== memory || written.size === 0 || other.size === 0) return;
  const begin = beginOf(written);
  const otherBegin = beginOf(other);
  const end = begin + bytesOf(written);
  const otherEnd = otherBegin + bytesOf(other);
  if (otherEnd <= begin || end <= otherBegin) return;
  const same = begin === otherBegin && end === otherEnd && written.dtype === other.dtype;
  if (same && inPlace.includes(otherName)) return;
  const itself = inPlace.length === 0 ? "" : `${inPlace.join(" or ")} itself or `;
  throw wrongValue(where, name, `${itself}memory apart`, `an overlap with "${otherName}"`);
}

/** The buffer in which a settled operand stands. */
export function memoryOf({ array, tensor, memory }: Operand): object {
  if (memory !== undefined) return memory;
  return array === undefined ? stateOf(tensor!)!.owner.block!.backend.buffer : bufferOf(array);
}

function beginOf({ array, address }: Operand): number {
  return array === undefined ? address : byteOffsetOf(array);
}

function bytesOf({ size, dtype }: Operand): number {
  return size * DTYPES[dtype].bytes;
}
