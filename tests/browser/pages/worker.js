import * as layernorm from "../../../dist/index.js";
import { checks } from "./checks.js";

postMessage(checks(layernorm));
