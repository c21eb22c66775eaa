/**
 * Guarantee 2 for every forward operation, layout and element type: the bits of a run depend on nothing but itself, the
 * parameters and the options.
 */
import assert from "node:assert/strict";
import test from "node:test";
import { plan, tensor } from "../../dist/index.js";
import { assertSameBits, shared, unaligned } from "./bits.js";
import { families, familyValues, Random } from "./data.js";
import { load, roundTo, store } from "./half.js";
import {
  CONDITIONAL_KINDS,
  DTYPES,
  hasAffine,
  KINDS,
  layoutsOf,
  makeCase,
  OPERATIONS,
  ops,
} from "./operation_cases.js";
import { count, gather, isOfChannels, runsOf, scatter } from "./runs.js";

/** @typedef {import("./exact.js").DType} DType */
/** @typedef {import("./operation_cases.js").Case} Case */

/** @type {any} */
const anyPlan = plan;
const LENGTHS = [1, 3, 8, 17, 65, 130, 259];
const FAMILIES = ["normal", "mean1e4", "prefixFar", "heavySigned", "oneUlp", "secondHalfFar"];
const ACTIVATIONS = /** @type {const} */ ([null, "silu", null, "gelu", null]);

/**
 * @param {string} name of OPERATIONS
 * @param {DType} dtype
 * @param {(layout: number, turn: number) => void} visit
 */
function eachTurn(name, dtype, visit) {
  let turn = dtype.length;
  for (const l of layoutsOf(OPERATIONS[name].op, 4).keys()) {
    for (let k = 0; k < 6; k++) visit(l, turn++);
  }
}

/** @param {string} name @param {DType} dtype @param {number} l @param {number} turn @returns {Case & { where: string }} */
function caseOf(name, dtype, l, turn) {
  const { op } = OPERATIONS[name];
  const layout = layoutsOf(op, LENGTHS[turn % LENGTHS.length], 2 + (turn % 6))[l];
  const kinds = hasAffine(op) ? [...KINDS, ...CONDITIONAL_KINDS] : ["none"];
  const kind = kinds[turn % kinds.length];
  const family = FAMILIES[turn % FAMILIES.length];
  const activation = hasAffine(op) ? ACTIVATIONS[turn % ACTIVATIONS.length] : null;
  const made = makeCase({ name, layout, dtype, family, kind, activation, seed: turn });
  return {
    ...made,
    where: `${name} ${dtype} [${layout.dims}] ${layout.name} ${kind} seed ${turn}`,
  };
}

/**
 * The arrays that a call's result is made of.
 * @param {any} result
 * @returns {Record<string, any>}
 */
function partsOf(result) {
  if ("output" in result) {
    return Object.fromEntries(
      Object.entries(result).map(([key, value]) => [key, value.data ?? value]),
    );
  }
  return { output: result.data ?? result };
}

/** @param {any} got @param {any} expected @param {string} what */
function assertSameParts(got, expected, what) {
  const [a, b] = [partsOf(got), partsOf(expected)];
  assert.deepEqual(Object.keys(a), Object.keys(b), what);
  for (const key of Object.keys(b)) {
    // A Float16Array by its bits.
    const bits =
      a[key].BYTES_PER_ELEMENT === 2 &&
      new Uint16Array(a[key].buffer, a[key].byteOffset, a[key].length);
    assertSameBits(bits || a[key], b[key], `${what}: ${key}`);
  }
}

/** @param {Case} made @returns {Record<string, any>} its options, with statistics if there are any */
const withStatistics = ({ op, options }) =>
  hasAffine(op) ? { ...options, returnStats: true } : options;

