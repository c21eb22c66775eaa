"use client";
import * as layernorm from "layernorm";
import { useEffect, useState } from "react";
import { checks } from "../checks.js";

export function Client() {
  const [seen, setSeen] = useState("");
  useEffect(() => setSeen(JSON.stringify(checks(layernorm))), []);
  return (
    <>
      <output id="both">{JSON.stringify(checks(layernorm))}</output>
      <output id="client">{seen}</output>
    </>
  );
}
