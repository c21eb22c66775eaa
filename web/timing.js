// Times of several contenders, measured in turn: a busy moment of the machine then meets all alike.

/**
 * @typedef {object} Contender
 * @property {(calls: number) => void | Promise<unknown>} run that many calls, until they are done
 */

/** A sample is of as many calls as take so many of the clock's steps: browsers round it to 0.1 ms, or to 1 ms. */
const STEPS = 20;
/** However fine the clock is. */
const LEAST_MS = 1;
const FEWEST_SAMPLES = 3;
const MOST_SAMPLES = 101;

/**
 * @param {readonly Contender[]} contenders
 * @param {{ budgetMs: number, leastMs?: number }} options how long each is sampled, in all and at least at once
 * @returns {Promise<{ ms: number, samples: number }[]>} a call's time, the median, of each
 */
export async function timeInTurn(contenders, { budgetMs, leastMs = LEAST_MS }) {
  const sampleMs = Math.max(leastMs, STEPS * clockStep());
  const counts = [];
  for (const contender of contenders) {
    const { calls, least } = await callsInSample(contender, sampleMs);
    const samples = Math.round(budgetMs / least);
    counts.push({
      calls,
      samples: Math.max(FEWEST_SAMPLES, Math.min(MOST_SAMPLES, samples)),
    });
  }
  /** @type {number[][]} */
  const times = contenders.map(() => []);
  for (let round = 0; round < MOST_SAMPLES; round++) {
    for (const [i, contender] of contenders.entries()) {
      const { calls, samples } = counts[i];
      if (round < samples) times[i].push((await clock(contender, calls)) / calls);
    }
  }
  return times.map((each) => ({ ms: median(each), samples: each.length }));
}

/** @returns {number} ms between two readings of the clock that differ */
function clockStep() {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 3; tries++) {
    const start = performance.now();
    let now = start;
    while (now === start) now = performance.now();
    least = Math.min(least, now - start);
  }
  return least;
}

/** @param {Contender} contender @param {number} sampleMs */
async function callsInSample(contender, sampleMs) {
  // Once to warm up: what a first call sets up is not what is measured.
  await contender.run(1);
  for (let calls = 1; ; calls *= 2) {
    // The least of a few: a moment in which the machine did something else would make a sample too short.
    let least = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < FEWEST_SAMPLES && least >= sampleMs; tries++) {
      least = Math.min(least, await clock(contender, calls));
    }
    if (least >= sampleMs) return { calls, least };
  }
}

/** @param {Contender} contender @param {number} calls */
async function clock({ run }, calls) {
  const start = performance.now();
  await run(calls);
  return performance.now() - start;
}

/** @param {readonly number[]} values */
function median(values) {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** @param {number} times @param {() => void} call */
export function repeat(times, call) {
  for (let i = 0; i < times; i++) call();
}
