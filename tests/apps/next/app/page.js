// Rendered by the server at each request; the client's part is rendered by both.
import * as layernorm from "layernorm";
import { checks } from "../checks.js";
import { Client } from "./client.js";

export const dynamic = "force-dynamic";

export default function Page() {
  return (
    <main>
      <output id="server">{JSON.stringify(checks(layernorm))}</output>
      <Client />
    </main>
  );
}
