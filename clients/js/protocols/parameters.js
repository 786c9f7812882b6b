// Share what protocols have in common: checked parameters, probabilities over 2^64, and bits in bytes.

import { threshold } from "../draws.js";

const SCALE = 2 ** 64;

/** The number of bytes that the numbers below a count need. */
export function widthOf(count) {
  let width = 1;
  while (256 ** width < count) width++;
  return width;
}

/** A parameter that is a whole number between two bounds. */
export function whole(parameters, name, least, most) {
  const text = parameters[name];
  const found = Number(text);
  if (!/^[0-9]+$/.test(String(text)) || !(found >= least && found <= most))
    throw new RangeError(`${name} must be a whole number from ${least} to ${most} (found: ${text}).`);
  return found;
}

/** A parameter that is a probability over 2^64: above 0 and below 1, or between other bounds. */
export function chance(parameters, name, least = 1n, most = (1n << 64n) - 1n) {
  const text = String(parameters[name]);
  if (!/^[0-9]+$/.test(text) || BigInt(text) < least || BigInt(text) > most)
    throw new RangeError(`${name} must be a probability over 2^64, from ${least} to ${most} (found: ${text}).`);
  return threshold(text);
}

/** The probability of a flip, which is below one half. */
export const flipOf = (parameters, name = "flip") => chance(parameters, name, 1n, (1n << 63n) - 1n);

/** The probability of a threshold as a double, and that of its opposite without cancellation. */
export const share = (t) => (t.high * 2 ** 32 + t.low) / SCALE;
export const rest = (t) => (2 ** 32 - t.high - t.low / 2 ** 32) / 2 ** 32;
export const opposite = (t) => threshold((1n << 64n) - (BigInt(t.high) << 32n) - BigInt(t.low));

/** The logarithm of the odds that a bit is not flipped. */
export const truth = (flip) => Math.log(rest(flip) / share(flip));

/** Places that are set as bits of bytes, the lowest first. */
export function bitmap(count, isSet) {
  const bytes = new Uint8Array(Math.ceil(count / 8));
  for (let place = 0; place < count; place++) if (isSet(place)) bytes[place >> 3] |= 1 << (place & 7);
  return bytes;
}

/** Two coins for each bit of a row, those for bits of 1 first, of which the held bit takes one. */
export function twice(count, isHeld, held, other, draws) {
  const ones = Array.from({ length: count }, () => draws.coin(held));
  const zeros = Array.from({ length: count }, () => draws.coin(other));
  return bitmap(count, (place) => (isHeld(place) ? ones[place] : zeros[place]));
}

/** Whether a bit of a bitmap is set. */
export const bitOf = (bytes, place) => (bytes[place >> 3] >> (place & 7)) & 1;

/** `size` of 0 … count − 1 in the order in which they were taken, all sets equally likely. */
export function floyd(count, size, draws) {
  const taken = new Set();
  for (let last = count - size; last < count; last++) {
    const drawn = draws.below(last + 1);
    taken.add(taken.has(drawn) ? last : drawn);
  }
  return [...taken];
}

/** Whether a number below 2^31 has an odd number of bits. */
export function parity(bits) {
  for (let shift = 16; shift; shift >>= 1) bits ^= bits >> shift;
  return bits & 1;
}
