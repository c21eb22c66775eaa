/** ONNX models of one normalization, as bytes: the few fields of the format that they need. */

/** @typedef {import("./tasks.js").Task} Task */

const VARINT = 0;
const BYTES = 2;
const FIXED32 = 5;

/** Field numbers of onnx.proto (ONNX 1.x), by message. */
const MODEL = { irVersion: 1, producer: 2, graph: 7, opset: 8 };
const OPSET = { domain: 1, version: 2 };
const GRAPH = { node: 1, name: 2, initializer: 5, input: 11, output: 12 };
const NODE = { input: 1, output: 2, name: 3, operator: 4, attribute: 5 };
const ATTRIBUTE = { name: 1, float: 2, integer: 3, type: 20 };
const TENSOR = { dims: 1, type: 2, name: 8, raw: 9 };
const VALUE = { name: 1, type: 2 };
const TYPE = { tensor: 1 };
const TENSOR_TYPE = { element: 1, shape: 2 };
const SHAPE = { dim: 1 };
const DIM = { value: 1 };

const ELEMENT_FLOAT = 1;
const ATTRIBUTE_FLOAT = 1;
const ATTRIBUTE_INT = 2;
/** The first with LayerNormalization, and an intermediate representation that goes with it. */
const OPSET_VERSION = 17;
const IR_VERSION = 8;

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

/** @param {number} field @param {string} name @param {number[]} dims */
function value(field, name, dims) {
  const shape = dims.map((dim) => message(SHAPE.dim, integer(DIM.value, dim)));
  const tensor = message(
    TYPE.tensor,
    integer(TENSOR_TYPE.element, ELEMENT_FLOAT),
    message(TENSOR_TYPE.shape, ...shape),
  );
  return message(field, text(VALUE.name, name), message(VALUE.type, tensor));
}

/** @param {string} name @param {Float32Array} data */
function initializer(name, data) {
  const raw = new DataView(new ArrayBuffer(data.byteLength));
  data.forEach((item, i) => {
    raw.setFloat32(4 * i, item, true);
  });
  return message(
    GRAPH.initializer,
    integer(TENSOR.dims, data.length),
    integer(TENSOR.type, ELEMENT_FLOAT),
    text(TENSOR.name, name),
    message(TENSOR.raw, new Uint8Array(raw.buffer)),
  );
}

/**
 * onnxruntime has its RMS norm under the name SimplifiedLayerNormalization, in every version.
 *
 * @param {Pick<Task, "operation" | "rows" | "features" | "eps" | "weight" | "bias">} task
 * @returns {Uint8Array} a model from "x" to "y", both [rows, features], with the parameters as constants
 */
export function normModel({ operation, rows, features, eps, weight, bias }) {
  const constants = [initializer("weight", weight)];
  if (bias !== null) constants.push(initializer("bias", bias));
  const inputs = bias === null ? ["x", "weight"] : ["x", "weight", "bias"];
  const node = [
    ...inputs.map((name) => text(NODE.input, name)),
    text(NODE.output, "y"),
    text(NODE.name, operation),
    text(
      NODE.operator,
      operation === "layerNorm" ? "LayerNormalization" : "SimplifiedLayerNormalization",
    ),
    message(
      NODE.attribute,
      text(ATTRIBUTE.name, "axis"),
      integer(ATTRIBUTE.integer, -1),
      integer(ATTRIBUTE.type, ATTRIBUTE_INT),
    ),
    message(
      NODE.attribute,
      text(ATTRIBUTE.name, "epsilon"),
      float(ATTRIBUTE.float, eps),
      integer(ATTRIBUTE.type, ATTRIBUTE_FLOAT),
    ),
  ];
  return joined([
    integer(MODEL.irVersion, IR_VERSION),
    text(MODEL.producer, "layernorm"),
    message(
      MODEL.graph,
      message(GRAPH.node, ...node),
      text(GRAPH.name, operation),
      ...constants,
      value(GRAPH.input, "x", [rows, features]),
      value(GRAPH.output, "y", [rows, features]),
    ),
    message(MODEL.opset, text(OPSET.domain, ""), integer(OPSET.version, OPSET_VERSION)),
  ]);
}
