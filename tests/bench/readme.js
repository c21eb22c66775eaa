/** Writes the stored figures into README.md, between its bench markers, and makes the picture there. */

import { readFileSync, writeFileSync } from "node:fs";
import { exactnessMarkdown, replaceBlock, speedMarkdown } from "./markdown.js";
import { storedReport } from "./store.js";
import { speedSvg } from "./svg.js";

const PICTURE = "tests/bench/results/speed.svg";
const ROOT = new URL("../../", import.meta.url);

const node = storedReport("node");
if (node === null) throw new Error("tests/bench/results/node.json is not there: npm run bench");

const readme = new URL("README.md", ROOT);
let text = readFileSync(readme, "utf8");
text = replaceBlock(text, "speed", speedMarkdown(node, storedReport("chromium"), PICTURE));
text = replaceBlock(text, "exactness", exactnessMarkdown(node));
writeFileSync(readme, text);
writeFileSync(new URL(PICTURE, ROOT), speedSvg(node, "layerNorm"));
console.log(`Written: README.md, ${PICTURE}`);
