// Conditional LayerNorm: scale and shift come from a condition, which the visitor moves.

import { layerNorm } from "layernorm";
import { conditionMap, scaleAndShift } from "./condition_map.js";
import { currentLanguage, t } from "./i18n.js";
import { equation, leading, number, operand, piece, signOf, vector } from "./math.js";
import { show, showTyped, showVector, toText, typedVectorText, vectorText } from "./numbers.js";
import { around, bars } from "./plot.js";
import { entry, line, list } from "./steps.js";
import { pictureWidth } from "./views.js";

/**
 * @param {readonly number[]} x
 * @param {number} c
 * @param {number} eps
 */
function conditional(x, c, eps) {
  const { scale, shift } = scaleAndShift(x.length, c);
  const input = Float64Array.from(x);
  const parameters = { scale: Float64Array.from(scale), shift: Float64Array.from(shift) };
  return {
    ...conditionMap(x.length),
    scale,
    shift,
    normalized: [...layerNorm(input, { eps })],
    output: [...layerNorm(input, { ...parameters, eps })],
  };
}

/**
 * @param {readonly number[]} x
 * @param {number} c
 * @param {number} eps
 */
export function renderConditional(x, c, eps) {
  const language = currentLanguage();
  const { scaleOfC, shiftOfC, scale, shift, normalized, output } = conditional(x, c, eps);
  const typed = (/** @type {number} */ value) => showTyped(value, language);
  const shownC = typed(c);
  const slider = /** @type {HTMLInputElement} */ (element("condition"));
  slider.value = String(c);
  slider.setAttribute("aria-valuetext", toText(shownC));
  element("condition-value").textContent = toText(shownC);

  const map = (
    /** @type {"scaleLead" | "shiftLead"} */ lead,
    /** @type {number[]} */ of,
    /** @type {number[]} */ values,
    /** @type {string} */ result,
  ) => {
    const [factors, results] = [of.map(typed), showVector(values, language)];
    const from = vector(
      equation(lead, [shownC, ...factors], { c: number(shownC), factor: operand(shownC) }),
      factors,
      language,
    );
    const sign = leading(signOf([shownC, ...factors, ...results]));
    return line(`${from} ${vector(sign, results, language)}`, result);
  };
  const [shownNormalized, shownOutput] = [
    showVector(normalized, language),
    showVector(output, language),
  ];
  const entries = output.map((_, i) => {
    const from = [shownNormalized[i], show(scale[i], language), show(shift[i], language)];
    const slots = {
      normalized: operand(from[0]),
      scale: operand(from[1]),
      shift: operand(from[2]),
    };
    return entry(piece("conditional", slots), shownOutput[i], from);
  });
  element("conditional-working").innerHTML = [
    map("scaleLead", scaleOfC, scale, "scale"),
    map("shiftLead", shiftOfC, shift, "shift"),
    list(entries),
    line(vector(equation("output", shownOutput), shownOutput, language), "output"),
  ].join("");
  element("condition-note").innerHTML = c === 0 ? t("conditionZero") : t("conditionText");
  const width = pictureWidth(2);
  const before = t("conditionalBefore");
  element("conditional-plots").innerHTML = [
    {
      name: before,
      label: `${before}: ${typedVectorText(x, language)}`,
      values: x,
      range: around([...x, 0]),
    },
    {
      name: t("conditionalAfter"),
      label: t("conditionalLabel", {
        c: toText(shownC),
        normalized: vectorText(normalized, language),
        output: vectorText(output, language),
      }),
      values: output,
      outlines: normalized,
      range: around([...normalized, ...output, 0]),
    },
  ]
    .map((options) => `<figure>${bars({ ...options, width })}</figure>`)
    .join("");
}

/** @param {string} id */
function element(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}
