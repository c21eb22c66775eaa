// Server-side rendering: Vite builds this for Node, and what it renders is the page.
import * as layernorm from "layernorm";
import { checks } from "./checks.js";

export const render = () => `<output>${JSON.stringify(checks(layernorm))}</output>`;
