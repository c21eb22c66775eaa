/**
 * The loops that one writes without a library: float32 in and out, float64 between, as numbers in JavaScript are. Two passes
 * for the statistics, in the order in which the values lie in memory, and what is the same for many elements is outside.
 */

import { HALVES, toBfloat, toHalf } from "../dtypes.js";

/**
 * @typedef {object} Sizes
 * @property {number} items
 * @property {number} channels
 * @property {number} positions of a channel in an item
 * @property {number} groups
 * @property {number} rows
 * @property {number} features of a row
 */
/** @typedef {Sizes & Record<string, any> & { eps: number }} Arguments sizes, options and parameters */
/** @typedef {(inputs: any[], outputs: any[], options: Arguments) => void} Loop */

/** @type {Loop} */
export function layerNorm([x], [y], { rows, features, weight, bias, eps }) {
  for (let row = 0; row < rows; row++) {
    const begin = row * features;
    let sum = 0;
    for (let j = 0; j < features; j++) sum += x[begin + j];
    const mean = sum / features;
    let squares = 0;
    for (let j = 0; j < features; j++) {
      const difference = x[begin + j] - mean;
      squares += difference * difference;
    }
    const rstd = 1 / Math.sqrt(squares / features + eps);
    for (let j = 0; j < features; j++) {
      y[begin + j] = (x[begin + j] - mean) * rstd * weight[j] + bias[j];
    }
  }
}

/** @type {Loop} */
export function layerNormSilu([x], [y], { rows, features, weight, bias, eps }) {
  for (let row = 0; row < rows; row++) {
    const begin = row * features;
    let sum = 0;
    for (let j = 0; j < features; j++) sum += x[begin + j];
    const mean = sum / features;
    let squares = 0;
    for (let j = 0; j < features; j++) {
      const difference = x[begin + j] - mean;
      squares += difference * difference;
    }
    const rstd = 1 / Math.sqrt(squares / features + eps);
    for (let j = 0; j < features; j++) {
      const value = (x[begin + j] - mean) * rstd * weight[j] + bias[j];
      y[begin + j] = value / (1 + Math.exp(-value));
    }
  }
}

/** @type {Loop} */
export function adaptiveLayerNorm([x], [y], { items, rows, features, scale, shift, eps }) {
  const factors = new Float64Array(features);
  const rowsOfItem = rows / items;
  for (let row = 0; row < rows; row++) {
    const begin = row * features;
    const item = Math.floor(row / rowsOfItem) * features;
    if (row % rowsOfItem === 0) {
      for (let j = 0; j < features; j++) factors[j] = 1 + scale[item + j];
    }
    let sum = 0;
    for (let j = 0; j < features; j++) sum += x[begin + j];
    const mean = sum / features;
    let squares = 0;
    for (let j = 0; j < features; j++) {
      const difference = x[begin + j] - mean;
      squares += difference * difference;
    }
    const rstd = 1 / Math.sqrt(squares / features + eps);
    for (let j = 0; j < features; j++) {
      y[begin + j] = (x[begin + j] - mean) * rstd * factors[j] + shift[item + j];
    }
  }
}

/** @type {Loop} */
export function rmsNorm([x], [y], { rows, features, weight, eps }) {
  for (let row = 0; row < rows; row++) {
    const begin = row * features;
    let squares = 0;
    for (let j = 0; j < features; j++) squares += x[begin + j] * x[begin + j];
    const rstd = 1 / Math.sqrt(squares / features + eps);
    for (let j = 0; j < features; j++) y[begin + j] = x[begin + j] * rstd * weight[j];
  }
}

/** @type {Loop} */
export function addRmsNorm([x, residual], [y, sum], { rows, features, weight, eps }) {
  for (let row = 0; row < rows; row++) {
    const begin = row * features;
    let squares = 0;
    for (let j = 0; j < features; j++) {
      const value = Math.fround(residual[begin + j] + x[begin + j]);
      sum[begin + j] = value;
      squares += value * value;
    }
    const rstd = 1 / Math.sqrt(squares / features + eps);
    for (let j = 0; j < features; j++) y[begin + j] = sum[begin + j] * rstd * weight[j];
  }
}

/** @type {Loop} */
export function layerNorm16([x], [y], { rows, features, weight, bias, eps, dtype }) {
  const values = new Float32Array(features);
  const bits = new Uint32Array(values.buffer);
  const isHalf = dtype === "float16";
  for (let row = 0; row < rows; row++) {
    const begin = row * features;
    if (isHalf) {
      for (let j = 0; j < features; j++) values[j] = HALVES[x[begin + j]];
    } else {
      for (let j = 0; j < features; j++) bits[j] = x[begin + j] << 16;
    }
    let sum = 0;
    for (let j = 0; j < features; j++) sum += values[j];
    const mean = sum / features;
    let squares = 0;
    for (let j = 0; j < features; j++) {
      const difference = values[j] - mean;
      squares += difference * difference;
    }
    const rstd = 1 / Math.sqrt(squares / features + eps);
    for (let j = 0; j < features; j++) values[j] = (values[j] - mean) * rstd * weight[j] + bias[j];
    if (isHalf) {
      for (let j = 0; j < features; j++) y[begin + j] = toHalf(bits[j]);
    } else {
      for (let j = 0; j < features; j++) y[begin + j] = toBfloat(bits[j]);
    }
  }
}

/**
 * @param {Float32Array} x
 * @param {Float32Array} y
 * @param {number} begin
 * @param {number} end
 * @param {number} factor
 * @param {number} offset
 * @param {"silu" | undefined} activation
 */
