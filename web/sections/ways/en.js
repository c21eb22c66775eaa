// The section's words in English.

/** @type {Record<string, string>} */
export default {
  waysSize: "Size",
  waysRun: "Run",
  waysRunning: "Running: {way}…",
  wayPlain: "Plain JavaScript",
  wayTyped: "WebAssembly, ordinary arrays",
  wayPlan: "WebAssembly, data already there",
  wayGpu: "WebGPU, data already there",
  wayGpuCopied: "WebGPU, sent there and read back",
  waysColumnWay: "Way",
  waysColumnRate: "GB/s",
  waysColumnTime: "Time",
  waysColumnDifference: "Largest difference",
  waysMs: "{ms} ms",
  waysCaption:
    "{rows} × {features} float32: {size} MB read and as much written. Medians on this machine, differences relative to the larger of 1 and the result.",
  waysDone: "All results agree. Fastest here is “{way}”: {factor} times the plain loop.",
  waysDiffers: "The result of “{way}” differs more than it may. Please report it.",
  waysAdapter: "WebGPU runs on: {name}.",
  waysSoftware: "That is no graphics card but a program on the processor, so it is slow.",
  waysNoWebGpu: "This browser has no WebGPU, so the graphics card takes no part.",
  waysNoAdapter:
    "This browser has WebGPU but found no graphics card that it may use, so none takes part.",
  waysFailed: "It failed: {message}",
};
