// The section on speed in English. The same keys stand in ru.js.

/** @type {Record<string, string>} */
export default {
  speedText:
    "The same LayerNorm as a plain JavaScript loop, through this package’s WebAssembly on one thread and on several, and on the graphics card through WebGPU, from a few kilobytes up. A norm reads its input and writes as much, and does little else: how fast it can be is a matter of memory. So the dotted line shows a mere copy of the same bytes: the ceiling for anything on one thread.",
  speedFeatures: "Features",
  speedLargest: "Up to, in MiB",
  speedRun: "Measure",
  speedPreparing: "Preparing…",
  speedRunning: "Measuring {rows} × {features}: {kind}…",
  speedSingle: "one thread",
  speedSeveral: "several threads",
  speedGpu: "WebGPU",
  speedDone:
    "All results agree. At {rows} × {features}, “{way}” is the fastest here: {factor} times the plain loop.",
  speedDiffers: "The result of “{way}” differs more than it may. Please report it.",
  speedAtSize: "Rows × features",
  speedWay: "Way",
  speedRate: "GB/s",
  speedTime: "Time",
  speedDifference: "Largest difference",
  speedMs: "{value} ms",
  speedUs: "{value} µs",
  speedCaption:
    "{rows} × {features} float32: {size} MB read and as much written. Differences are relative to the larger of 1 and the result.",
  wayPlain: "Plain JavaScript",
  wayTyped: "WebAssembly, ordinary arrays",
  wayPlan: "WebAssembly, data already there",
  wayThreads: "WebAssembly, data there, several threads",
  wayGpu: "WebGPU, data already there",
  wayGpuCopied: "WebGPU, sent there and read back",
  wayCopy: "A mere copy",
  speedLabel: "Bytes read and written per second by each way, against the size of the tensor.",
  speedX: "size of the tensor, in MB",
  speedY: "read and written, in GB/s",
  speedCopyLine: "a mere copy",
  speedThreads: "The package runs on {threads} threads in the line for several threads.",
  speedAdapter: "WebGPU runs on: {name}.",
  speedSoftware: "That is no graphics card but a program on the processor, so it is slow.",
  waysNoThreads: "Several threads take no part. The package says why: {message}.",
  waysOneCore: "Several threads take no part: this machine offers the page one processor core.",
  waysNoWebGpu: "This browser has no WebGPU here, so the graphics card takes no part.",
  waysNoAdapter:
    "This browser has WebGPU but found no graphics card that it may use, so none takes part.",
  speedCopy: "Copy the results as JSON",
  speedCopied: "Copied.",
  speedNotCopied: "The browser did not let the page copy. The text is selected: copy it yourself.",
  speedJson: "The results as JSON",
  speedConditions:
    "The loop sums in double precision; the other results are compared with its own before anything is timed. Everything runs in workers of its own. Times are medians of many samples, each long beside the browser’s clock, and ways on one thread are measured in turn. A phone that gets warm, a battery and other pages all leave their mark.",
};
