export function violate() {
  const where = typeof document === "undefined" ? "Worker" : "page";
  console.log(`seen in the ${where}`);
  try {
    // biome-ignore lint/security/noGlobalEval: the policy forbids it
    globalThis.eval("1");
  } catch {}
}

if (typeof document === "undefined") {
  violate();
  postMessage("done");
}
