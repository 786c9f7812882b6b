// Report items of open dictionaries by their hashes, in Apple's sketches and in RAPPOR. The same hashes as Python's hash_family.
//
// An item is a fingerprint: two numbers below 2^31 − 1, as BigInts. Values of a domain are items of eight bytes; with
// domain 0 the value itself is a fingerprint, of any text.

import { joined, littleEndian } from "../draws.js";
import { sha256 } from "../sha256.js";
import { bitOf, bitmap, chance, flipOf, parity, rest, share, truth, twice, whole, widthOf } from "./parameters.js";

const P = (1n << 31n) - 1n;
const TAG = new TextEncoder().encode("discreet local row");
const HALF = { high: 2 ** 31, low: 0 };
const ALL = 1n << 64n;

function wordsOf(bytes, count) {
  const view = new DataView(sha256(bytes).buffer);
  return Array.from({ length: count }, (_, i) => view.getBigUint64(8 * i, true) % P);
}

/** The fingerprint of an item. */
export const fingerprint = (bytes) => wordsOf(bytes, 2);

/** Whether a value is a fingerprint. */
const isFingerprint = (value) =>
  Array.isArray(value) && value.length === 2 && value.every((x) => typeof x === "bigint" && x >= 0n && x < P);

/** (row, item) → place below m, by the public hash of the row. */
function placer(parameters, m) {
  whole(parameters, "seed", 0, 2 ** 63);
  const seed = new Uint8Array(8);
  new DataView(seed.buffer).setBigUint64(0, BigInt(parameters.seed), true);
  const known = new Map();
  return (row, [x, y]) => {
    if (!known.has(row)) known.set(row, wordsOf(joined(TAG, seed, littleEndian(row, 8)), 3));
    const [a, b, c] = known.get(row);
    return Number(((a * x + b * y + c) % P) % BigInt(m));
  };
}

/** The number of values, 0 if they are not listed, and a function that makes items of them. */
function valuesOf(parameters) {
  const domain = whole(parameters, "domain", 0, 2 ** 26);
  if (domain === 1) throw new RangeError("A domain must have at least two values.");
  if (domain) return { domain, item: (value) => fingerprint(littleEndian(value, 8)) };
  return { domain, fits: isFingerprint, item: (value) => value };
}

function sketch(parameters) {
  const rows = whole(parameters, "rows", 1, 2 ** 16);
  const columns = whole(parameters, "columns", 2, 2 ** 20);
  return { rows, columns, place: placer(parameters, columns), flip: flipOf(parameters) };
}

/** The count-mean sketch: a row, and all of its bits. */
export function cms(parameters) {
  const { domain, fits, item } = valuesOf(parameters);
  const { rows, columns, place, flip } = sketch(parameters);
  return {
    domain,
    fits,
    payloadBytes: 2 + Math.ceil(columns / 8),
    epsilon: 2 * truth(flip),
    encode: (value, draws) => {
      const row = draws.below(rows);
      const where = place(row, item(value));
      return joined(littleEndian(row, 2), bitmap(columns, (column) => (column === where) !== draws.coin(flip)));
    },
  };
}

/** The Hadamard count-mean sketch of items: a row, a coordinate and a sign in one number. */
export function signs(parameters) {
  const { rows, columns, place, flip } = sketch(parameters);
  if (!Number.isInteger(Math.log2(columns))) throw new RangeError(`columns must be a power of two (found: ${columns}).`);
  const payloadBytes = widthOf(2 * rows * columns);
  return {
    payloadBytes,
    epsilon: truth(flip),
    encode: (item, draws) => {
      const row = draws.below(rows);
      const coordinate = draws.below(columns);
      const sign = parity(place(row, item) & coordinate) ^ Number(draws.coin(flip));
      return littleEndian(2 * (row * columns + coordinate) + sign, payloadBytes);
    },
  };
}

export function hcms(parameters) {
  const { domain, fits, item } = valuesOf(parameters);
  const { encode, ...of } = signs(parameters);
  return { domain, fits, ...of, encode: (value, draws) => encode(item(value), draws) };
}

/** RAPPOR: a Bloom filter in a cohort, with permanent noise and fresh noise. */
export function rappor(parameters) {
  const { domain, fits, item } = valuesOf(parameters);
  const bits = whole(parameters, "bits", 1, 2 ** 14);
  const hashes = whole(parameters, "hashes", 1, 64);
  const cohorts = whole(parameters, "cohorts", 1, 2 ** 16);
  const [f, p, q] = [chance(parameters, "f"), chance(parameters, "p", 0n), chance(parameters, "q", 1n, ALL)];
  const place = placer(parameters, bits);
  const cohort = (draws) => draws.below(cohorts);
  const permanent = (value, draws, mine = cohort(draws)) => {
    const held = item(value);
    const set = new Set(Array.from({ length: hashes }, (_, i) => place(mine * hashes + i, held)));
    const replaced = Array.from({ length: bits }, () => draws.coin(f));
    const fair = Array.from({ length: bits }, () => draws.coin(HALF));
    return joined(littleEndian(mine, 2), bitmap(bits, (i) => (replaced[i] ? fair[i] : set.has(i))));
  };
  const instant = (answer, draws) =>
    joined(answer.subarray(0, 2), twice(bits, (i) => bitOf(answer.subarray(2), i), q, p, draws));
  const [one, zero] = [q, p].map((t) => (share(f) * (share(p) + share(q))) / 2 + rest(f) * share(t));
  const [notOne, notZero] = [q, p].map((t) => (share(f) * (rest(p) + rest(q))) / 2 + rest(f) * rest(t));
  return {
    domain,
    fits,
    payloadBytes: 2 + Math.ceil(bits / 8),
    epsilon: hashes * Math.log((one / zero) * (notZero / notOne)),
    permanentEpsilon: 2 * hashes * Math.log((2 - share(f)) / share(f)),
    cohort,
    permanent,
    instant,
    encode: (value, draws) => instant(permanent(value, draws), draws),
  };
}
