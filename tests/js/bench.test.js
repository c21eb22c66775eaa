import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { CONTENDERS } from "../bench/contenders/index.js";
import { copyModule } from "../bench/copy_module.js";
import { decoded, encoded } from "../bench/dtypes.js";
import { exactnessMarkdown, replaceBlock, speedMarkdown } from "../bench/markdown.js";
import { normModel } from "../bench/onnx_norms.js";
import { faultOf, referenceOf } from "../bench/reference.js";
import { exactnessText, speedText } from "../bench/report.js";
import { median, quantile } from "../bench/stats.js";
import { speedSvg } from "../bench/svg.js";
import { MATRICES, MODELS, makeTask, specOf } from "../bench/tasks.js";

/** @type {import("../bench/suite.js").Result[]} */
const RESULTS = [
  { id: "plan", ms: 0.0002, lowMs: 0.00019, highMs: 0.00021, samples: 30, gbps: 30.72 },
  { id: "out", ms: 0.002, lowMs: 0.0019, highMs: 0.0021, samples: 30, gbps: 3.072 },
  { id: "memory.copy", ms: 0.00004, lowMs: 0.00004, highMs: 0.00004, samples: 30, gbps: 153.6 },
  { id: "onnxruntime-web", ms: 0.05, lowMs: 0.04, highMs: 0.06, samples: 30, gbps: 0.12288 },
  { id: "tfjs-layer", fault: "no such layer" },
];

/** @type {import("../bench/report.js").Report} */
const report = {
  date: "2026-01-31",
  command: "npm run bench",
  quick: false,
  machine: { cpu: "Some <CPU>", cores: 2, memoryGiB: 8, system: "Linux x64", engine: "Node.js 20" },
  contenders: [
    { id: "plan", name: "layernorm, plan", version: "0.1.0", detail: "plan.run()" },
    {
      id: "out",
      name: "layernorm, typed arrays with out",
      column: "layernorm",
      version: "0.1.0",
      detail: "reused",
    },
    { id: "memory.copy", name: "memory.copy", detail: "the same bytes" },
    {
      id: "onnxruntime-web",
      name: "onnxruntime-web",
      column: "onnxruntime-web",
      version: "1.30.0",
      detail: "session.run",
    },
    { id: "tfjs-layer", name: "TensorFlow.js, layer", version: "4.22.0", detail: "dataSync" },
  ],
  speed: [
    specOf({ operation: "layerNorm", dims: [1, 768] }),
    specOf({ operation: "rmsNorm", dims: [1, 768] }),
    specOf({ id: "batch", operation: "batchNorm", dims: [8, 64, 56, 56] }),
  ].map((spec) => ({ ...spec, results: RESULTS })),
  exactness: [
    {
      operation: "layerNorm",
      name: "mean 1e4, deviation 1",
      eps: 0,
      results: [
        { id: "out", max: 4.7e-7, inEps: 1.18 },
        { id: "onnxruntime-web", fault: "NaN" },
      ],
    },
  ],
};

test("speedMarkdown has a row for each contender, ratios, and the reason of a gap", () => {
  const text = speedMarkdown(report, report, "speed.svg");
  const lines = text.split("\n");
  assert.ok(lines.includes("| GB/s | 1x768 |"));
  assert.ok(lines.includes("| **layernorm, plan** | 30.7 |"));
  assert.ok(lines.includes("| onnxruntime-web 1.30.0 | 0.123 |"));
  assert.ok(lines.includes("| TensorFlow.js 4.22.0, layer | – |"));
  assert.ok(lines.includes("TensorFlow.js, layer: no such layer."));
  assert.ok(lines.includes("| _plan, of memory.copy_ | 0.200 |"));
  assert.ok(lines.includes("| _plan, times onnxruntime-web_ | 250 |"));
  // Without a plain loop in the report.
  assert.ok(lines.includes("| _typed arrays with out, times plain JavaScript_ | – |"));
  assert.match(text, /Some <CPU>, 2 cores, Linux x64, Node\.js 20, 2026-01-31, `npm run bench`/);
  assert.match(text, /!\[[^\]]+\]\(speed\.svg\)/);
});

test("speedMarkdown has the shapes of models as rows: ratios, all speeds, and the reason of a gap", () => {
  const lines = speedMarkdown(report, null, "speed.svg").split("\n");
  const name = "BatchNorm 8x64x56x56, inference";
  assert.ok(lines.includes(`| ${name} | 30.7 | 0.200 | 3.07 | – | 25.0 | – | – | – |`));
  assert.ok(lines.includes(`| ${name} | 30.7 | 3.07 | 154 | 0.123 | – |`));
});

test("exactnessMarkdown has a column for each contender and shows what is not finite", () => {
  const lines = exactnessMarkdown(report).split("\n");
  assert.ok(lines.includes("|  | layernorm | onnxruntime-web |"));
  assert.ok(lines.includes("| LayerNorm, mean 1e4, deviation 1, eps 0 | 4.7e-7 (1.18) | NaN |"));
});

test("replaceBlock replaces what stands between the markers, and only that", () => {
  const document = "a\n<!-- bench:speed -->\nold\n<!-- /bench:speed -->\nb\n";
  const once = replaceBlock(document, "speed", "new");
  assert.equal(once, "a\n<!-- bench:speed -->\n\nnew\n\n<!-- /bench:speed -->\nb\n");
  assert.equal(replaceBlock(once, "speed", "new"), once);
  assert.throws(() => replaceBlock(document, "exactness", "new"), /bench:exactness/);
});

