// The section on small variance in English. The same keys stand in ru.js.

/** @type {Record<string, string>} */
export default {
  smallText:
    "Divide by a deviation that is nearly 0, and whatever is left of it fills the result: rounding errors, sensor noise. That is the sensitivity to scale that the Russian document names, and ε is its answer. Where the deviation σ is well above √ε, the deviation after is 1; well below, it is <span class='number'>σ/√ε</span>, small as it was. So ε says which spreads are to count as spread at all.",
  smallLabel: "The standard deviation after normalizing against the one before, for several ε.",
  smallX: "standard deviation before",
  smallY: "standard deviation after",
  smallCaption: "The standard deviation after, by the one before, as the package computes it",
  smallOwn: "yours: {eps}",
  smallNoise:
    "The same from the side of the noise: four equal numbers, and a little added to each. With ε 0 even noise of a hundred-millionth is blown up to full size; with ε it stays small until it reaches √ε. A vector with a spread of its own (3, 5, 2, 8) does not need ε for that.",
  smallNoiseLabel:
    "The largest change of the result against the size of the noise added to four equal numbers, for several ε.",
  smallNoiseX: "noise added",
  smallNoiseY: "largest change of the result",
  smallSignal: "3, 5, 2, 8 with {eps}",
};
