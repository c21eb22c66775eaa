// The section's words in English.

/** @type {Record<string, string>} */
export default {
  recurrentPlain: "plain LSTM",
  recurrentBa2016: "LayerNorm as in Ba et al. 2016",
  recurrentPerGate: "LayerNorm for each gate",
  recurrentFusedGates: "one LayerNorm for all gates",
  recurrentChart: "Loss of LSTMs on a text by step of training, the median of three seeds.",
  recurrentLoss: "Loss, nats for each character",
  recurrentFinding:
    "The loss that the plain LSTM has after {steps} steps is there {times} times sooner with LayerNorm as its authors define it ({least} to {most} times, by seed). So the Russian document’s “<span class='number'>2–3</span> times sooner” holds for this text, this network and this rate of learning; other placements of the norm gain less.",
  recurrentHow:
    "The same code with a smaller network: an LSTM of 32 units reads three chapters of <i lang='en'>Moby Dick</i> in pieces, 8 at a time, 100 steps of Adam at a rate of 0.01, with TensorFlow.js and <code lang='en'>layernorm/tfjs</code>.",
  recurrentOption: "Characters in a piece",
  recurrentNow:
    "At the end the plain LSTM has a loss of {plain}, the one with LayerNorm {ours}. It was at {plain} after {step} of {steps} steps: {times} times sooner.",
  recurrentNever:
    "At the end the plain LSTM has a loss of {plain}, the one with LayerNorm {ours}: with this seed it was not sooner.",
};
