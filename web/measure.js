// LayerNorm against RMSNorm on the visitor's machine.

import { layerNorm, rmsNorm } from "layernorm";

const ROWS = 512;
const FEATURES = 768;
const RUNS = 101;
const WARM_UP = 20;

/** @returns {{ rows: number, features: number, runs: number, layer: number, rms: number }} milliseconds, medians */
export function measure() {
  const x = Float32Array.from({ length: ROWS * FEATURES }, (_, i) => Math.sin(i * i) + 0.5);
  const weight = new Float32Array(FEATURES).fill(1.5);
  const bias = new Float32Array(FEATURES).fill(0.5);
  const out = new Float32Array(x.length);
  const shape = [ROWS, FEATURES];
  // As models use them: RMSNorm has no bias.
  const calls = {
    layer: () => layerNorm(x, { shape, weight, bias, out }),
    rms: () => rmsNorm(x, { shape, weight, out }),
  };
  /** @type {Record<keyof typeof calls, number[]>} */
  const times = { layer: [], rms: [] };
  // In turn, so that a change of clock speed touches both.
  for (let run = -WARM_UP; run < RUNS; run++) {
    for (const name of /** @type {const} */ (["layer", "rms"])) {
      const start = performance.now();
      // Browsers round the clock to 0.1 ms or 1 ms: time several calls at once.
      for (let i = 0; i < CALLS; i++) calls[name]();
      if (run >= 0) times[name].push((performance.now() - start) / CALLS);
    }
  }
  return {
    rows: ROWS,
    features: FEATURES,
    runs: RUNS,
    layer: median(times.layer),
    rms: median(times.rms),
  };
}

const CALLS = 8;

/** @param {number[]} values */
function median(values) {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
