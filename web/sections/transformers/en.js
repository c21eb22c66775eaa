// The section's words in English.

/** @type {Record<string, string>} */
export default {
  transformersPre: "pre-LN: norm before each branch",
  transformersPost: "post-LN: norm after each sum",
  transformersChart:
    "Norm of the gradient of each block’s second matrix before training, in a transformer of 12 blocks, the median of three seeds.",
  transformersBlock: "block, from the input to the output",
  transformersGradient: "Norm of the gradient",
  transformersFinding:
    "Before any training, the gradient at the last of 12 blocks is {pre} with pre-LN and {post} with post-LN. That is why, say Xiong et al., post-LN wants a slow start (warm-up). After 30 steps without one, the losses are {preLoss} and {postLoss}; guessing gives {chance}. So few steps show the gradients, not who wins.",
  transformersHow:
    "The same code with a narrower network: 32 values for each word in place of 64, one head of attention in each block, 40 steps of Adam at a rate of 0.003 without warm-up. The task is to name the word before.",
  transformersOption: "Blocks",
  transformersNow:
    "With {depth} blocks the gradient at the last block was {pre} with pre-LN and {post} with post-LN before training. The losses at the end are {preLoss} and {postLoss}.",
};
