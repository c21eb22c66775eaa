// Recurrent cells with layer normalization, for `tf.layers.rnn({ cell })`.
import {
  add,
  concat,
  matMul,
  mul,
  reshape,
  type serialization,
  sigmoid,
  split,
  sub,
  type Tensor,
  tanh,
  tidy,
} from "@tensorflow/tfjs-core";
import { initializers, type LayerVariable, layers, type Shape } from "@tensorflow/tfjs-layers";
import { describe, wrongType, wrongValue } from "../errors.js";
import { choice, readCount, readEps, readFlag } from "../option_readers.js";
import { baseArgs, type LayerArgs, oneShape } from "./norms.js";
import { layerNorm } from "./ops.js";

type Config = serialization.ConfigDict;

/**
 * Which sums are normalized, for LSTM cells with gates i, f, g, o and GRU cells with gates z, r. `LN` is layer normalization
 * with a gain (`gamma`) and a bias (`beta`) of its own.
 *
 * `ba2016`: the input's part and the state's part by themselves, each over all gates together, as Ba, Kiros and Hinton have
 * it (https://arxiv.org/abs/1607.06450, supplement).
 * - LSTM: `(i, f, g, o) = LN(x W) + LN(h U) + b`
 * - GRU: `(z, r) = LN(x W_zr) + LN(h U_zr)`, `n = tanh(LN(x W_n) + r * LN(h U_n))`
 *
 * `perGate`: the sum of both parts, each gate by itself, as TensorFlow 1's LayerNormBasicLSTMCell has it.
 * - LSTM: `i = LN(x W_i + h U_i)`, and f, g, o alike
 * - GRU: `z = LN(x W_z + h U_z)`, r alike, `n = tanh(LN(x W_n + r * (h U_n)))`
 *
 * `fusedGates`: the sum of both parts, over all gates together.
 * - LSTM: `(i, f, g, o) = LN(x W + h U)`
 * - GRU: `(z, r) = LN(x W_zr + h U_zr)`, `n = tanh(LN(x W_n + r * (h U_n)))`
 *
 * In all of them, LSTM: `c' = sigmoid(f) * c + sigmoid(i) * tanh(g)`, `h' = sigmoid(o) * tanh(LN(c'))`, and GRU, with sigmoid
 * applied to z and r: `h' = (1 - z) * h + z * n`.
 */
export type CellDefinition = "ba2016" | "perGate" | "fusedGates";

const readDefinition = choice<CellDefinition>(["ba2016", "perGate", "fusedGates"]);

type Named = string | object | null | undefined;

/** Arguments of both cells. */
export interface LayerNormCellArgs extends LayerArgs {
  /** The size of the state. */
  units: number;
  /** Which sums are normalized. Default: `ba2016`. */
  definition?: CellDefinition | undefined;
  /** Added to the variance inside the root. Default: 1e-5. */
  epsilon?: number | undefined;
  /** Of W. Default: `glorotUniform`. */
  kernelInitializer?: Named;
  /** Of U. Default: `glorotUniform`. */
  recurrentInitializer?: Named;
  kernelRegularizer?: Named;
  recurrentRegularizer?: Named;
  kernelConstraint?: Named;
  recurrentConstraint?: Named;
}

/** Arguments of `LayerNormLSTMCell`. */
export interface LayerNormLSTMCellArgs extends LayerNormCellArgs {
  /** Whether the forget gate's bias (of `ba2016`, b; else beta) is 1 at first. Default: true. */
  unitForgetBias?: boolean | undefined;
}

const KERNELS = [
  "kernelInitializer",
  "recurrentInitializer",
  "kernelRegularizer",
  "recurrentRegularizer",
  "kernelConstraint",
  "recurrentConstraint",
] as const;

const CELL = ["units", "definition", "epsilon"];
/** What Keras's cells have, and these do not. */
const DROPOUT = ["dropout", "recurrentDropout"];

/** A gain and a bias. */
interface Norm {
  readonly gamma: LayerVariable;
  readonly beta: LayerVariable;
}

/** Layer normalization of each of `parts` equal parts of the last dimension. */
function normalized(x: Tensor, gamma: Tensor, beta: Tensor, eps: number, parts = 1): Tensor {
  if (parts === 1) return layerNorm(x, { weight: gamma, bias: beta, eps });
  const [batch, size] = x.shape as [number, number];
  const each = layerNorm(reshape(x, [batch, parts, size / parts]), { eps });
  return add(mul(reshape(each, x.shape), gamma), beta);
}

