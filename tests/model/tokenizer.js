/**
 * SentencePiece's unigram tokenizer: of all ways to cut a text into pieces of the vocabulary, the likeliest.
 * Kudo 2018, https://arxiv.org/abs/1804.10959
 */

/** Pieces with a meaning of their own, which no text contains; the first stands for unknown characters. */
const RESERVED = 6;
const UNKNOWN = 0;
const SPACE = "\u2581";

/**
 * @param {[piece: string, logProbability: number | null][]} vocabulary a few have none, which counts as 0
 * @returns {(text: string) => number[]} gives the pieces' positions in the vocabulary
 */
export function tokenizer(vocabulary) {
  const pieces = new Map(
    vocabulary.map(([piece, score], id) => [piece, { id, score: score ?? 0 }]),
  );
  for (const [piece] of vocabulary.slice(0, RESERVED)) pieces.delete(piece);
  const longest = Math.max(...vocabulary.map(([piece]) => [...piece].length));

  return (text) => {
    const characters = [...(SPACE + text.normalize("NFKC").replaceAll(" ", SPACE))];
    // The best way to reach each position: its score, and the last piece with its start.
    const best = characters.map(() => ({ score: -Infinity, start: 0, id: UNKNOWN }));
    best.unshift({ score: 0, start: 0, id: UNKNOWN });
    for (let start = 0; start < characters.length; start++) {
      let piece = "";
      for (let end = start + 1; end <= Math.min(start + longest, characters.length); end++) {
        piece += characters[end - 1];
        const known = pieces.get(piece);
        const { id, score } = known ?? { id: UNKNOWN, score: end === start + 1 ? 0 : -Infinity };
        const total = best[start].score + score;
        if (total >= best[end].score) best[end] = { score: total, start, id };
      }
    }
    /** @type {number[]} */
    const ids = [];
    for (let end = characters.length; end > 0; end = best[end].start) ids.unshift(best[end].id);
    return ids.filter((id, i) => id !== UNKNOWN || ids[i - 1] !== UNKNOWN);
  };
}
