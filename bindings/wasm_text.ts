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
  const values = new Uint8Array(128);
  for (let i = 0; i < alphabet.length; i++) values[alphabet.charCodeAt(i)] = i;
  const bytes = new Uint8Array(size);
  for (let i = 0, at = 0; i < text.length; i++) {
    let value = values[text.charCodeAt(i)]!;
    if (value >= single) value = (value - single + 1) * single + values[text.charCodeAt(++i)]!;
    bytes[at++] = order[value]!;
  }
  return bytes;
}
