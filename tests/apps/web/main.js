// An application that a bundler builds without configuration.
import * as layernorm from "layernorm";
import { checks } from "./checks.js";
import { others } from "./others.js";

const finished = others().then((rest) => ({ main: checks(layernorm), others: rest }));
Object.assign(globalThis, { finished });
