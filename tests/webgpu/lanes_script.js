/** Subgroups of the driver that the environment names: subgroups.test.js starts it with a time in milliseconds. */
import { WebGpuNorm } from "../../dist/webgpu.js";
import { adapter, skip } from "./adapter.js";
import { sweepSubgroups } from "./subgroups.js";

const tell = (/** @type {object} */ found) => console.log(JSON.stringify(found));

if (skip) {
  tell({ reason: skip });
} else {
  const { vendor, description, subgroupMaxSize } = adapter.info;
  const name = `${vendor} ${description}`;
  if (!adapter.features.has("subgroups")) {
    tell({ reason: `${name} has no subgroups` });
  } else if (subgroupMaxSize < 16) {
    tell({ reason: `${name} has subgroups of ${subgroupMaxSize} lanes, which are those of a CPU` });
  } else {
    const norm = await WebGpuNorm.create({ adapter });
    tell({ ...(await sweepSubgroups(norm, Number(process.argv[2]))), name });
    norm.dispose();
  }
}
