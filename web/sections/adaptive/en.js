// The section on adaptive LayerNorm in English. The same keys stand in ru.js.

/** @type {Record<string, string>} */
export default {
  adaptiveText:
    "Here every item of a batch has a scale and a shift of its own, and one call normalizes them all. In a diffusion transformer (DiT) they come from each picture’s time step and class. In AdaIN they come from another picture: each item takes on that one’s mean and spread, its style. The items here are your three vectors.",
  adaptiveFrom: "Scale and shift from",
  adaptiveNumber: "a condition for each item",
  adaptiveStyle: "the style of one vector",
  adaptiveWhich: "Style of",
  adaptiveCondition: "condition",
  adaptiveConditionNote:
    "Move one condition: the other two results stay. The outline is the plain normalized value; the map from condition to scale and shift is the one above.",
  adaptiveStyleNote:
    "All three results have the mean and, but for ε, the spread of the chosen vector; that one comes back as it was. What is left of the others is their pattern.",
  adaptiveNoBatch:
    "Your vectors have different lengths, so they are no batch: each is normalized by itself.",
  adaptiveItemLabel: "Item {k}",
  adaptiveLabel: "Item {k}, {x}: normalized {normalized}, with its scale and shift {output}.",
  adaptiveCaption: "What each item gets",
  adaptiveItem: "Item",
  adaptiveNormalized: "Normalized",
  adaptiveScale: "scale",
  adaptiveShift: "shift",
  adaptiveOutput: "Result",
};
