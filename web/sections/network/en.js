// The section's words in English.

/** @type {Record<string, string>} */
export default {
  networkSeed: "Seed",
  networkSeedProblem: "The seed is a whole number from 1 to 9999.",
  networkScale: "Size of the inputs",
  networkNorm: "with LayerNorm",
  networkHint:
    "Each strip shows what one layer gives: a row for each of the 10 items of the batch, a column for each number. Make the inputs larger, take LayerNorm away, and see what reaches the end.",
  networkKey: "From −{full} or less to {full} or more; the framed row is the chosen item.",
  networkItem: "Item",
  networkStrip: "mean {mean}, standard deviation {deviation}",
  networkStripLabel:
    "What {name} gives for the whole batch: mean {mean}, standard deviation {deviation}. Item {item} is chosen.",
  networkCaption: "The chosen item through the network",
  networkLayer: "Layer",
  networkDeviation: "Standard deviation",
  networkWithout: "Without LayerNorm",
  networkChart:
    "The 128 values of item {item} before and after LayerNorm: how many have which size.",
  networkChartX: "value",
  networkChartY: "How many of 128",
  networkBefore: "before LayerNorm",
  networkAfter: "after LayerNorm",
  networkFinding:
    "With inputs times {scale}, the ten outputs of this item have the standard deviation {with} with LayerNorm and {without} without it.",
  networkCodeTitle: "The same in code",
  networkCodeText:
    "Every framework has this layer, but they start from different ε. To get the same numbers elsewhere, pass the one that the model was trained with. The tab that you choose sets the ε of the network above.",
  networkFrameworks: "Framework",
  networkEps: "{name} starts from ε = {eps}, and so does the network above now.",
};
