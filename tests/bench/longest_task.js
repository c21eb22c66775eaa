// The longest task of a page's main thread, from Chromium's own trace.

/** @typedef {import("puppeteer-core").Page} Tab */
/** @typedef {{ name: string, ph: string, pid: number, tid: number, ts: number, dur?: number, tdur?: number, args: any }} TraceEvent */

/**
 * @typedef {object} Longest ms
 * @property {number} wall as the clock saw it
 * @property {number} cpu of the processor: what the page itself takes where other programs run beside it
 * @property {string} parts what the task with the most of the processor was made of
 */

/** What a task is said to be made of: work of Blink's that is told apart, and calls of JavaScript. */
const PARTS = [
  "UpdateLayoutTree",
  "Layout",
  "PrePaint",
  "Paint",
  "Layerize",
  "Commit",
  "ParseHTML",
  "FunctionCall",
  "FireAnimationFrame",
  "EventDispatch",
  "EvaluateScript",
  "v8.compile",
];
/** Parts that take less are not worth naming. */
const LEAST_MS = 3;
/** Until the page has drawn what follows. */
const AFTER_MS = 300;

/**
 * @param {Tab} tab
 * @param {() => Promise<unknown>} action
 * @returns {Promise<Longest>}
 */
export async function longestTask(tab, action) {
  await tab.tracing.start({ categories: ["toplevel", "devtools.timeline"] });
  await action();
  await new Promise((done) => setTimeout(done, AFTER_MS));
  const trace = await tab.tracing.stop();
  /** @type {TraceEvent[]} */
  const events = JSON.parse(new TextDecoder().decode(trace)).traceEvents;
  // The page's renderer has parsed it or painted it; other renderers have not.
  const painting = new Set(events.filter(({ name }) => name === "Paint").map(({ pid }) => pid));
  const threads = new Set(
    events
      .filter(
        ({ name, args, pid }) =>
          name === "thread_name" && args.name === "CrRendererMain" && painting.has(pid),
      )
      .map(({ pid, tid }) => `${pid}/${tid}`),
  );
  const mine = events.filter(({ ph, pid, tid }) => ph === "X" && threads.has(`${pid}/${tid}`));
  const tasks = mine.filter(({ name }) => name.endsWith("RunTask"));
  const cpuOf = (/** @type {TraceEvent} */ { tdur = 0 }) => tdur / 1000;
  const longest = tasks.reduce((one, other) => (cpuOf(other) > cpuOf(one) ? other : one), tasks[0]);
  return {
    wall: Math.max(0, ...tasks.map(({ dur = 0 }) => dur / 1000)),
    cpu: longest === undefined ? 0 : cpuOf(longest),
    parts: longest === undefined ? "" : partsOf(longest, mine),
  };
}

/**
 * @param {TraceEvent} task
 * @param {readonly TraceEvent[]} events of its thread
 */
function partsOf({ ts, dur = 0, tid, pid }, events) {
  const within = events.filter(
    (event) => event.pid === pid && event.tid === tid && event.ts >= ts && event.ts <= ts + dur,
  );
  return PARTS.map((part) => {
    const sum = within
      .filter(({ name }) => name === part)
      .reduce((total, { tdur = 0 }) => total + tdur / 1000, 0);
    return { part, sum };
  })
    .filter(({ sum }) => sum >= LEAST_MS)
    .map(({ part, sum }) => `${part} ${sum.toFixed(0)}`)
    .join(", ");
}
