// WGSL modules: a kernel with the parts that it needs, and an accessor for each operand in the form in which it is stored.
import { wgsl } from "../generated/wgsl.js";

/** How an operand is stored: pairs of vectors for each run are records. */
export type StoredType = "float32" | "float16" | "bfloat16" | "record";

/** How a kernel sees an operand. */
export interface Access {
  /** The name in the kernel. */
  readonly name: string;
  /** The binding that it stands in. */
  readonly binding: number;
  readonly dtype: StoredType;
  /** Whether the binding is one of four elements each. */
  readonly quads: boolean;
  /** Whether it is one of 16 float32 each. */
  readonly blocks?: boolean;
  /** What the kernel asks for: elements, elements for those of x (each, the same for four, four that lie side by side), to store. */
  readonly does: readonly ("load" | "each" | "same" | "quad" | "store" | "record" | "statistic")[];
}

/** What a pipeline is made of. */
export interface Program {
  readonly kernel: string;
  readonly parts: readonly string[];
  readonly dtype: "float32" | "float16" | "bfloat16";
  readonly accesses: readonly Access[];
  /** Operands that are numbers, by their place in the uniform; of others that the kernel names nothing is left. */
  readonly numbers: Readonly<Record<string, number>>;
  readonly absent: readonly string[];
  /** Of each binding, whether it is written. */
  readonly bindings: readonly { readonly written: boolean; readonly type: string }[];
  readonly overrides: Readonly<Record<string, number>>;
}

/** What tells one program from another. */
export function keyOf(program: Program): string {
  return JSON.stringify(program);
}

/** The declaration of a binding of an element type. */
export function bindingType({ dtype, quads, blocks }: Access): string {
  if (dtype === "record") return "array<vec4f>";
  if (blocks) return "array<mat4x4f>";
  if (!quads) return "array<u32>";
  return dtype === "float32" ? "array<vec4u>" : "array<vec2u>";
}

const bytesName = (dtype: StoredType) => (dtype === "float32" ? "32" : "16");

/** The text of a module. */
export function textOf({
  kernel,
  parts,
  dtype,
  accesses,
  numbers,
  absent,
  bindings,
}: Program): string {
  const halves = new Set(accesses.map((access) => access.dtype).concat(dtype));
  const texts = [wgsl.dims!, wgsl.indices!];
  for (const half of ["float16", "bfloat16"] as const)
    if (halves.has(half)) texts.push(wgsl[half]!);
  texts.push(dtype === "float32" ? wgsl.float32! : wgsl.rounded_16!.replaceAll("DTYPE", dtype));
  for (const [i, { written, type }] of bindings.entries()) {
    const mode = written ? "read_write" : "read";
    texts.push(`@group(0) @binding(${i + 1}) var<storage, ${mode}> buffer_${i}: ${type};\n`);
  }
  for (const { name, binding, dtype: type, quads, blocks, does } of accesses) {
    const form = `${bytesName(type)}${blocks ? "_blocks" : quads ? "_quads" : ""}`;
    const fill = (text: string | undefined) =>
      texts.push(
        text!
          .replaceAll("OPERAND", name)
          .replaceAll("BUFFER", `buffer_${binding}`)
          .replaceAll("DTYPE", type),
      );
    for (const what of does) {
      if (what === "load") fill(wgsl[`operand_${form}`]);
      else if (what === "store") fill(wgsl[`store_${form}`]);
      else if (what === "statistic") fill(wgsl.statistic);
      else if (what !== "record") fill(wgsl[`parameter_${what}`]);
    }
  }
  for (const [name, index] of Object.entries(numbers)) {
    texts.push(wgsl.parameter_number!.replaceAll("OPERAND", name).replaceAll("NUMBER", `${index}`));
  }
  for (const name of absent) {
    texts.push(wgsl[absentText(name)]!.replaceAll("OPERAND", name));
  }
  const subgroups = parts.includes("reduce_subgroups");
  if (subgroups) texts.unshift(wgsl.enable_subgroups!);
  const entry = subgroups ? "entry_subgroups" : "entry";
  for (const part of [...parts, kernel, entry]) texts.push(wgsl[part]!);
  let text = texts.join("\n");
  for (const access of accesses) {
    if (access.dtype === "record")
      text = text.replaceAll(new RegExp(`\\b${access.name}\\[`, "g"), `buffer_${access.binding}[`);
  }
  return text;
}

/** What takes the place of an operand that is not there. */
function absentText(name: string): string {
  if (name === "mean" || name === "rstd") return "no_statistic";
  if (name.startsWith("grad_")) return "no_store";
  return name.startsWith("given_") ? "given_none" : "parameter_none";
}

/** The first error of a compilation, with its line and column and the source around it. */
export function describeMessage(
  kernel: string,
  text: string,
  { lineNum, linePos, message }: { lineNum: number; linePos: number; message: string },
): string {
  const lines = text.split("\n");
  const first = Math.max(0, lineNum - 3);
  const source = lines
    .slice(first, lineNum + 2)
    .map((line, i) => `${first + i + 1 === lineNum ? ">" : " "} ${first + i + 1} | ${line}`);
  return `WGSL of ${kernel}, line ${lineNum}, column ${linePos}: ${message}\n${source.join("\n")}`;
}
