// The results as plain data, with what they depend on: to be compared elsewhere.

import { EPS, rateOf } from "./problem.js";

/** Medians have no more digits than that. @param {number} value */
const brief = (value) => Number(value.toPrecision(4));

/** @param {import("./run.js").Results} results */
export function reportOf({ measured, ready, absences }) {
  return {
    what: "layerNorm, float32, with weight and bias",
    package: PACKAGE_VERSION,
    date: new Date().toISOString(),
    userAgent: navigator.userAgent,
    hardwareConcurrency: navigator.hardwareConcurrency,
    crossOriginIsolated,
    conditions: {
      eps: EPS,
      time: "milliseconds a call, median; ways of one kind in turn",
      rate: "GB/s, what is read and written",
      difference:
        "the largest from a loop in double precision, relative to the larger of 1 and its result",
      copy: "TypedArray.set of as many values",
    },
    threads: ready.threads ?? absences.threads?.message,
    gpu: ready.gpu?.adapter ?? absences.gpu?.key,
    results: measured.map(({ size, copyMs, ways }) => ({
      ...size,
      copy: copyMs === undefined ? null : { ms: brief(copyMs), rate: brief(rateOf(size, copyMs)) },
      ways: ways.map(({ name, ms, samples, difference }) => ({
        name,
        ms: brief(ms),
        rate: brief(rateOf(size, ms)),
        samples,
        difference: brief(difference),
      })),
    })),
  };
}
