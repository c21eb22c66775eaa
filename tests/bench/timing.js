/** Interleaved timing: every round measures each candidate once, so that a busy moment of the machine meets all alike. */

/**
 * @typedef {object} Candidate
 * @property {string} id
 * @property {() => unknown} run one call; a promise where async
 * @property {boolean} async
 */
/**
 * @typedef {object} Settings
 * @property {number} sampleMs a sample repeats its call for about this long
 * @property {number} warmUpMs
 * @property {number} budgetMs aim for all rounds of all candidates together
 * @property {number} minRounds
 * @property {number} maxRounds
 * @property {number} slowMs a candidate that takes longer than this in all rounds sits some of them out ...
 * @property {number} minSamples ... but not below this number of samples
 */

/** Samples long enough that caches hold the contender's own data. Each shape's medians come from 30 rounds and more, but for the slowest candidates on the largest shapes. @type {Settings} */
export const FULL = {
  sampleMs: 20,
  warmUpMs: 150,
  budgetMs: 9000,
  minRounds: 30,
  maxRounds: 100,
  slowMs: 4000,
  minSamples: 5,
};

/** To see that everything works; the figures are rough. @type {Settings} */
export const QUICK = {
  sampleMs: 1,
  warmUpMs: 20,
  budgetMs: 500,
  minRounds: 7,
  maxRounds: 15,
  slowMs: 300,
  minSamples: 1,
};

/** @param {() => unknown} run @param {number} count @returns {number} milliseconds for all */
function timeSync(run, count) {
  const start = performance.now();
  for (let i = 0; i < count; i++) run();
  return performance.now() - start;
}

/** @param {() => unknown} run @param {number} count @returns {Promise<number>} milliseconds for all */
async function timeAsync(run, count) {
  const start = performance.now();
  for (let i = 0; i < count; i++) await run();
  return performance.now() - start;
}

/** @param {Candidate} candidate @param {number} count @returns {number | Promise<number>} */
function time(candidate, count) {
  return (candidate.async ? timeAsync : timeSync)(candidate.run, count);
}

/**
 * Runs until the compilers have settled.
 * @param {Candidate} candidate
 * @param {Settings} settings
 * @returns {Promise<number>} milliseconds of one call at the end
 */
async function warmUp(candidate, { warmUpMs, sampleMs }) {
  let count = 1;
  let spent = 0;
  for (;;) {
    const elapsed = await time(candidate, count);
    spent += elapsed;
    if (spent >= warmUpMs && (elapsed >= sampleMs / 4 || count >= 1e6)) return elapsed / count;
    if (elapsed < sampleMs) count *= 2;
  }
}

/**
 * @param {Candidate[]} candidates
 * @param {Settings} settings
 * @returns {Promise<Map<string, number[]>>} milliseconds of one call, a number for each sample, by the candidate's id
 */
export async function timeInterleaved(candidates, settings) {
  const { sampleMs, budgetMs, minRounds, maxRounds, slowMs, minSamples } = settings;
  const plans = [];
  for (const candidate of candidates) {
    const ms = await warmUp(candidate, settings);
    const count = Math.max(1, Math.ceil(sampleMs / ms));
    plans.push({ candidate, count, sample: ms * count, every: 1 });
  }
  const round = plans.reduce((sum, { sample }) => sum + Math.min(sample, slowMs / minRounds), 0);
  const rounds = Math.min(maxRounds, Math.max(minRounds, Math.floor(budgetMs / round)));
  for (const plan of plans) {
    const samples = Math.min(rounds, Math.max(minSamples, Math.floor(slowMs / plan.sample)));
    plan.every = plan.sample * rounds <= slowMs ? 1 : Math.floor(rounds / samples);
  }

  /** @type {Map<string, number[]>} */
  const times = new Map(candidates.map(({ id }) => [id, []]));
  for (let i = 0; i < rounds; i++) {
    for (const { candidate, count, every } of plans) {
      if (i % every !== 0) continue;
      // The caches hold what the candidate before has left: one call brings this one's data back.
      if (count > 1) await time(candidate, 1);
      const ms = (await time(candidate, count)) / count;
      times.get(candidate.id)?.push(ms);
    }
  }
  return times;
}
