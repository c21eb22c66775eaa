// What of Emscripten's glue ships: less than it makes.

import { minify } from "terser";
import { SetupError } from "./process.js";

/** @typedef {[pattern: string | RegExp, replacement: string]} Edit */

const EMPTY = "";

/**
 * Another value for one of the glue's functions; terser drops the one it had.
 *
 * @param {string} name
 * @param {string} value
 * @returns {Edit}
 */
const replaced = (name, value) => [`var ${name}=`, `var ${name}=${value},old_${name}=`];

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

// With 4 GB of memory pointers that come back are wrapped, every function of ours at 25 ns a call: who calls `allocate` and
// `create_call` does that (>>> 0).
/** @type {Edit[]} */
const POINTERS = [
  ['if(signature.includes("p")){return getDynCaller(signature,rawFunction,isAsync)}', EMPTY],
  ["wasmExports=applySignatureConversions(wasmExports);", EMPTY],
];

// What the types of our functions do not need: they take and return numbers, booleans and enumerators that are numbers.
/** @type {Edit[]} */
const TYPES = [
  ["switch(valueType){", 'switch("number"){'],
  ["switch(enumType.valueType){", 'switch("number"){'],
  [
    "function usesDestructorStack(argTypes){",
    "function usesDestructorStack(argTypes){return false;",
  ],
  // Reading them from memory, which is for members of objects and arrays.
  ...["integer", "enum", "float"].map((type) => replaced(`${type}ReadValueFromPointer`, "()=>{}")),
  ["readValueFromPointer:function(pointer){return this.fromWireType(HEAPU8[pointer>>>0])},", EMPTY],
  [
    /if\(HEAP8\?\.buffer\?\.resizable\)return;.*?HEAPU64=new BigUint64Array\(b\)/,
    "var b=getMemoryBuffer();HEAPU8=new Uint8Array(b);HEAPU32=new Uint32Array(b)",
  ],
];

// The module registers every type before what uses it, and every name once. That holds at each start or at none.
/** @type {Edit[]} */
const REGISTRATION = [
  [
    "return sharedRegisterType(rawType,registeredInstance,options)",
    "registeredTypes[rawType]=registeredInstance",
  ],
  replaced("requireRegisteredType", "type=>registeredTypes[type]"),
  replaced(
    "whenDependentTypesAreResolved",
    "(_,types,resolved)=>resolved(types.map(type=>registeredTypes[type]))",
  ),
  replaced("exposePublicSymbol", "(name,value)=>{Module[name]=value}"),
  replaced("replacePublicSymbol", "exposePublicSymbol"),
  replaced("throwBindingError", "()=>{}"),
  replaced("throwUnboundTypeError", "()=>{}"),
];

/**
 * Emscripten's glue as it ships: a function that gives an instance's imports, and starts it.
 *
 * @param {string} glue
 * @param {{ isShared?: boolean }} [options] whether its module's memory is shared by threads
 * @throws {SetupError} if it has another form
 */
export async function patchGlue(glue, { isShared = false } = {}) {
  let text = isShared ? glue.replaceAll(GROWN, "$1") : glue;
  const edits = [...LOADING, ...POINTERS, ...TYPES, ...REGISTRATION];
  for (const [pattern, replacement] of isShared ? [...SHARING, ...edits] : edits) {
    const parts = text.split(pattern);
    if (parts.length !== 2) {
      throw new SetupError(
        `Emscripten's glue has another form than tools/glue.js expects: ${pattern} matches ${parts.length - 1} times.`,
      );
    }
    text = parts.join(replacement);
  }
  const { code } = await minify(text, { module: true, compress: { passes: 3 } });
  const leftover = /import\.meta|new URL|fetch\(|new Function|\beval\(/.exec(code ?? "");
  if (!code || leftover) throw new SetupError(`Emscripten's glue still has ${leftover?.[0]}.`);
  return code;
}
