/** Running statistics of BatchNorm and InstanceNorm, by PyTorch's rules. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { batchNorm, tensor } from "../../dist/index.js";
import { BatchNorm, InstanceNorm } from "../../dist/nn.js";
import { assertClose, normals } from "./nn_layers.js";

/** PyTorch's rules in float64: the mean and unbiased variance of some values. @param {number[]} values */
function moments(values) {
  const mean = values.reduce((a, b) => a + b) / values.length;
  const squares = values.reduce((a, b) => a + (b - mean) ** 2, 0);
  return { mean, unbiased: squares / (values.length - 1) };
}

/** @param {Float32Array} data [2, 4, 6] @param {number} channel @param {number[]} items */
const channelOf = (data, channel, items) =>
  items.flatMap((n) => [...data.subarray((n * 4 + channel) * 6, (n * 4 + channel + 1) * 6)]);

for (const momentum of [0.1, 0.5, null]) {
  test(`BatchNorm tracks statistics as PyTorch does, momentum ${momentum}`, () => {
    const norm = new BatchNorm(4, { momentum });
    const mean = [0, 0, 0, 0];
    const variance = [1, 1, 1, 1];
    for (let batch = 1; batch <= 5; batch++) {
      const data = normals(48, batch);
      norm.forward({ data, dims: [2, 4, 6] });
      const factor = momentum ?? 1 / batch;
      for (let c = 0; c < 4; c++) {
        const found = moments(channelOf(data, c, [0, 1]));
        mean[c] += factor * (found.mean - mean[c]);
        variance[c] += factor * (found.unbiased - variance[c]);
      }
      assert.deepEqual(norm.numBatchesTracked?.data, BigInt64Array.of(BigInt(batch)));
    }
    assertClose(norm.runningMean?.data, mean, 1e-6);
    assertClose(norm.runningVar?.data, variance, 1e-6);
    const x = { data: normals(48, 9), dims: [2, 4, 6] };
    assert.deepEqual(
      norm.eval().forward(x),
      batchNorm(x, {
        runningMean: norm.runningMean?.data,
        runningVar: norm.runningVar?.data,
        weight: norm.weight?.data,
        bias: norm.bias?.data,
      }),
    );
    assert.deepEqual(norm.numBatchesTracked?.data, BigInt64Array.of(5n), "eval counts nothing");
  });
}

test("BatchNorm without running statistics always takes the batch's", () => {
  const norm = new BatchNorm(4, { trackRunningStats: false });
  const x = { data: normals(48), dims: [2, 4, 6] };
  const y = norm.forward(x);
  assert.deepEqual(norm.eval().forward(x), y);
});

test("BatchNorm changes nothing for an empty batch, nor where it throws", () => {
  const norm = new BatchNorm(4, { momentum: null });
  const before = norm.stateDict();
  assert.equal(norm.forward({ data: new Float32Array(), dims: [0, 4] }).data.length, 0);
  assert.throws(() => norm.forward([[1, 2, 3, 4]]), /more than one value per channel/);
  assert.throws(() => norm.forward([[1, 2, 3]]), /4 channels/);
  assert.deepEqual(norm.stateDict(), before);
});

test("BatchNorm's count of batches ends at the largest that there is, and is refused below 0", () => {
  for (const momentum of [0.1, null]) {
    const norm = new BatchNorm(1, { momentum });
    const count = norm.numBatchesTracked?.data ?? new BigInt64Array();
    count[0] = 2n ** 63n - 2n;
    for (let i = 0; i < 2; i++) {
      norm.forward([[1], [3]]);
      assert.equal(count[0], 2n ** 63n - 1n);
    }
    const before = norm.stateDict();
    count[0] = -1n;
    assert.throws(() => norm.forward([[1], [3]]), {
      name: "RangeError",
      message: 'BatchNorm: "num_batches_tracked" expected an integer >= 0, got -1n',
    });
    count[0] = 2n ** 63n - 1n;
    assert.deepEqual(norm.stateDict(), before);
  }
});

test("InstanceNorm tracks the mean of its items' statistics as PyTorch does", () => {
  for (const [layout, index] of /** @type {const} */ ([
    ["channels_first", (/** @type {number} */ i) => i],
    // [2, 6, 4] from [2, 4, 6].
    [
      "channels_last",
      (/** @type {number} */ i) => Math.floor(i / 24) * 24 + (i % 4) * 6 + Math.floor((i % 24) / 4),
    ],
  ])) {
    const norm = new InstanceNorm(4, { trackRunningStats: true, momentum: 0.3, layout });
    const mean = [0, 0, 0, 0];
    const variance = [1, 1, 1, 1];
    for (let batch = 1; batch <= 3; batch++) {
      // Far below eps: the running variance must not lose them in it.
      const data = normals(48, batch).map((value) => value * 1e-6);
      const dims = layout === "channels_first" ? [2, 4, 6] : [2, 6, 4];
      norm.forward({ data: data.map((_, i) => data[index(i)]), dims });
      for (let c = 0; c < 4; c++) {
        const items = [0, 1].map((n) => moments(channelOf(data, c, [n])));
        mean[c] += 0.3 * ((items[0].mean + items[1].mean) / 2 - mean[c]);
        variance[c] += 0.3 * ((items[0].unbiased + items[1].unbiased) / 2 - variance[c]);
      }
    }
    const got = norm.runningMean?.data ?? [];
    for (const [c, value] of mean.entries()) assert.ok(Math.abs(got[c] - value) <= 1e-6 * 1e-6 * 2);
    assertClose(norm.runningVar?.data, variance, 1e-6);
    assert.deepEqual(norm.numBatchesTracked?.data, BigInt64Array.of(0n));
    const x = { data: normals(48, 9), dims: layout === "channels_first" ? [2, 4, 6] : [2, 6, 4] };
    assert.deepEqual(
      norm.eval().forward(x),
      batchNorm(x, {
        runningMean: norm.runningMean?.data,
        runningVar: norm.runningVar?.data,
        layout,
      }),
    );
  }
});

test("InstanceNorm leaves its statistics alone with momentum null, for no items and where it throws", () => {
  const options = { trackRunningStats: true };
  const frozen = new InstanceNorm(2, { ...options, momentum: null });
  const before = frozen.stateDict();
  frozen.forward([
    [
      [1, 2],
      [3, 5],
    ],
  ]);
  assert.deepEqual(frozen.stateDict(), before);
  const norm = new InstanceNorm(2, options);
  norm.forward({ data: new Float32Array(), dims: [0, 2, 2] });
  assert.throws(() => norm.forward([[[1], [3]]]), {
    name: "RangeError",
    message: /^InstanceNorm: "x"/,
  });
  assert.deepEqual(norm.stateDict(), before);
});

test("InstanceNorm tracks statistics of resident x, and keeps no memory", () => {
  const norm = new InstanceNorm(2, { trackRunningStats: true, momentum: 1 });
  const x = tensor([
    [
      [1, 3],
      [2, 6],
    ],
  ]);
  norm.forward(x).dispose();
  assert.deepEqual([...(norm.runningMean?.data ?? [])], [2, 4]);
  assert.deepEqual([...(norm.runningVar?.data ?? [])], [2, 8]);
  x.dispose();
});
