/** ONNX models as bytes: the few fields of the format that those of normalizations need. */

import { encoded } from "./dtypes.js";

/** @typedef {import("./dtypes.js").DType} DType */
/** @typedef {{ name: string, dims: number[], values: Float32Array | BigInt64Array }} Constant */

const VARINT = 0;
const BYTES = 2;
const FIXED32 = 5;

/** Field numbers of onnx.proto (ONNX 1.x), by message. */
const MODEL = { irVersion: 1, producer: 2, graph: 7, opset: 8 };
const OPSET = { domain: 1, version: 2 };
const GRAPH = { node: 1, name: 2, initializer: 5, input: 11, output: 12 };
const NODE = { input: 1, output: 2, name: 3, operator: 4, attribute: 5, domain: 7 };
const ATTRIBUTE = { name: 1, float: 2, integer: 3, integers: 8, type: 20 };
const TENSOR = { dims: 1, type: 2, name: 8, raw: 9 };
const VALUE = { name: 1, type: 2 };
const TYPE = { tensor: 1 };
const TENSOR_TYPE = { element: 1, shape: 2 };
const SHAPE = { dim: 1 };
const DIM = { value: 1 };

const ELEMENT = { float32: 1, int64: 7, float16: 10, bfloat16: 16 };
const ATTRIBUTE_FLOAT = 1;
const ATTRIBUTE_INT = 2;
const ATTRIBUTE_INTS = 7;
/** The first with GroupNormalization as it is now, and an intermediate representation that goes with it. */
const OPSET_VERSION = 21;
const IR_VERSION = 10;
/** The domain of onnxruntime's own operators. */
export const MICROSOFT = "com.microsoft";

/** @param {number} value an integer, at least -1 @returns {number[]} */
function varint(value) {
  const bytes = [];
  // Negative numbers are written as 64 bits in two's complement.
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return bytes;
}

/** @param {number} field @param {number} wire */
function tag(field, wire) {
  return varint((field << 3) | wire);
}

/** @param {number} field @param {number} value */
function integer(field, value) {
  return Uint8Array.from([...tag(field, VARINT), ...varint(value)]);
}

/** @param {number} field @param {number} value */
function float(field, value) {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setFloat32(0, value, true);
  return Uint8Array.from([...tag(field, FIXED32), ...bytes]);
}

/** @param {number} field @param {...Uint8Array} parts a message, in pieces */
function message(field, ...parts) {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return joined([Uint8Array.from([...tag(field, BYTES), ...varint(length)]), ...parts]);
}

/** @param {number} field @param {string} value */
function text(field, value) {
  return message(field, new TextEncoder().encode(value));
}

/** @param {Uint8Array[]} parts */
function joined(parts) {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

/** @param {number} field @param {string} name @param {number[]} dims @param {DType} dtype */
function value(field, name, dims, dtype) {
  const shape = dims.map((dim) => message(SHAPE.dim, integer(DIM.value, dim)));
  const tensor = message(
    TYPE.tensor,
    integer(TENSOR_TYPE.element, ELEMENT[dtype]),
    message(TENSOR_TYPE.shape, ...shape),
  );
  return message(field, text(VALUE.name, name), message(VALUE.type, tensor));
}

/** @param {Constant} constant @param {DType} dtype of one that is not of integers */
function initializer({ name, dims, values }, dtype) {
  const isShape = values instanceof BigInt64Array;
  const { buffer, byteOffset, byteLength } = isShape ? values : encoded(values, dtype);
  return message(
    GRAPH.initializer,
    ...dims.map((dim) => integer(TENSOR.dims, dim)),
    integer(TENSOR.type, ELEMENT[isShape ? "int64" : dtype]),
    text(TENSOR.name, name),
    // Little-endian, as all machines are that run this.
    message(TENSOR.raw, new Uint8Array(buffer, byteOffset, byteLength)),
  );
}

/** @typedef {Record<string, number | number[]>} Attributes epsilon is a float, all others integers */
/**
 * @typedef {object} Node
 * @property {string} operator
 * @property {string} [domain] of the operator; ONNX's own unless given
 * @property {string[]} inputs
 * @property {string[]} outputs
 * @property {Attributes} [attributes]
 */

/** @param {string} name @param {number | number[]} value */
function attribute(name, value) {
  const content = Array.isArray(value)
    ? [
        ...value.map((item) => integer(ATTRIBUTE.integers, item)),
        integer(ATTRIBUTE.type, ATTRIBUTE_INTS),
      ]
    : name === "epsilon"
      ? [float(ATTRIBUTE.float, value), integer(ATTRIBUTE.type, ATTRIBUTE_FLOAT)]
      : [integer(ATTRIBUTE.integer, value), integer(ATTRIBUTE.type, ATTRIBUTE_INT)];
  return message(NODE.attribute, text(ATTRIBUTE.name, name), ...content);
}

/** @param {Node} node */
function encodedNode({ operator, domain, inputs, outputs, attributes = {} }) {
  return message(
    GRAPH.node,
    ...inputs.map((name) => text(NODE.input, name)),
    ...outputs.map((name) => text(NODE.output, name)),
    text(NODE.operator, operator),
    ...Object.entries(attributes).map(([name, value]) => attribute(name, value)),
    ...(domain === undefined ? [] : [text(NODE.domain, domain)]),
  );
}

/** @param {string} domain @param {number} version */
function opset(domain, version) {
  return message(MODEL.opset, text(OPSET.domain, domain), integer(OPSET.version, version));
}

/**
 * @param {object} graph
 * @param {Node[]} graph.nodes
 * @param {Constant[]} graph.constants
 * @param {string[]} graph.inputs
 * @param {string[]} graph.outputs
 * @param {number[]} graph.dims of all inputs and outputs
 * @param {import("./dtypes.js").DType} graph.dtype of all tensors
 * @returns {Uint8Array} the model
 */
export function onnxModel({ nodes, constants, inputs, outputs, dims, dtype }) {
  return joined([
    integer(MODEL.irVersion, IR_VERSION),
    text(MODEL.producer, "layernorm"),
    message(
      MODEL.graph,
      ...nodes.map(encodedNode),
      text(GRAPH.name, "norm"),
      ...constants.map((constant) => initializer(constant, dtype)),
      ...inputs.map((name) => value(GRAPH.input, name, dims, dtype)),
      ...outputs.map((name) => value(GRAPH.output, name, dims, dtype)),
    ),
    opset("", OPSET_VERSION),
    opset(MICROSOFT, 1),
  ]);
}
