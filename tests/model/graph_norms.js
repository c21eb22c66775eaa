/** The norms of a TensorFlow graph, which writes each out in up to nine nodes: found by their formulas, and replaced. */

/**
 * @typedef {object} GraphNode
 * @property {string} name
 * @property {string} op
 * @property {string[]} [input] names of nodes
 * @property {Record<string, any>} [attr]
 */
/** @typedef {{ node: GraphNode[] }} Topology of a TensorFlow.js graph model */
/** @typedef {string | [string, ...Formula[]]} Formula a name for any node, or an operation and its operands */
/** @typedef {Record<string, string>} Bound the nodes' own names by those of a formula */
/** @typedef {"LayerNorm" | "L2Normalize"} NormOp */

/** @type {Formula} */
const CENTERED = ["Sub", "x", ["Mean", "x", "axes"]];
/** @type {Formula} */
const RSTD = ["Rsqrt", ["Add", ["Mean", ["Square", CENTERED], "axes"], "eps"]];
/** @type {Formula} */
const RNORM = ["Rsqrt", ["Maximum", ["Sum", ["Square", "x"], "axes"], "floor"]];

/**
 * What norms compute, and which nodes an operation in their place reads.
 *
 * @type {Record<NormOp, { formula: Formula, inputs: string[] }>}
 */
const NORMS = {
  LayerNorm: {
    formula: ["Add", ["Mul", ["Mul", "weight", RSTD], CENTERED], "bias"],
    inputs: ["x", "weight", "bias", "eps", "axes"],
  },
  L2Normalize: {
    formula: ["Mul", "x", RNORM],
    inputs: ["x", "floor", "axes"],
  },
};
const OPS = /** @type {NormOp[]} */ (Object.keys(NORMS));

/**
 * @typedef {object} GraphNorm
 * @property {NormOp} op
 * @property {string} output the node that gives the result
 * @property {string[]} inputs for LayerNorm x, weight, bias, eps, axes; for L2Normalize x, the floor of the sum, axes
 */

const COMMUTATIVE = ["Add", "Maximum", "Mul"];
const REDUCTIONS = ["Mean", "Sum"];

/**
 * @param {Topology} topology
 * @returns {GraphNorm[]} in the order of the nodes
 */
export function findNorms(topology) {
  const nodes = new Map(topology.node.map((node) => [node.name, node]));
  return topology.node.flatMap(({ name: output }) =>
    OPS.flatMap((op) => {
      const bound = match(output, NORMS[op].formula, {}, nodes);
      return bound ? [{ op, output, inputs: NORMS[op].inputs.map((name) => bound[name]) }] : [];
    }),
  );
}

/**
 * @param {Topology} topology
 * @param {NormOp[]} [ops] the norms to replace, all by default
 * @returns {Topology} in which each is one operation in place of the nodes that it was made of
 */
export function replaceNorms(topology, ops = OPS) {
  const found = findNorms(topology).filter(({ op }) => ops.includes(op));
  const norms = new Map(found.map((norm) => [norm.output, norm]));
  const nodes = topology.node.map((old) => {
    const norm = norms.get(old.name);
    return norm ? { name: old.name, op: norm.op, input: norm.inputs } : old;
  });
  // TensorFlow.js takes what nobody reads for a result, so what only the old norms read has to go.
  const read = new Set(topology.node.flatMap(inputNames));
  const needed = new Set(topology.node.map(({ name }) => name).filter((name) => !read.has(name)));
  const byName = new Map(nodes.map((node) => [node.name, node]));
  for (const name of needed) {
    for (const input of inputNames(byName.get(name))) needed.add(input);
  }
  return { ...topology, node: nodes.filter(({ name }) => needed.has(name)) };
}

/** @param {GraphNode | undefined} node @returns {string[]} without the numbers of a node's second and further outputs */
const inputNames = (node) => (node?.input ?? []).map((name) => name.split(":")[0]);

/**
 * @param {string} name of the node that should be the formula
 * @param {Formula} formula
 * @param {Bound} bound what is known so far
 * @param {Map<string, GraphNode>} nodes
 * @returns {Bound | undefined} undefined if it is something else
 */
function match(name, formula, bound, nodes) {
  if (typeof formula === "string") {
    return (bound[formula] ?? name) === name ? { ...bound, [formula]: name } : undefined;
  }
  const [op, ...operands] = formula;
  const { op: found, input = [], attr } = nodes.get(name) ?? {};
  if (found !== op || (REDUCTIONS.includes(op) && !attr?.keep_dims.b)) return undefined;
  for (const inputs of COMMUTATIVE.includes(op) ? [input, input.toReversed()] : [input]) {
    /** @type {Bound | undefined} */
    let result = bound;
    for (const [i, operand] of operands.entries()) {
      result &&= match(inputs[i], operand, result, nodes);
    }
    if (result) return result;
  }
  return undefined;
}