abstract class LayerNormCell extends layers.RNNCell {
  protected readonly units: number;
  protected readonly definition: CellDefinition;
  protected readonly epsilon: number;
  protected kernel: LayerVariable | undefined;
  protected recurrentKernel: LayerVariable | undefined;
  /** TensorFlow.js's own cell with the same arguments: it reads them and writes their configuration. */
  readonly #kernels: layers.Layer;

  protected constructor(
    protected readonly where: string,
    args: LayerNormCellArgs,
    own: readonly string[],
    /** How many times W and U are as wide as the state. */
    protected readonly width: number,
  ) {
    super(baseArgs(where, args, [...CELL, ...own, ...KERNELS, ...DROPOUT]));
    this.units = readCount(where, "units", args.units);
    this.definition = readDefinition(where, "definition", args.definition ?? "ba2016");
    this.epsilon = readEps(where, "epsilon", args.epsilon ?? 1e-5);
    for (const name of DROPOUT) {
      const rate: unknown = args[name as keyof LayerNormCellArgs];
      if (rate) throw wrongValue(where, name, "0, since there is none", describe(rate));
    }
    const given = KERNELS.map((name) => [name, args[name] ?? undefined]);
    this.#kernels = layers.lstmCell({
      kernelInitializer: "glorotUniform",
      // Keras's orthogonal one needs methods of tensors that only the whole of TensorFlow.js has.
      recurrentInitializer: "glorotUniform",
      ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
      units: this.units,
      name: "kernels",
    });
  }

  /** What console.log shows: the build shortens the names of classes. @internal */
  get [Symbol.toStringTag](): string {
    return this.where;
  }

  override build(inputShape: Shape | Shape[]): void {
    const inputs = oneShape(this.where, inputShape).at(-1);
    if (typeof inputs !== "number") {
      throw wrongType(this.where, "inputShape", "a known number of features", `${inputs}`);
    }
    const own = this.#kernels as unknown as Record<(typeof KERNELS)[number], never>;
    const size = this.units * this.width;
    const add = (name: string, of: "kernel" | "recurrent", rows: number) =>
      this.addWeight(
        name,
        [rows, size],
        "float32",
        own[`${of}Initializer`],
        own[`${of}Regularizer`],
        true,
        own[`${of}Constraint`],
      );
    this.kernel = add("kernel", "kernel", inputs);
    this.recurrentKernel = add("recurrent_kernel", "recurrent", this.units);
    this.buildNorms();
    this.built = true;
  }

  protected abstract buildNorms(): void;

  protected addNorm(
    name: string,
    units: number,
    beta: ReturnType<typeof initializers.zeros> = initializers.zeros(),
  ): Norm {
    const size = [units];
    return {
      gamma: this.addWeight(`${name}_gamma`, size, "float32", initializers.ones()),
      beta: this.addWeight(`${name}_beta`, size, "float32", beta),
    };
  }

  /** The input's and the state's part of all sums. */
  protected sums(x: Tensor, h: Tensor): [input: Tensor, state: Tensor] {
    return [matMul(x, this.kernel!.read()), matMul(h, this.recurrentKernel!.read())];
  }

  protected norm(x: Tensor, { gamma, beta }: Norm, parts = 1): Tensor {
    return normalized(x, gamma.read(), beta.read(), this.epsilon, parts);
  }

  protected states(inputs: Tensor | Tensor[], count: number): Tensor[] {
    if (!Array.isArray(inputs) || inputs.length !== count) {
      const got = Array.isArray(inputs) ? inputs.length : 1;
      throw wrongValue(this.where, "inputs", `${count} tensors, x and the states`, `${got}`);
    }
    return inputs;
  }

  override getConfig(): Config {
    const { units, definition, epsilon } = this;
    const kernels = this.#kernels.getConfig();
    const named = KERNELS.map((name) => [name, kernels[name]]);
    return { ...super.getConfig(), units, definition, epsilon, ...Object.fromEntries(named) };
  }
}

/** An LSTM cell with layer normalization, whose `definition` says where. Its states are h and c. */
export class LayerNormLSTMCell extends LayerNormCell {
  static className = "LayerNormLSTMCell";
  override stateSize: number[];
  protected readonly unitForgetBias: boolean;
  #inputNorm: Norm | undefined;
  #recurrentNorm: Norm | undefined;
  #gatesNorm: Norm | undefined;
  #stateNorm: Norm | undefined;
  #bias: LayerVariable | undefined;

