// An application that a bundler builds without configuration.
import * as layernorm from "layernorm";
import { checks } from "./checks.js";

Object.assign(globalThis, { finished: Promise.resolve({ main: checks(layernorm) }) });
