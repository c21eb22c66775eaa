// What of Emscripten's glue ships: less than it makes.

import { minify } from "terser";
import { SetupError } from "./process.js";

/** @typedef {[pattern: string | RegExp, replacement: string]} Edit */

const EMPTY = "";

/**
 * What is called where the module registers something.
 *
 * @param {string} what
 * @param {string} value
 * @returns {Edit}
 */
const registering = (what, value) => [`:__embind_register_${what},`, `:${value},`];

// What the glue of a module whose memory is shared has beside the other's: it looks for memory that a thread has made grow
// wherever it reads, and makes the memory, which here comes from our code.
/** @type {Edit[]} */
const SHARING = [
  ["function growMemViews(){if(wasmMemory.buffer!=HEAP8.buffer){updateMemoryViews()}}", EMPTY],
  ["if(HEAP8?.buffer?.growable)return;", "if(HEAP8?.buffer?.resizable)return;"],
  [
    /function initMemory\(\)\{if\(Module\["wasmMemory"\]\).*?shared:true\}\)\}/,
    'function initMemory(){wasmMemory=Module["wasmMemory"];',
  ],
  ["{initMemory();", "initMemory();{"],
];
const GROWN = /\(growMemViews\(\),(HEAP\w+)\)/g;

// Emscripten's glue finds, compiles and instantiates by itself, behind a promise. These let our code do it, and take out
// what names files or Node's modules.
/** @type {Edit[]} */
const LOADING = [
  ["async function Module(moduleArg={})", "function Module(moduleArg={})"],
  ["var _scriptName=import.meta.url;", EMPTY],
  // For messages of what is taken out.
  ["var out=console.log.bind(console);var err=console.error.bind(console);", EMPTY],
  ['try{scriptDirectory=new URL(".",_scriptName).href}catch{}', EMPTY],
  ["function createWasm(){", "function createWasm(instance){"],
  [
    /var info=getWasmImports\(\);var instantiateWasm=.*?return receiveInstance\(result\[0\](?:,result\[1\])?\)/,
    "return receiveInstance(instance)",
  ],
  [
    /wasmExports=createWasm\(\);await run\(\);\s*;return Module/,
    'Module["imports"]=getWasmImports();' +
      'Module["start"]=instance=>{wasmExports=createWasm(instance);initRuntime();return Module};return Module',
  ],
  // Options of Emscripten's that its user would pass.
  [/\{if\(Module\["noExitRuntime"\]\).*?preInit\.shift\(\)\(\)\}\}\}/, EMPTY],
];

// What Embind registers is registered once, by our module, whose functions take and return numbers, booleans and enumerators
// that are numbers. Wasm converts these itself: no types are needed, no closure for each signature, no checks of what comes when.
// Arguments that it is given beyond its own it leaves alone. Addresses that come back are signed: who calls `allocate` and
// `create_call` sees to that (>>> 0).
/** @type {Edit[]} */
const EMBIND = [
  ...["void", "bool", "integer", "float"].map((type) => registering(type, "()=>{}")),
  registering(
    "function",
    "(name,count,types,signature,invoker,fn)=>{const call=wasmTable.get(invoker);" +
      "Module[AsciiToString(name)]=(a,b,c,d,e,f,g)=>call(fn,a,b,c,d,e,f,g)}",
  ),
  registering("enum", "(type,name)=>{Module[AsciiToString(name)]=registeredTypes[type]={}}"),
  registering(
    "enum_value",
    "(type,name,value)=>{registeredTypes[type][AsciiToString(name)]=value}",
  ),
  ["wasmExports=applySignatureConversions(wasmExports);", EMPTY],
  [
    /if\(HEAP8\?\.buffer\?\.resizable\)return;.*?HEAPU64=new BigUint64Array\(b\)/,
    "HEAPU8=new Uint8Array(getMemoryBuffer())",
  ],
];

/** What it must not have afterwards. */
const LEFTOVER = /import\.meta|new URL|fetch\(|new Function|\beval\(|\b(?:out|err)\(/;

/**
 * Emscripten's glue as it ships: a function that gives an instance's imports, and starts it.
 *
 * @param {string} glue
 * @param {{ isShared?: boolean }} [options] whether its module's memory is shared by threads
 * @throws {SetupError} if it has another form
 */
export async function patchGlue(glue, { isShared = false } = {}) {
  let text = isShared ? glue.replaceAll(GROWN, "$1") : glue;
  const edits = [...LOADING, ...EMBIND];
  for (const [pattern, replacement] of isShared ? [...SHARING, ...edits] : edits) {
    const parts = text.split(pattern);
    if (parts.length !== 2) {
      throw new SetupError(
        `Emscripten's glue has another form than tools/glue.js expects: ${pattern} matches ${parts.length - 1} times.`,
      );
    }
    text = parts.join(replacement);
  }
  // What is read and not used is data of the module's exports.
  const compress = { passes: 3, pure_getters: true };
  const { code } = await minify(text, { module: true, compress });
  const leftover = LEFTOVER.exec(code ?? "");
  if (!code || leftover) throw new SetupError(`Emscripten's glue still has ${leftover?.[0]}.`);
  return code;
}
