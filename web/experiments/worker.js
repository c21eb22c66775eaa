// The worker that trains: the experiments of tests/experiments with TensorFlow.js and layernorm/tfjs, in a smaller setting,
// their variants in turn. It is told to pause and to go on; to stop it, the page ends it.

import * as tf from "@tensorflow/tfjs-core";
import * as tfl from "@tensorflow/tfjs-layers";
import { init } from "layernorm";
import * as nn from "layernorm/nn";
import * as tfjs from "layernorm/tfjs";
import { useBackend } from "../tensorflow_backend.js";
import { EXPERIMENTS } from "./experiments.js";

/** @typedef {{ kind: "start", experiment: import("./experiments.js").Name, option: number, seed: number }} Start */
/** @typedef {Start | { kind: "pause" } | { kind: "resume" }} Order */
/** @typedef {import("../../tests/experiments/core/training.js").Step} Step */
/**
 * @typedef {{ kind: "ready" }
 *   | { kind: "begun", variant: number, extra: number[] }
 *   | { kind: "step", variant: number } & Step
 *   | { kind: "ended", variant: number, result: number | undefined }
 *   | { kind: "done" }
 *   | { kind: "failed", message: string }} Report
 */

/** So long it trains before it looks whether it is told something. */
const SLICE_MS = 30;

let isPaused = false;
/** @type {() => void} */
let goOn = () => {};

addEventListener("message", ({ data }) => {
  const order = /** @type {Order} */ (data);
  if (order.kind === "start") {
    run(order).catch((error) => {
      say({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
    });
  } else {
    isPaused = order.kind === "pause";
    if (!isPaused) goOn();
  }
});

/** @param {Report} report */
function say(report) {
  postMessage(report);
}

/** @param {Start} order */
async function run({ experiment, option, seed }) {
  const { backend, load, variants, start } = EXPERIMENTS[experiment];
  await init();
  await useBackend(backend);
  const data = await load((name) => new URL(`data/${name}`, import.meta.url));
  say({ kind: "ready" });
  const library = { tf, tfl, tfjs, nn };
  const trainings = variants.map((variant, i) => {
    const training = start(library, data, variant, option, seed);
    say({ kind: "begun", variant: i, extra: training.gradients ?? [] });
    return { training, isDone: false };
  });
  let since = performance.now();
  while (trainings.some(({ isDone }) => !isDone)) {
    for (const [variant, each] of trainings.entries()) {
      if (each.isDone) continue;
      const { done, value } = each.training.next();
      if (done) {
        each.isDone = true;
        say({ kind: "ended", variant, result: value ?? undefined });
      } else {
        say({ kind: "step", variant, ...value });
      }
      if (performance.now() - since < SLICE_MS) continue;
      await breathe();
      since = performance.now();
    }
  }
  say({ kind: "done" });
}

/** Lets messages in, and waits while it is told to. */
async function breathe() {
  await new Promise((done) => setTimeout(done));
  while (isPaused) {
    await new Promise((done) => {
      goOn = () => done(undefined);
    });
  }
}