function scaled(x, y, begin, end, factor, offset, activation) {
  if (activation === undefined) {
    for (let i = begin; i < end; i++) y[i] = x[i] * factor + offset;
  } else {
    for (let i = begin; i < end; i++) {
      const value = x[i] * factor + offset;
      y[i] = value / (1 + Math.exp(-value));
    }
  }
}

/** Channels first: a group's values lie together. @type {Loop} */
export function groupNorm([x], [y], options) {
  const { items, channels, positions, groups, weight, bias, eps, activation } = options;
  const members = channels / groups;
  const length = members * positions;
  for (let run = 0; run < items * groups; run++) {
    const begin = run * length;
    let sum = 0;
    for (let i = begin; i < begin + length; i++) sum += x[i];
    const mean = sum / length;
    let squares = 0;
    for (let i = begin; i < begin + length; i++) {
      const difference = x[i] - mean;
      squares += difference * difference;
    }
    const rstd = 1 / Math.sqrt(squares / length + eps);
    const first = (run % groups) * members;
    for (let member = 0; member < members; member++) {
      const factor = rstd * weight[first + member];
      const offset = bias[first + member] - mean * factor;
      const from = begin + member * positions;
      scaled(x, y, from, from + positions, factor, offset, activation);
    }
  }
}

/** Channels last: position by position, all groups at once. @type {Loop} */
export function groupNormLast([x], [y], options) {
  const { items, channels, positions, groups, weight, bias, eps, activation } = options;
  const members = channels / groups;
  const count = members * positions;
  const means = new Float64Array(groups);
  const squares = new Float64Array(groups);
  const factors = new Float64Array(channels);
  const offsets = new Float64Array(channels);
  for (let item = 0; item < items; item++) {
    const begin = item * positions * channels;
    means.fill(0);
    squares.fill(0);
    for (let position = 0, i = begin; position < positions; position++) {
      for (let group = 0; group < groups; group++) {
        let sum = 0;
        for (let member = 0; member < members; member++) sum += x[i++];
        means[group] += sum;
      }
    }
    for (let group = 0; group < groups; group++) means[group] /= count;
    for (let position = 0, i = begin; position < positions; position++) {
      for (let group = 0; group < groups; group++) {
        const mean = means[group];
        let sum = 0;
        for (let member = 0; member < members; member++) {
          const difference = x[i++] - mean;
          sum += difference * difference;
        }
        squares[group] += sum;
      }
    }
    for (let channel = 0; channel < channels; channel++) {
      const group = Math.floor(channel / members);
      factors[channel] = weight[channel] / Math.sqrt(squares[group] / count + eps);
      offsets[channel] = bias[channel] - means[group] * factors[channel];
    }
    for (let position = 0, i = begin; position < positions; position++) {
      if (activation === undefined) {
        for (let c = 0; c < channels; c++, i++) y[i] = x[i] * factors[c] + offsets[c];
      } else {
        for (let c = 0; c < channels; c++, i++) {
          const value = x[i] * factors[c] + offsets[c];
          y[i] = value / (1 + Math.exp(-value));
        }
      }
    }
  }
}

/** @type {Loop} */
export function batchNorm([x], [y], options) {
  const { items, channels, positions, weight, bias, runningMean, runningVar, eps } = options;
  for (let run = 0; run < items * channels; run++) {
    const channel = run % channels;
    const factor = weight[channel] / Math.sqrt(runningVar[channel] + eps);
    const offset = bias[channel] - runningMean[channel] * factor;
    scaled(x, y, run * positions, (run + 1) * positions, factor, offset, undefined);
  }
}

/** @type {Loop} */
export function batchNormTraining([x], [y], options) {
  const { items, channels, positions, weight, bias, runningMean, runningVar, eps } = options;
  const count = items * positions;
  const item = channels * positions;
  for (let channel = 0; channel < channels; channel++) {
    const first = channel * positions;
    let sum = 0;
    for (let from = first; from < x.length; from += item) {
      for (let i = from; i < from + positions; i++) sum += x[i];
    }
    const mean = sum / count;
    let squares = 0;
    for (let from = first; from < x.length; from += item) {
      for (let i = from; i < from + positions; i++) {
        const difference = x[i] - mean;
        squares += difference * difference;
      }
    }
    runningMean[channel] = 0.9 * runningMean[channel] + 0.1 * mean;
    runningVar[channel] = 0.9 * runningVar[channel] + (0.1 * squares) / (count - 1);
    const factor = weight[channel] / Math.sqrt(squares / count + eps);
    const offset = bias[channel] - mean * factor;
    for (let from = first; from < x.length; from += item) {
      scaled(x, y, from, from + positions, factor, offset, undefined);
    }
  }
}

/** Each position by itself, over the channels: channel by channel, all positions of an item at once. @type {Loop} */
export function layerNormChannels([x], [y], options) {
  const { items, channels, positions, weight, bias, eps } = options;
  const means = new Float64Array(positions);
  const rstds = new Float64Array(positions);
  for (let item = 0; item < items; item++) {
    const begin = item * channels * positions;
    means.fill(0);
    rstds.fill(0);
    for (let channel = 0, i = begin; channel < channels; channel++) {
      for (let p = 0; p < positions; p++) means[p] += x[i++];
    }
    for (let p = 0; p < positions; p++) means[p] /= channels;
    for (let channel = 0, i = begin; channel < channels; channel++) {
      for (let p = 0; p < positions; p++) {
        const difference = x[i++] - means[p];
        rstds[p] += difference * difference;
      }
    }
    for (let p = 0; p < positions; p++) rstds[p] = 1 / Math.sqrt(rstds[p] / channels + eps);
    for (let channel = 0, i = begin; channel < channels; channel++) {
      const [w, b] = [weight[channel], bias[channel]];
      for (let p = 0; p < positions; p++, i++) y[i] = (x[i] - means[p]) * rstds[p] * w + b;
    }
  }
}
