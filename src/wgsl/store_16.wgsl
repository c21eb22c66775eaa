// Two elements share a word. A word whose other half belongs to someone else keeps that half.
fn store_OPERAND_word(at: u32, word: u32, mask: vec2<bool>) {
  if (all(mask)) {
    BUFFER[at] = word;
  } else if (any(mask)) {
    let keep = select(0xffff0000u, 0xffffu, mask.y);
    BUFFER[at] = (BUFFER[at] & keep) | (word & ~keep);
  }
}

// i is even.
fn store_OPERAND(i: u32, v: vec4f, mask: vec4<bool>) {
  let words = pack_DTYPE(v);
  store_OPERAND_word(i >> 1u, words.x, mask.xy);
  store_OPERAND_word((i >> 1u) + 1u, words.y, mask.zw);
}
