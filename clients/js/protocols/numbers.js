// Report numbers on a grid: one bit, a few bits, windows that move with the value. Laws are in Python's one_bit_mean,
// dbitflip, means and square_wave.

import { bigEndian, joined, keyed, littleEndian } from "../draws.js";
import { bitmap, chance, flipOf, floyd, rest, share, truth, whole, widthOf } from "./parameters.js";

const log = Math.log;
const ascii = new TextEncoder();
const ALL = 1n << 64n;
const ROUNDING = 1e-12; // of doubles: a window may be as likely as what is outside

/** One end of the grid, rounded and flipped. Its cases are the sides of the device's own point. */
export function oneBitMean(parameters) {
  const domain = whole(parameters, "domain", 2, 2 ** 53 - 1);
  const flip = flipOf(parameters);
  const told = (end, draws) => Uint8Array.of(Number(end !== draws.coin(flip)));
  const caseOf = (value, key, context) =>
    keyed(key, joined(context, ascii.encode("|alpha")), (draws) => Number(draws.below(domain - 1) < value));
  return {
    domain,
    payloadBytes: 1,
    epsilon: truth(flip),
    encode: (value, draws) => told(draws.below(domain - 1) < value, draws),
    caseOf,
    remembered: async (value, key, context) => {
      const end = await caseOf(value, key, context);
      const settled = joined(context, ascii.encode("|end"), Uint8Array.of(end));
      return keyed(key, settled, (draws) => told(end === 1, draws));
    },
  };
}

/** Bits about a few buckets. Its cases are the device's own buckets, and none of them. */
export function bitFlip(parameters) {
  const domain = whole(parameters, "domain", 2, 2 ** 16);
  const bits = whole(parameters, "bits", 1, domain);
  const flip = flipOf(parameters);
  const buckets = (draws) => floyd(domain, bits, draws).sort((a, b) => a - b);
  const own = (key, context) => keyed(key, joined(context, ascii.encode("|buckets")), buckets);
  const told = (listed, value, draws) =>
    joined(
      ...listed.map((bucket) => littleEndian(bucket, 2)),
      bitmap(bits, (place) => (listed[place] === value) !== draws.coin(flip)),
    );
  const caseOf = async (value, key, context) => {
    const found = (await own(key, context)).indexOf(value);
    return found < 0 ? bits : found;
  };
  return {
    domain,
    payloadBytes: 2 * bits + Math.ceil(bits / 8),
    epsilon: Math.min(2, bits) * truth(flip),
    encode: (value, draws) => told(buckets(draws), value, draws),
    caseOf,
    remembered: async (value, key, context) => {
      const which = bigEndian(await caseOf(value, key, context), 4);
      const listed = await own(key, context);
      return keyed(key, joined(context, ascii.encode("|case"), which), (draws) => told(listed, value, draws));
    },
  };
}

/** A window of answers that moves with the value: likelier inside than outside. */
function windowOf(parameters, most) {
  const domain = whole(parameters, "domain", 2, most);
  const width = whole(parameters, "width", 1, 2 ** 31 - domain);
  const heads = chance(parameters, "heads");
  const epsilon = log((share(heads) / rest(heads)) * ((domain - 1) / width));
  if (!(epsilon >= -ROUNDING))
    throw new RangeError("heads makes the window less likely than the answers outside it, which costs more than the stated epsilon.");
  return {
    domain,
    answers: domain - 1 + width,
    epsilon,
    draw: (value, draws) => {
      const inside = draws.coin(heads);
      const [near, far] = [draws.below(width), draws.below(domain - 1)];
      return inside ? value + near : far + (far >= value ? width : 0);
    },
  };
}

export function squareWave(parameters) {
  const { domain, answers, epsilon, draw } = windowOf(parameters, 4096);
  const payloadBytes = widthOf(answers);
  return { domain, payloadBytes, epsilon, encode: (value, draws) => littleEndian(draw(value, draws), payloadBytes) };
}

/** Piecewise for a share of the reports, Duchi for the others. */
export function hybrid(parameters) {
  const { domain, answers, epsilon: near, draw } = windowOf(parameters, 2 ** 14 + 1);
  whole(parameters, "width", 1, 2 ** 14);
  const duchi = oneBitMean(parameters);
  const piecewise = chance(parameters, "piecewise", 0n, ALL);
  const payloadBytes = widthOf(answers + 2);
  return {
    domain,
    payloadBytes,
    epsilon: Math.max(share(piecewise) > 0 ? near : 0, rest(piecewise) > 0 ? duchi.epsilon : 0),
    encode: (value, draws) => {
      const byWindow = draws.coin(piecewise);
      const answer = draw(value, draws);
      const [bit] = duchi.encode(value, draws);
      return littleEndian(byWindow ? answer : answers + bit, payloadBytes);
    },
  };
}