test("speedSvg is an SVG with a mark for each result and escaped text", () => {
  const svg = speedSvg(report, "layerNorm");
  assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" [^>]+>\n/);
  assert.match(svg, /<\/svg>\n$/);
  assert.match(svg, /<title>plan, 1x768: 30\.7 GB\/s<\/title>/);
  assert.doesNotMatch(svg, /tfjs-layer/);
  assert.doesNotMatch(svg, /Some <CPU>/);
  assert.doesNotMatch(svg, /NaN|undefined|Infinity/);
  assert.match(svg, /prefers-color-scheme: dark/);
});

test("the terminal's tables show figures and faults", () => {
  const text = speedText(report.speed[0], report.contenders);
  assert.match(text, /^LayerNorm 1x768 \(0\.00614 MB/);
  assert.match(text, /layernorm, plan +2\.0e-4 +1\.9e-4 - 2\.1e-4 +30\.7 +0\.200 +250 +30/);
  assert.match(text, /TensorFlow\.js, layer: no such layer/);
  const exactness = exactnessText(report.exactness ?? [], report.contenders);
  assert.match(exactness, /LayerNorm, mean 1e4, deviation 1, eps 0 +4\.7e-7 \(1\.18\) +NaN/);
});

test("quantile interpolates, and does not sort its argument", () => {
  const samples = [4, 1, 3, 2];
  assert.equal(median(samples), 2.5);
  assert.equal(quantile(samples, 0), 1);
  assert.equal(quantile(samples, 1), 4);
  assert.equal(quantile(samples, 0.25), 1.75);
  assert.deepEqual(samples, [4, 1, 3, 2]);
});

test("faultOf accepts rounding and names what is wrong", () => {
  const [reference] = referenceOf(makeTask(specOf({ operation: "layerNorm", dims: [2, 5] }), 1));
  const got = Float32Array.from(reference);
  assert.equal(faultOf(got, reference), null);
  got[3] += 0.01;
  assert.match(faultOf(got, reference) ?? "", /^element 3 is /);
  got[3] = Number.NaN;
  assert.match(faultOf(got, reference) ?? "", /^element 3 is NaN/);
  assert.match(faultOf(new Float32Array(1), reference) ?? "", /^1 values instead of 10$/);
});

test("16-bit types are rounded to nearest, ties to even", () => {
  const values = Float32Array.of(1, 1 + 2 ** -11, 1 + 3 * 2 ** -11, -65504, 2 ** -24, 3 * 2 ** -25);
  const halves = encoded(values, "float16");
  assert.deepEqual([...halves], [0x3c00, 0x3c00, 0x3c02, 0xfbff, 1, 2]);
  assert.deepEqual(
    [...decoded(halves, "float16")],
    [1, 1, 1 + 2 ** -9, -65504, 2 ** -24, 2 ** -23],
  );
  const bfloats = encoded(Float32Array.of(-2, 1 + 2 ** -8, 1 + 3 * 2 ** -8), "bfloat16");
  assert.deepEqual([...bfloats], [0xc000, 0x3f80, 0x3f82]);
  assert.deepEqual([...decoded(bfloats, "bfloat16")], [-2, 1, 1 + 2 ** -6]);
});

/** @param {import("../bench/tasks.js").Spec} spec @returns {import("../bench/tasks.js").Spec} */
function smaller(spec) {
  const dims = spec.dims.map((length, axis) => Math.min(length, 2 + 2 * axis));
  const { numGroups } = spec.options;
  return { ...spec, dims, options: { ...spec.options, ...(numGroups && { numGroups: 2 }) } };
}

for (const spec of [MATRICES[1], MATRICES[8], ...MODELS]) {
  test(`the benchmark's loops and the package agree with its reference: ${spec.id}`, async () => {
    const task = makeTask(smaller(spec), 1);
    const reference = referenceOf(task);
    for (const contender of CONTENDERS.filter(({ kind }) => kind !== "peer")) {
      if (contender.copies || contender.applies?.(spec) === false) continue;
      const prepared = await contender.prepare(task);
      const outputs = await prepared.read(prepared.run());
      assert.equal(outputs.length, reference.length);
      reference.forEach((expected, i) => {
        const fault = faultOf(decoded(outputs[i], spec.dtype), expected, spec.dtype);
        assert.equal(fault, null, contender.id);
      });
      prepared.dispose?.();
    }
  });
}

/** @param {Uint8Array} bytes */
function hashOf(bytes) {
  return createHash("sha256").update(bytes).digest("hex").slice(0, 16);
}

test("normModel gives the same bytes for the same model", () => {
  const values = { weight: Float32Array.of(1, 2, 3, 4), bias: Float32Array.of(1, 2, 3, 4) };
  const layer = { ...specOf({ operation: "layerNorm", dims: [2, 4] }), eps: 1e-5, values };
  const options = { numGroups: 2, activation: /** @type {const} */ ("silu") };
  const group = {
    ...specOf({ operation: "groupNorm", dims: [2, 4, 3], options }),
    eps: 1e-5,
    values,
  };
  assert.deepEqual([layer, group].map(normModel).map(hashOf), [
    "8e22fa1b970f00cf",
    "480784489e6a32ab",
  ]);
});

test("copyModule copies by memory.copy and by vectors", async () => {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const { instance } = await WebAssembly.instantiate(copyModule(), { bench: { memory } });
  for (const name of ["copy", "simd_copy"]) {
    const bytes = new Uint8Array(memory.buffer);
    bytes.fill(0);
    for (let i = 0; i < 192; i++) bytes[64 + i] = i + 1;
    /** @type {any} */ (instance.exports)[name](1024, 64, 192);
    assert.deepEqual(bytes.slice(1024, 1024 + 192), bytes.slice(64, 64 + 192), name);
    assert.equal(bytes[1023], 0);
    assert.equal(bytes[1024 + 192], 0);
  }
});
