// Views in pieces that bindings can hold, and what of each operand a piece touches.

/** One dimension of a view, from the outermost: strides count elements. */
export interface Axis {
  readonly size: number;
  readonly reduced: boolean;
}

/** A part of a view: along each dimension from `begin` on `size` indices. */
export interface Box {
  readonly begin: readonly number[];
  readonly size: readonly number[];
}

/** An operand as far as its reach matters: its offset and its strides along the view. */
export interface Reach {
  readonly bytes: number;
  readonly strides: readonly number[];
  /** Elements beyond the last index that are touched too. */
  readonly tail?: number;
}

/** The first element of an operand in a box, and the one behind the last. */
export function reachIn({ strides, tail = 0 }: Reach, { begin, size }: Box): [number, number] {
  let first = 0;
  let last = 0;
  for (let d = 0; d < begin.length; d++) {
    first += begin[d]! * strides[d]!;
    last += (begin[d]! + size[d]! - 1) * strides[d]!;
  }
  return [first, last + 1 + tail];
}

/** Boxes that make up a view, in order, of which no operand touches more than `most` bytes; undefined if one element does. */
export function slabsOf(
  view: readonly Axis[],
  reaches: readonly Reach[],
  most: number,
): Box[] | undefined {
  const fits = (box: Box) =>
    reaches.every((reach) => {
      const [first, last] = reachIn(reach, box);
      return (last - first) * reach.bytes <= most;
    });
  const split = (box: Box, d: number): Box[] | undefined => {
    if (fits(box)) return [box];
    if (d === view.length) return undefined;
    const part = (begin: number, size: number): Box => ({
      begin: box.begin.map((each, i) => (i === d ? begin : each)),
      size: box.size.map((each, i) => (i === d ? size : each)),
    });
    const size = view[d]!.size;
    // The most indices of this dimension that fit, in multiples of 64 where there are as many: rows stay aligned.
    let count = 0;
    for (let step = 2 ** Math.floor(Math.log2(size)); step >= 1; step /= 2) {
      if (count + step <= size && fits(part(0, count + step))) count += step;
    }
    if (count >= 64) count -= count % 64;
    const boxes: Box[] = [];
    for (let begin = 0; begin < size; begin += Math.max(1, count)) {
      const pieces = split(part(begin, Math.min(Math.max(1, count), size - begin)), d + 1);
      if (pieces === undefined) return undefined;
      boxes.push(...pieces);
    }
    return boxes;
  };
  return split({ begin: view.map(() => 0), size: view.map(({ size }) => size) }, 0);
}