  constructor(args: LayerNormLSTMCellArgs) {
    super("LayerNormLSTMCell", args, ["unitForgetBias"], 4);
    this.unitForgetBias = readFlag(this.where, "unitForgetBias", args.unitForgetBias ?? true);
    this.stateSize = [this.units, this.units];
  }

  protected override buildNorms(): void {
    const { units, unitForgetBias } = this;
    // The gates' order is Keras's: i, f, g, o.
    const forget = {
      apply: () => {
        const zeros = initializers.zeros();
        if (!unitForgetBias) return zeros.apply([4 * units]);
        const ones = initializers.ones().apply([units]);
        return concat([zeros.apply([units]), ones, zeros.apply([2 * units])]);
      },
    };
    if (this.definition === "ba2016") {
      this.#inputNorm = this.addNorm("kernel_norm", 4 * units);
      this.#recurrentNorm = this.addNorm("recurrent_norm", 4 * units);
      this.#bias = this.addWeight("bias", [4 * units], "float32", forget);
    } else {
      this.#gatesNorm = this.addNorm("gates_norm", 4 * units, forget);
    }
    this.#stateNorm = this.addNorm("state_norm", units);
  }

  override call(inputs: Tensor | Tensor[], _kwargs: object): Tensor[] {
    return tidy(() => {
      const [x, h, c] = this.states(inputs, 3) as [Tensor, Tensor, Tensor];
      const [input, state] = this.sums(x, h);
      const gates =
        this.definition === "ba2016"
          ? add(
              add(this.norm(input, this.#inputNorm!), this.norm(state, this.#recurrentNorm!)),
              this.#bias!.read(),
            )
          : this.norm(add(input, state), this.#gatesNorm!, this.definition === "perGate" ? 4 : 1);
      const [i, f, g, o] = split(gates, 4, 1) as [Tensor, Tensor, Tensor, Tensor];
      const nextC = add(mul(sigmoid(f), c), mul(sigmoid(i), tanh(g)));
      const nextH = mul(sigmoid(o), tanh(this.norm(nextC, this.#stateNorm!)));
      return [nextH, nextH, nextC];
    });
  }

  override getConfig(): Config {
    return { ...super.getConfig(), unitForgetBias: this.unitForgetBias };
  }
}

/** A GRU cell with layer normalization, whose `definition` says where. Its state is h. */
export class LayerNormGRUCell extends LayerNormCell {
  static className = "LayerNormGRUCell";
  override stateSize: number;
  // Of ba2016 the input's part and the state's, else those of the sums: of both gates, and of the candidate.
  #gates: Norm[] = [];
  #candidate: Norm[] = [];

  constructor(args: LayerNormCellArgs) {
    super("LayerNormGRUCell", args, [], 3);
    this.stateSize = this.units;
  }

  protected override buildNorms(): void {
    const { units } = this;
    const parts = this.definition === "ba2016" ? ["kernel", "recurrent"] : ["gates"];
    this.#gates = parts.map((part) => this.addNorm(`${part}_norm`, 2 * units));
    this.#candidate = parts.map((part) => this.addNorm(`${part}_candidate_norm`, units));
  }

  override call(inputs: Tensor | Tensor[], _kwargs: object): Tensor[] {
    return tidy(() => {
      const [x, h] = this.states(inputs, 2) as [Tensor, Tensor];
      const { units, definition } = this;
      const sizes = [2 * units, units];
      const [input, state] = this.sums(x, h);
      // The gates' order is Keras's: z, r, n.
      const [inputGates, inputCandidate] = split(input, sizes, 1) as [Tensor, Tensor];
      const [stateGates, stateCandidate] = split(state, sizes, 1) as [Tensor, Tensor];
      const [gatesNorm, recurrentGatesNorm] = this.#gates as [Norm, Norm];
      const [candidateNorm, recurrentCandidateNorm] = this.#candidate as [Norm, Norm];
      const gates =
        definition === "ba2016"
          ? add(this.norm(inputGates, gatesNorm), this.norm(stateGates, recurrentGatesNorm))
          : this.norm(add(inputGates, stateGates), gatesNorm, definition === "perGate" ? 2 : 1);
      const [z, r] = split(sigmoid(gates), 2, 1) as [Tensor, Tensor];
      const candidate =
        definition === "ba2016"
          ? add(
              this.norm(inputCandidate, candidateNorm),
              mul(r, this.norm(stateCandidate, recurrentCandidateNorm)),
            )
          : this.norm(add(inputCandidate, mul(r, stateCandidate)), candidateNorm);
      const next = add(mul(sub(1, z), h), mul(z, tanh(candidate)));
      return [next, next];
    });
  }
}
