// Translate values for a protocol: labels or numbers, words of an alphabet, or any texts. As in Python's discreet.local.collection.domains.

import { bigEndian } from "./draws.js";
import { sha256 } from "./sha256.js";
import { fingerprint } from "./protocols/hashed.js";
import { symbolsOf } from "./protocols/words.js";

const TEXTS = ["cms", "hcms", "rappor"];
const utf8 = new TextEncoder();

/** A collection that is not valid. The message says what to do. */
export class CollectionError extends Error {}

/** A count of a collection's text: a whole number from 1 that a double holds, in digits alone. */
export function counted(written, name) {
  if (typeof written !== "string" || !/^[1-9][0-9]*$/.test(written) || !Number.isSafeInteger(Number(written)))
    throw new CollectionError(`${name} must be a whole number from 1 to 2^53 − 1 in digits (found: ${written}). Fetch it again.`);
  return Number(written);
}

/** The domain of a collection's text, if its protocol is for such values. */
export function domainOf(written, made) {
  if (!Array.isArray(written) && "letters" in written) {
    const alphabet = { letters: written.letters, length: counted(written.length, "length") };
    const letters = [...alphabet.letters];
    const mine = new Set(letters).size === letters.length && made.words;
    if (!mine || made.words.symbols !== letters.length + 2 || made.words.length !== alphabet.length)
      throw new CollectionError("The protocol is for other words than those of the alphabet.");
    return { labels: null, digest: null, alphabet };
  }
  if (!Array.isArray(written) && "texts" in written) {
    if (written.texts !== "utf-8" || made.domain !== 0 || !TEXTS.includes(made.name))
      throw new CollectionError("The protocol is not for an open dictionary of texts.");
    return { labels: null, digest: null, alphabet: null };
  }
  const labels = Array.isArray(written) ? written : null;
  const size = labels ? labels.length : counted(written.size, "size");
  if (size !== made.domain || size === 0)
    throw new CollectionError(`The protocol is for ${made.domain} values, and the domain has another number.`);
  return { labels, digest: labels ? null : (written.sha256 ?? null), alphabet: null };
}

/** A value as the protocol takes it, and the key from which its permanent answer follows. */
export function oneOf(collection, value) {
  if (collection.randomiser.domain) return atPlace(placeOf(collection, value));
  const text = typeof value === "string" ? value : collection.null;
  if (text === null) throw new CollectionError("The value is not a text, and the collection has no text for that.");
  if (collection.alphabet) {
    const held = symbolsOf(text, collection.alphabet.letters, collection.alphabet.length);
    return { held, key: sha256(held) };
  }
  const bytes = utf8.encode(text);
  return { held: fingerprint(bytes), key: sha256(bytes) };
}

/** The same for a value given by its place. */
export const atPlace = (place) => ({ held: place, key: bigEndian(place, 8) });

/** Whether this may be the null of a collection's text: a label, a place in digits, or a text. */
export function standsForNothing(written, { labels, digest }, made) {
  if (typeof written !== "string") return false;
  if (labels) return labels.includes(written);
  if (!made.domain || digest !== null) return true; // labels that are not known yet: withLabels looks again
  return /^(0|[1-9][0-9]*)$/.test(written) && Number(written) < made.domain;
}

/** The number of a value, or of null for a value outside the domain. */
export function placeOf(collection, value) {
  const { labels, digest, randomiser: made } = collection;
  if (!labels) {
    if (digest !== null) throw new CollectionError("The text has only the hash of the labels. Use withLabels(collection, labels) first.");
    if (Number.isInteger(value) && value >= 0 && value < made.domain) return value;
    if (collection.null !== null) return Number(collection.null);
    throw new CollectionError("The value is not in the domain, and the collection has no place for that.");
  }
  const place = labels.indexOf(value);
  if (place >= 0) return place;
  if (collection.null !== null) return labels.indexOf(collection.null);
  throw new CollectionError("The value is not in the domain, and the collection has no label for that.");
}
