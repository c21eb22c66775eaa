// The section on RMSNorm's cost in English. The same keys stand in ru.js.

/** @type {Record<string, string>} */
export default {
  rmsCostText:
    "The Russian document says that RMSNorm saves <span class='number'>10–15%</span> of the cost. How much it saves depends on the shape, the machine and the code that both run on. Here is this package’s code on your machine: both norms on data that are already in WebAssembly’s memory, measured in turn.",
  rmsCostRun: "Measure",
  rmsCostRunning: "Measuring {shape}, {n} of {count}…",
  rmsCostDone:
    "With the same weight, RMSNorm saves from {least} to {most} here, by shape; within the claimed 10–15% are {within} of {count} shapes.",
  rmsCostCaption:
    "A call’s time, median, on this machine. Bars reach to 50%; the claimed <span class='number'>10–15%</span> are shaded.",
  rmsCostShape: "Rows × features",
  rmsCostWithBias: "LayerNorm with bias",
  rmsCostLayer: "LayerNorm, weight alone",
  rmsCostRms: "RMSNorm",
  rmsCostSavedWithBias: "Saved against LayerNorm with bias",
  rmsCostSaved: "Saved with the same weight",
  rmsCostMs: "{value} ms",
  rmsCostUs: "{value} µs",
  rmsCostConditions:
    "float32, one thread. Each time is the median of up to 101 samples, each long beside the browser’s clock. Models give LayerNorm a bias and RMSNorm none, so they save a little more than the norm itself does.",
};
