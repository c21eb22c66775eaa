import * as layernorm from "layernorm";
import { checks } from "./checks.js";

postMessage(checks(layernorm));
