// A binary as the text that modules carry it in; tools/build.js writes it.

export interface WasmText {
  readonly alphabet: string;
  readonly frequent: string;
  readonly size: number;
  readonly text: string;
}

/** The `size` bytes of a text. */
export function bytesOf({ alphabet, frequent, size, text }: WasmText): Uint8Array<ArrayBuffer> {
  // The frequent bytes stand as one character; the last two characters of the alphabet are prefixes of the others. Bytes
  // that are whole characters compress as well as the binary does.
  const single = alphabet.length - 2;
  const order = frequent.match(/../g)!.map((hex) => Number.parseInt(hex, 16));
  for (let byte = 0; byte < 256; byte++) if (!order.includes(byte)) order.push(byte);
  // What a character stands for, by itself and behind each prefix; a prefix for where the characters behind it begin. The loop
  // runs before engines optimize it, so it does little.
  const table = new Uint16Array(3 * 128);
  for (let i = 0; i < 3 * single; i++) {
    table[Math.floor(i / single) * 128 + alphabet.charCodeAt(i % single)] = order[i]!;
  }
  table[alphabet.charCodeAt(single)] = 256 + 128;
  table[alphabet.charCodeAt(single + 1)] = 256 + 2 * 128;
  const bytes = new TextEncoder().encode(text);
  const { length } = bytes;
  for (let from = 0, to = 0; from < length; ) {
    let value = table[bytes[from++]!]!;
    if (value > 255) value = table[value - 256 + bytes[from++]!]!;
    bytes[to++] = value;
  }
  return bytes.subarray(0, size);
}
