import * as layernorm from "../../../dist/index.js";
import { hashCases } from "../../js/hash_cases.js";

Object.assign(globalThis, { finished: hashCases(layernorm) });