for (const name of Object.keys(OPERATIONS)) {
  const { op } = OPERATIONS[name];
  for (const dtype of DTYPES) {
    test(`${name} gives the same bits streamed, in other memory, resident, planned and in place (${dtype}, seed = turn)`, () => {
      eachTurn(name, dtype, (l, turn) => {
        const made = caseOf(name, dtype, l, turn);
        const { inputs, where } = made;
        const options = withStatistics(made);
        const expected = ops[op](...inputs, options);
        const { data, dims } = inputs[0];
        for (const copy of [unaligned, shared]) {
          const copies = inputs.map((input) => ({ ...input, data: copy(input.data) }));
          assertSameParts(ops[op](...copies, options), expected, `${where} ${copy.name}`);
        }
        if (!(data instanceof Uint16Array)) {
          const flat = ops[op](...inputs.map((input) => input.data), { ...options, shape: dims });
          assertSameParts(flat, expected, `${where} flat`);
        }
        const inPlace = inputs.map((input) => ({ ...input, data: input.data.slice() }));
        const outs = { out: inPlace[0].data, ...(inputs[1] && { sumOut: inPlace[1].data }) };
        const written = partsOf(ops[op](...inPlace, { ...options, ...outs }));
        assert.equal(written.output, outs.out);
        assertSameParts({ ...partsOf(expected), ...written }, expected, `${where} in place`);

        const residents = inputs.map((input) => tensor(input));
        const fresh = ops[op](...residents, options);
        assertSameParts(fresh, expected, `${where} resident`);
        const step = anyPlan(op, ...residents, options);
        step.run();
        assertSameParts(step.run(), expected, `${where} plan`);
        step.dispose();
        const overwriting = anyPlan(op, ...residents, { ...options, out: residents[0] });
        assertSameParts(overwriting.run(), expected, `${where} plan in place`);
        overwriting.dispose();
        for (const each of [...residents, ...(fresh.dispose ? [fresh] : Object.values(fresh))])
          each.dispose();
      });
    });
  }

  for (const dtype of DTYPES) {
    test(`${name} gives a run the same bits beside other runs and at other positions (${dtype}, seed = turn)`, () => {
      eachTurn(name, dtype, (l, turn) => {
        const made = caseOf(name, dtype, l, turn);
        // What goes with an item or an element moves with them elsewhere.
        const { scale, shift, ...rest } = made.options;
        // Windows are along the channels: all of a position are taken for a run.
        const isWindow = op === "localResponseNorm";
        const along = made.setting.last ? made.setting.dims.length - 1 : 1;
        const plain = isWindow ? { ...made.setting, axes: [along] } : made.setting;
        const view = isWindow ? "layerNorm" : op;
        const { ownCount } = runsOf(view, plain);
        const perItem = [scale, shift].some((value) => value?.length > ownCount);
        const options = withStatistics({ ...made, options: perItem ? rest : made.options });
        const random = new Random(turn + 1);
        const { dims } = plain;
        const axes = plain.axes ?? [dims.length - 1];
        // Other sizes of the dimensions that are kept: of channels the parameters have their number.
        const other = dims.map((size, d) => {
          const movable = isOfChannels(view) ? d === 0 && op !== "batchNorm" : !axes.includes(d);
          return movable ? 2 + random.below(size + 5) : size;
        });
        const before = runsOf(view, plain);
        const after = runsOf(view, { ...plain, dims: other });
        const perRow =
          before.runs.length / (isOfChannels(view) && op !== "batchNorm" ? dims[0] : 1);
        const inputs = made.inputs.map((input) => {
          const data = store(new Float64Array(count(other)), dtype);
          for (const run of after.runs) {
            const family = random.pick(families(dtype));
            scatter(data, run, store(familyValues(family, dtype, run.length, random), dtype));
          }
          return { ...input, data, dims: other };
        });
        // Each run at some position; runs of channels stay with their channels.
        const places = before.runs.map((_, r) => {
          if (!isOfChannels(view)) return random.below(after.runs.length);
          return op === "batchNorm" ? r : (r % perRow) + perRow * random.below(other[0]);
        });
        const expected = partsOf(ops[op](...made.inputs, options));
        const r = random.below(before.runs.length);
        const place = places[r];
        for (const [k, input] of inputs.entries()) {
          scatter(input.data, after.runs[place], gather(made.inputs[k].data, before.runs[r]));
        }
        const got = partsOf(ops[op](...inputs, options));
        const what = `${made.where} run ${r} at ${place} of [${other}]`;
        for (const key of ["output", "sum"]) {
          if (!expected[key]) continue;
          const [a, b] = [
            gather(got[key], after.runs[place]),
            gather(expected[key], before.runs[r]),
          ];
          assertSameBits(a, b, `${what}: ${key}`);
        }
        for (const key of ["mean", "rstd"]) {
          if (expected[key])
            assert.ok(Object.is(got[key][place], expected[key][r]), `${what}: ${key}`);
        }
      });
    });
  }

  if (!op.startsWith("add")) {
    test(`${name} of 16-bit x is that of float32 x, rounded (seed = turn)`, () => {
      for (const dtype of /** @type {const} */ (["float16", "bfloat16"])) {
        eachTurn(name, dtype, (l, turn) => {
          const made = caseOf(name, dtype, l, turn);
          const options = withStatistics(made);
          const narrow = partsOf(ops[op](...made.inputs, options));
          const x = { data: made.x, dims: made.inputs[0].dims, type: "float32" };
          const wide = partsOf(ops[op](x, options));
          assertSameBits(narrow.output, store(wide.output, dtype), made.where);
          for (const key of ["mean", "rstd"]) {
            if (wide[key]) assertSameBits(narrow[key], wide[key], `${made.where}: ${key}`);
          }
        });
      }
    });
  }
}

