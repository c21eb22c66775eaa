// The view of x that kernels see, and the strides of parameters over it.
import { count, type Dims } from "./dims.js";
import type { Geometry } from "./geometry.js";
import { type Placed, RUN, range, stridesAlong, WHOLE } from "./parameters.js";

/** One dimension of the view, kept or reduced. A run is all values that share the indices of the kept dimensions. */
export interface ViewDim {
  readonly size: number;
  readonly reduced: boolean;
}

export type View = readonly ViewDim[];

const kept = (size: number): ViewDim => ({ size, reduced: false });
const reduced = (size: number): ViewDim => ({ size, reduced: true });

// The plain view that was made last: calls in a loop have the same.
let plainRuns = 0;
let plainCount = 1;
let plain: View = [kept(0)];

const ALONG_BOTH: Dims = [0, 1];
const ALONG_ONE: Dims = [1];

/** The view for a geometry; gives each of the placed operands its strides over it. */
export function makeView(g: Geometry, size: number, placed: readonly Placed[]): View {
  if (g.lead < 0) return mergedView(g, placed);
  for (const { strides } of placed) {
    if (strides !== RUN && strides !== WHOLE) return mergedView(g, placed);
  }
  const channels = g.count;
  const runs = size / channels;
  if (runs !== plainRuns || channels !== plainCount) {
    plainRuns = runs;
    plainCount = channels;
    plain = runs === 1 ? [reduced(channels)] : [kept(runs), reduced(channels)];
  }
  for (const each of placed) {
    if (plain.length === 2) each.strides = each.strides === RUN ? ALONG_BOTH : [channels, 1];
    else each.strides = ALONG_ONE;
  }
  return plain;
}

/** Outer dimensions, channels and inner dimensions, as localResponseNorm's kernel wants them. */
export function windowView({ dims, channel }: Geometry): View {
  return [
    kept(count(dims.slice(0, channel))),
    reduced(dims[channel]!),
    kept(count(dims, channel + 1)),
  ];
}

// Neighbours that are both kept or both reduced become one where all strides allow it; dimensions of size 1 go.
function mergedView(g: Geometry, placed: readonly Placed[]): View {
  const { lead, channel, groups } = g;
  const dims: ViewDim[] = g.dims.map((size, i) => ({
    size,
    reduced: lead >= 0 ? i >= lead : g.reduced[i]!,
  }));
  const all = placed.map(({ strides }) => {
    if (strides === WHOLE) return stridesAlong(g.dims, range(0, dims.length));
    if (strides === RUN) return stridesAlong(g.dims, range(lead, dims.length));
    return [...strides];
  });
  if (groups !== 0) {
    const size = dims[channel]!.size / groups;
    dims.splice(channel, 1, kept(groups), reduced(size));
    for (const strides of all) {
      const step = strides[channel]!;
      strides.splice(channel, 1, step * size, step);
    }
  }
  const view: ViewDim[] = [];
  const merged: number[][] = all.map(() => []);
  for (const [i, dim] of dims.entries()) {
    const { size } = dim;
    if (size === 1) continue;
    const last = view.at(-1);
    const joins =
      last?.reduced === dim.reduced &&
      all.every((strides, k) => merged[k]!.at(-1) === strides[i]! * size);
    if (joins) view.pop();
    view.push(joins ? { size: last!.size * size, reduced: dim.reduced } : dim);
    for (const [k, strides] of all.entries()) merged[k]![view.length - 1] = strides[i]!;
  }
  // Runs of one value are runs, and their values side by side.
  if (!view.some((dim) => dim.reduced)) {
    view.push(reduced(1));
    for (const strides of merged) strides.push(0);
  }
  for (const [k, each] of placed.entries()) each.strides = merged[k]!;
  return view;
}
