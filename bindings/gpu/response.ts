// localResponseNorm, which normalizes no runs.
import type { Descriptor } from "../descriptor.js";
import type { Emitter } from "./emitter.js";
import type { Axis } from "./slabs.js";
import { Uniform } from "./uniform.js";
import { denseStrides, elementwise, items, type Memory, type Operands, product } from "./uses.js";

export function respond(e: Emitter, d: Descriptor, at: Operands): void {
  const { view } = d;
  const { size, alpha, beta, k } = d.window!;
  const strides = denseStrides(view);
  // A value is read again for its neighbours: in place it would be gone.
  const inPlace = at.x.buffer === at.y.buffer;
  const target: Memory = inPlace
    ? e.scratch("response", product(view.map((axis) => axis.size)), at.y.dtype)
    : at.y;
  const constants = new Uniform(undefined, []);
  const high = Math.fround(Math.round(-beta * 2048) / 2048);
  constants.setFloat("window", alpha / size, 0).setFloat("window", k, 1);
  constants.setFloat("window", high, 2).setFloat("window", -beta - high, 3);
  const channels = view[1]!.size;
  const below = Math.floor((size - 1) / 2);
  constants
    .set("below", Math.min(below, channels))
    .set("above", Math.min(size - 1 - below, channels));
  constants.set("channels", channels).set("inner", view[2]!.size);
  e.emit({
    ...elementwise(view),
    kernel: "local_response_kernel",
    cuts: 1,
    uses: [
      { name: "x", memory: at.x, strides, role: "x", base: "x" },
      { name: "y", memory: target, strides, role: "y", base: "y", written: true },
    ],
    constants,
    make: (box, quads) => items(box, quads, ["moments"], {}, target),
  });
  if (!inPlace) return;
  const whole: Axis[] = [{ size: product(view.map((axis) => axis.size)), reduced: false }];
  e.emit({
    ...elementwise(whole),
    kernel: "copy_kernel",
    uses: [
      { name: "x", memory: target, strides: [1], role: "x", base: "x" },
      { name: "y", memory: at.y, strides: [1], role: "y", base: "y", written: true },
    ],
    constants,
    make: (box, quads) => items(box, quads, [], {}, at.y),
  });
}
