// Report words of an alphabet: prefixes for a tree, fragments for a puzzle. A word is a row of symbols, as in Python's strings.

import { joined } from "../draws.js";
import { sha256 } from "../sha256.js";
import { fingerprint, signs } from "./hashed.js";
import { whole } from "./parameters.js";

const PUZZLE = new TextEncoder().encode("discreet local puzzle");
const WORD = Uint8Array.of(0xff);

/** A text as symbols: 0 after its end, letters from 1, and one more for all other letters. Longer texts are cut off. */
export function symbolsOf(text, letters, length) {
  const known = [...letters];
  const word = new Uint8Array(length);
  [...text].slice(0, length).forEach((letter, i) => {
    const at = known.indexOf(letter);
    word[i] = at < 0 ? known.length + 1 : at + 1;
  });
  return word;
}

function words(parameters, longest, continuations) {
  const symbols = whole(parameters, "symbols", 3, 252);
  const length = whole(parameters, "length", 1, longest);
  const step = whole(parameters, "step", 1, length);
  if (length % step || symbols ** step > continuations)
    throw new RangeError(`step=${step} does not fit words of ${length} out of ${symbols} symbols.`);
  const fits = (word) => word instanceof Uint8Array && word.length === length && word.every((each) => each < symbols);
  return { domain: 0, words: { symbols, length }, fits, step, parts: length / step };
}

/** A level of the tree, and a report on the prefix of that level. */
export function prefixTree(parameters) {
  const { step, parts, ...values } = words(parameters, 255, 2 ** 15);
  const { encode, epsilon, payloadBytes } = signs(parameters);
  return {
    ...values,
    payloadBytes: 1 + payloadBytes,
    epsilon,
    encode: (word, draws) => {
      const level = Uint8Array.of(draws.below(parts));
      const prefix = fingerprint(joined(level, word.subarray(0, (level[0] + 1) * step)));
      return joined(level, encode(prefix, draws));
    },
  };
}

/** A position, a report on the fragment there with a byte of the word's hash, and a report on the word. */
export function fragments(parameters) {
  const { step, parts, ...values } = words(parameters, 254, 2 ** 12);
  const [fragment, word] = ["flip_fragment", "flip_word"].map((flip) => signs({ ...parameters, flip: parameters[flip] }));
  return {
    ...values,
    payloadBytes: 1 + fragment.payloadBytes + word.payloadBytes,
    epsilon: fragment.epsilon + word.epsilon,
    encode: (held, draws) => {
      const position = Uint8Array.of(draws.below(parts));
      const piece = sha256(joined(PUZZLE, held)).subarray(0, 1);
      const cut = held.subarray(position[0] * step, (position[0] + 1) * step);
      const first = fragment.encode(fingerprint(joined(position, cut, piece)), draws);
      return joined(position, first, word.encode(fingerprint(joined(WORD, held)), draws));
    },
  };
}
