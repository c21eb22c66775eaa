/** Runs by subgroups that are not those of a CPU: lanes keep their values, and sum up with those of their subgroup. */
import { sweep } from "./sweep.js";

/** @typedef {{ least: number, most: number }} Lanes */

/**
 * A sweep of runs that subgroups of so many lanes take: shorter than those that need a workgroup, and so long that pieces of them
 * are merged.
 * @param {any} norm a WebGpuNorm
 * @param {number} time in milliseconds
 * @param {Lanes} [told] what the device says of its subgroups in place of the truth, which has to lie between
 */
export async function sweepSubgroups(norm, time, told) {
  const { device } = norm;
  const { subgroupMinSize, subgroupMaxSize } = device.adapterInfo;
  const { least, most } = told ?? { least: subgroupMinSize, most: subgroupMaxSize };
  // Kernels by how their lanes sum up.
  const kernels = { held: 0, merged: 0, wide: 0 };
  const watched = new Proxy(device, {
    get(target, name) {
      if (name === "adapterInfo") return { subgroupMinSize: least, subgroupMaxSize: most };
      const value = target[name];
      if (name === "createShaderModule") {
        return (/** @type {{ code: string, label: string }} */ descriptor) => {
          const { code, label } = descriptor;
          if (code.includes("enable subgroups;")) {
            kernels.held += +code.includes("fn fetch(") & +code.includes("held_quads");
            kernels.merged += +(label === "merge_kernel");
            kernels.wide += +code.includes("subgroupShuffleXor");
          }
          return target.createShaderModule(descriptor);
        };
      }
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const longest = 32 * least;
  const sizes = [
    [longest, 2],
    [8200, 1],
    [17, 5],
    [longest - 3, 3],
    [longest / 2 + 1, 4],
    [64, 3],
  ];
  // Where values of a run stand side by side: others have a lane for each run.
  const only = /^(rows|channels first|first and last axis)$/;
  const found = await sweep(new norm.constructor(watched), time, {
    sizes,
    only,
    // What this is for did run.
    isEnough: () => Object.values(kernels).every((count) => count > 0),
  });
  return { ...found, kernels, lanes: [least, most] };
}