// --- Forms that are the same ---------------------------------------------------------------------------------------------

for (const dtype of DTYPES) {
  test(`groupNorm with one group is layerNorm, with C groups instanceNorm, bit for bit (${dtype}, seed = turn)`, () => {
    for (let turn = 0; turn < 40; turn++) {
      const random = new Random(turn);
      const last = turn % 2 === 1;
      const [n, c, h, w] = [
        1 + random.below(3),
        1 + random.below(9),
        1 + random.below(12),
        1 + random.below(30),
      ];
      const dims = last ? [n, h, w, c] : [n, c, h, w];
      const layout = last ? "channels_last" : "channels_first";
      const family = random.pick(families(dtype));
      const data = store(familyValues(family, dtype, count(dims), random), dtype);
      const x = { data, dims, type: dtype };
      const vector = () => Float32Array.from({ length: c }, () => 3 * random.normal());
      const [weight, bias, scale, shift] = [vector(), vector(), vector(), vector()];
      const own = last ? [c] : [c, 1, 1];
      const where = `${family} [${dims}] ${layout} seed ${turn}`;
      const wide = (/** @type {Float32Array} */ values) => ({ data: values, dims: own });
      for (const options of /** @type {Record<string, Float32Array>[]} */ ([
        {},
        { weight, bias },
        { scale, shift },
        { weight, bias, scale, shift },
      ])) {
        const broad = Object.fromEntries(Object.entries(options).map(([k, v]) => [k, wide(v)]));
        const rest = { activation: turn % 3 === 0 ? "gelu" : null, returnStats: true };
        const one = ops.groupNorm(x, { numGroups: 1, layout, ...options, ...rest });
        const layer = ops.layerNorm(x, { axis: 1, ...broad, ...rest });
        assertSameParts(one, layer, `${where} ${Object.keys(options)}`);
        const each = ops.groupNorm(x, { numGroups: c, layout, ...options, ...rest });
        const instance = ops.instanceNorm(x, { layout, ...options, ...rest });
        assertSameParts(each, instance, `${where} ${Object.keys(options)} instances`);
        assert.deepEqual(each.mean.dims, instance.mean.dims);
        const spatial = last ? [1, 2] : [2, 3];
        if (!options.weight && !options.scale) {
          assertSameParts(ops.layerNorm(x, { axes: spatial, ...rest }), instance, `${where} axes`);
        }
      }
      assertSameParts(ops.lpNormalize(x, { p: 2 }), ops.l2Normalize(x), where);
    }
  });

  test(`add forms have the bits of their parts in turn (${dtype}, seed = turn)`, () => {
    for (const name of ["addLayerNorm", "addRmsNorm", "addGroupNorm"]) {
      eachTurn(name, dtype, (l, turn) => {
        const made = caseOf(name, dtype, l, turn);
        const { gate, sumBias, ...rest } = made.options;
        const fused = partsOf(ops[name](...made.inputs, { ...made.options, returnStats: true }));
        assertSameBits(load(fused.sum, dtype), made.x, `${made.where}: sum`);
        const part = `${name[3].toLowerCase()}${name.slice(4)}`;
        const sum = { ...made.inputs[0], data: fused.sum };
        const { sum: _, ...others } = fused;
        assertSameParts(others, ops[part](sum, { ...rest, returnStats: true }), made.where);
      });
    }
  });
}

