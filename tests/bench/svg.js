/** The picture of the speeds: a row for each shape, a mark for each contender, GB/s on a log scale. */

import { figure, shapeName } from "./format.js";
import { timedResult } from "./report.js";
import { isMatrix, titleOf } from "./tasks.js";

/** @typedef {import("./report.js").Report} Report */
/** @typedef {"circle" | "ring" | "bar" | "diamond" | "square" | "triangle"} Mark */

/** One hue for the package, grey for baselines, others for peers; the shape tells apart what the colour does not. */
const SERIES = /** @type {const} */ ([
  { id: "plan", mark: "circle", style: "own" },
  { id: "out", mark: "square", style: "own" },
  { id: "new", mark: "ring", style: "own" },
  { id: "memory.copy", mark: "bar", style: "base" },
  { id: "plain-js", mark: "diamond", style: "base" },
  { id: "onnxruntime-web", mark: "triangle", style: "ort" },
  { id: "onnxruntime-node", mark: "square", style: "ort" },
  { id: "tfjs-ops", mark: "diamond", style: "tf" },
  { id: "tfjs-layer", mark: "circle", style: "tf" },
  { id: "jax-js", mark: "diamond", style: "jax" },
]);

const WIDTH = 860;
const LEFT = 96;
const RIGHT = 24;
const ROW = 34;
const LEGEND_COLUMNS = 3;
const LEGEND_ROW = 22;
const TOP = 44;

/** The background goes with the text, so that it is readable where the page has another theme than the system. */
const STYLE = `
    svg { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; }
    .page { fill: #ffffff; } text { fill: #1f2328; } .faint { fill: #59636e; }
    .grid { stroke: #d1d9e0; } .lane { stroke: #eaeef2; }
    .own { fill: #0969da; stroke: #0969da; } .base { fill: #59636e; stroke: #59636e; }
    .ort { fill: #bc4c00; stroke: #bc4c00; } .tf { fill: #8250df; stroke: #8250df; }
    .jax { fill: #1a7f37; stroke: #1a7f37; } .ring { fill: none; stroke-width: 2; } .title { font-weight: 600; }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; } text { fill: #f0f6fc; } .faint { fill: #9198a1; }
      .grid { stroke: #3d444d; } .lane { stroke: #21262d; }
      .own { fill: #4493f8; stroke: #4493f8; } .base { fill: #9198a1; stroke: #9198a1; }
      .ort { fill: #f0883e; stroke: #f0883e; } .tf { fill: #ab7df8; stroke: #ab7df8; }
      .jax { fill: #3fb950; stroke: #3fb950; } .ring { fill: none; }
    }
  `;

/** @param {string} text */
function escaped(text) {
  return text.replace(/[&<>"]/g, (found) => `&#${found.charCodeAt(0)};`);
}

/** @param {number} value */
function coordinate(value) {
  return String(Math.round(value * 10) / 10);
}

/** @param {Mark} mark @param {string} style @param {number} x @param {number} y @param {string} [hint] */
function drawn(mark, style, x, y, hint) {
  const title = hint === undefined ? "" : `<title>${escaped(hint)}</title>`;
  const at = `transform="translate(${coordinate(x)} ${coordinate(y)})"`;
  const shapes = {
    circle: `<circle r="5.5" class="${style}" ${at}>${title}</circle>`,
    ring: `<circle r="5" class="${style} ring" ${at}>${title}</circle>`,
    bar: `<path d="M-1.5 -10h3v20h-3z" class="${style}" ${at}>${title}</path>`,
    diamond: `<path d="M0 -6L6 0L0 6L-6 0z" class="${style}" ${at}>${title}</path>`,
    square: `<path d="M-4.5 -4.5h9v9h-9z" class="${style}" ${at}>${title}</path>`,
    triangle: `<path d="M0 -6L5.5 4.5H-5.5z" class="${style}" ${at}>${title}</path>`,
  };
  return shapes[mark];
}

/** @param {number} x @param {number} y @param {string} text @param {string} [attributes] */
function label(x, y, text, attributes = "") {
  return `<text x="${coordinate(x)}" y="${coordinate(y)}" ${attributes}>${escaped(text)}</text>`;
}

/**
 * @param {Report} report
 * @param {import("./tasks.js").Operation} operation
 * @returns {string} an SVG document
 */
export function speedSvg(report, operation) {
  const cases = report.speed.filter((done) => isMatrix(done) && done.operation === operation);
  const series = SERIES.filter(({ id }) => cases.some((done) => timedResult(done, id)));
  const speeds = cases.flatMap((done) =>
    series.flatMap(({ id }) => timedResult(done, id)?.gbps ?? []),
  );
  const low = Math.floor(Math.log10(Math.min(...speeds)));
  const high = Math.log10(Math.max(...speeds)) + 0.08;
  /** @param {number} gbps */
  const toX = (gbps) => LEFT + ((Math.log10(gbps) - low) / (high - low)) * (WIDTH - LEFT - RIGHT);

  const plotTop = TOP + Math.ceil(series.length / LEGEND_COLUMNS) * LEGEND_ROW + 12;
  const plotBottom = plotTop + cases.length * ROW;
  const height = plotBottom + 62;
  const parts = [
    `<rect width="${WIDTH}" height="${height}" rx="6" class="page"/>`,
    label(
      16,
      26,
      `${titleOf(operation)}, float32: GB/s on a log scale, more is better`,
      'class="title"',
    ),
  ];

  series.forEach(({ id, mark, style }, i) => {
    const x = 24 + (i % LEGEND_COLUMNS) * ((WIDTH - 24) / LEGEND_COLUMNS);
    const y = TOP + Math.floor(i / LEGEND_COLUMNS) * LEGEND_ROW + 10;
    const contender = report.contenders.find((known) => known.id === id);
    parts.push(drawn(mark, style, x, y), label(x + 14, y + 4.5, contender?.name ?? id));
  });

  for (let decade = low; decade <= high; decade++) {
    const x = coordinate(toX(10 ** decade));
    parts.push(`<path d="M${x} ${plotTop}V${plotBottom}" class="grid"/>`);
    const text = String(Number((10 ** decade).toPrecision(1)));
    parts.push(label(Number(x), plotBottom + 18, text, 'class="faint" text-anchor="middle"'));
  }

  cases.forEach((done, i) => {
    const y = plotTop + (i + 0.5) * ROW;
    const name = shapeName(done);
    parts.push(`<path d="M${LEFT} ${y}H${WIDTH - RIGHT}" class="lane"/>`);
    parts.push(label(LEFT - 10, y + 4.5, name, 'text-anchor="end"'));
    // The package's marks last, on top.
    for (const { id, mark, style } of series.toReversed()) {
      const gbps = timedResult(done, id)?.gbps;
      if (gbps === undefined) continue;
      parts.push(drawn(mark, style, toX(gbps), y, `${id}, ${name}: ${figure(gbps)} GB/s`));
    }
  });

  const { cpu, cores, engine } = report.machine;
  const origin = `x read once and the result written once; one thread. ${cpu}, ${cores} cores, ${engine}, ${report.date}`;
  parts.push(label(16, height - 14, origin, 'class="faint"'));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escaped(`${titleOf(operation)}: GB/s by shape and library`)}</title>`,
    `<style>${STYLE}</style>`,
    ...parts,
    "</svg>\n",
  ].join("\n");
}
