/** Conformance cases that others wrote (tests/golden/README.md), on a GPU. */
import test, { after } from "node:test";
import { WebGpuNorm } from "../../dist/webgpu.js";
import { assertClose, callOf, golden, OPERATORS } from "../js/onnx_cases.js";
import { adapter, skip } from "./adapter.js";

const norm = /** @type {any} */ (skip ? undefined : await WebGpuNorm.create({ adapter }));
after(() => norm?.dispose());

/** @param {any} like @returns {any} */
const upload = (like) => norm.tensor(like.data, like.dims, "float32");
/** @param {any} tensor */
const download = async (tensor) => ({ data: await norm.read(tensor), dims: tensor.shape });

for (const each of golden("onnx.json").cases) {
  const { name, op, inputs, output, extraOutputs, tolerance } = each;
  const isDouble = Object.values(inputs).some(
    (input) => /** @type {any} */ (input).dtype === "float64",
  );
  const why = skip || (isDouble && "a GPU has no float64");
  test(`${OPERATORS.get(op)?.call} agrees with ONNX's ${name} on a GPU`, {
    skip: why,
  }, async () => {
    const { call, args, settings, isSum } = callOf(each);
    for (const running of ["runningMean", "runningVar"]) {
      if (settings[running]) settings[running] = upload(settings[running]);
    }
    const result = norm[call](...args.map(upload), settings);
    assertClose(await download(isSum ? result.output : result), output, tolerance, "output");
    if (extraOutputs?.sum)
      assertClose(await download(result.sum), extraOutputs.sum, tolerance, "sum");
    if (extraOutputs?.runningMean) {
      const { runningMean, runningVar } = settings;
      assertClose(await download(runningMean), extraOutputs.runningMean, tolerance, "running mean");
      assertClose(
        await download(runningVar),
        extraOutputs.runningVariance,
        tolerance,
        "running variance",
      );
    }
  });
}