test("all operations give the same bits for a parameter of any element type that holds its values", () => {
  for (const name of Object.keys(OPERATIONS)) {
    const { op } = OPERATIONS[name];
    if (!hasAffine(op)) continue;
    const layout = layoutsOf(op, 17)[0];
    const made = makeCase({
      name,
      layout,
      dtype: "float32",
      family: "normal",
      kind: "all",
      seed: 3,
    });
    const rounded = { ...made.options };
    for (const key of ["weight", "bias", "scale", "shift"]) {
      rounded[key] = made.options[key].map((/** @type {number} */ v) =>
        roundTo(roundTo(v, "bfloat16"), "float16"),
      );
    }
    const expected = ops[op](...made.inputs, rounded);
    for (const type of DTYPES) {
      const given = { ...rounded };
      for (const key of ["weight", "bias", "scale", "shift"]) {
        given[key] = { data: store(rounded[key], type), dims: [rounded[key].length], type };
      }
      assertSameParts(ops[op](...made.inputs, given), expected, `${name} ${type}`);
    }
  }
});

test("instanceNorm gives a channel the same bits whatever its neighbours' weights", () => {
  // Large weights have their runs' sums taken with more care.
  const weight = [1.5, 7, 0.5, -3, 1, 6, 0.25, 2.5];
  const n = 1000;
  const x = familyValues("normal", "float32", weight.length * n, new Random(1));
  const whole = ops.instanceNorm(x, { shape: [1, weight.length, n], weight: [...weight] });
  for (const [c, each] of weight.entries()) {
    const own = x.slice(c * n, (c + 1) * n);
    const alone = ops.instanceNorm(own, { shape: [1, 1, n], weight: [each] });
    assertSameBits(whole.slice(c * n, (c + 1) * n), alone, `channel ${c}`);
  }
});

/**
 * Normalizes [outer, channels, inner] over all but the channels, or per item, with weights that differ from channel to channel.
 *
 * @type {Record<string, (x: Float32Array, shape: number[], weight: Float32Array) => Float32Array>}
 */
const BY_CHANNEL = {
  "batchNorm in training": (x, shape, weight) =>
    ops.batchNorm(x, { shape, weight, training: true }),
  "layerNorm over the leading dimension": (x, shape, weight) =>
    ops.layerNorm(x, { shape, axes: [0], weight: { data: weight, dims: [1, shape[1], 1] } }),
  "instanceNorm, channels last": (x, [outer, channels, inner], weight) =>
    ops.instanceNorm(x, { shape: [1, outer * inner, channels], weight, layout: "channels_last" }),
};

for (const [name, normalize] of Object.entries(BY_CHANNEL)) {
  test(`${name} gives a channel the same bits whatever others weigh, and however many they are`, () => {
    for (const [outer, channels, inner] of [
      [100, 40, 1],
      [70, 600, 1],
      [70, 70_000, 1],
      [9, 33, 16],
    ]) {
      const last = name.endsWith("channels last");
      if (last && inner !== 1) continue;
      const random = new Random(outer + channels);
      const x = Float32Array.from(
        familyValues("normal", "float32", outer * channels * inner, random),
      );
      const weight = Float32Array.from({ length: channels }, (_, c) => [1.5, 0.5, -3, 6][c % 4]);
      const whole = normalize(x, [outer, channels, inner], weight);
      for (const first of [0, 17, channels - 9]) {
        const count = 9;
        const own = /** @param {Float32Array} of */ (of) =>
          Float32Array.from({ length: outer * count * inner }, (_, i) => {
            const row = Math.floor(i / (count * inner));
            return of[row * channels * inner + first * inner + (i % (count * inner))];
          });
        const weights = weight.slice(first, first + count);
        const alone = normalize(own(x), [outer, count, inner], weights);
        assertSameBits(own(whole), alone, `[${outer}, ${channels}, ${inner}] from ${first}`);
      }
    }
  });
}
