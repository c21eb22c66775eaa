// The section's words in English.

/** @type {Record<string, string>} */
export default {
  convolutionalBatch: "BatchNorm",
  convolutionalGroup: "GroupNorm, 4 groups",
  convolutionalLayer: "LayerNorm (one group)",
  convolutionalChart:
    "Share of unseen digits that a small convolutional network gets wrong, by the size of the batch, the median of three seeds.",
  convolutionalError: "Unseen digits read wrong",
  convolutionalSeen: "digits seen",
  convolutionalOption: "Batch",
  convolutionalFinding:
    "Measured here, on digits of 8 × 8 pixels seen once each ({seen} of them), small batches did not hurt BatchNorm: with one digit at a time it reads {batch} wrong, GroupNorm {group}, LayerNorm {layer}. Its channel still has 64 or 16 positions to average over, and the network is small. What the papers found for large networks on photographs is not seen at this size.",
  convolutionalHow:
    "The same code with fewer digits: 384 of MNIST to train on, once, and 200 others to test on; two convolutions of 8 and 16 channels, each followed by the norm and ReLU. Curves are means over the last 48 digits.",
  convolutionalNow:
    "With batches of {size}, of 200 unseen digits BatchNorm reads {batch} wrong, GroupNorm {group}, LayerNorm {layer}.",
};
