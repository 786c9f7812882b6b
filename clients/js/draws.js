// Draw the coins of a device: from fresh bits, or from bits that a secret key determines.
//
// Every probability is a whole number over 2^64 and every choice is a coin or an integer below a bound, exactly as in
// Python's discreet.local.primitives.randomness. `Fresh` takes WebCrypto's bits; its laws are exact. `keyed` takes the words of
// HMAC-SHA256(key, context || i), i = 0, 1, … as four bytes, highest first; four little-endian words of each.

const TWO32 = 4294967296;

/** A probability of n/2^64, split into halves so that no coin needs a BigInt. */
export function threshold(n) {
  const exact = BigInt(n);
  if (exact < 0n || exact > 1n << 64n) throw new RangeError(`A threshold must be from 0 to 2^64 (found: ${exact}).`);
  return { high: Number(exact >> 32n), low: Number(exact & 0xffffffffn) };
}

/** Fresh bits, a pool at a time. A bit is erased after its use. */
export class Fresh {
  #pool = new Uint32Array(16384);
  #at = 16384;

  #half() {
    if (this.#at === this.#pool.length) {
      globalThis.crypto.getRandomValues(this.#pool);
      this.#at = 0;
    }
    const half = this.#pool[this.#at];
    this.#pool[this.#at++] = 0;
    return half;
  }

  /** True with probability threshold/2^64. The lower half is only drawn if the upper one does not decide. */
  coin(chance) {
    const high = this.#half();
    return high === chance.high ? this.#half() < chance.low : high < chance.high;
  }

  /** An integer from 0 to bound − 1, all equally likely; bound is at most 2^53. */
  below(bound) {
    if (bound <= TWO32) {
      const end = TWO32 - (TWO32 % bound);
      let drawn = this.#half();
      while (drawn >= end) drawn = this.#half();
      return drawn % bound;
    }
    const end = 2 ** 53 - (2 ** 53 % bound);
    let drawn = (this.#half() & 0x1fffff) * TWO32 + this.#half();
    while (drawn >= end) drawn = (this.#half() & 0x1fffff) * TWO32 + this.#half();
    return drawn % bound;
  }
}

class Exhausted extends Error {}

/** The words of a key that were made so far. */
class Words {
  #words;
  #at = 0;

  constructor(bytes) {
    this.#words = new DataView(bytes.buffer);
  }

  #next() {
    if (this.#at === this.#words.byteLength) throw new Exhausted();
    this.#at += 8;
    return this.#words.getBigUint64(this.#at - 8, true);
  }

  coin(chance) {
    return this.#next() < (BigInt(chance.high) << 32n) + BigInt(chance.low);
  }

  below(bound) {
    const size = BigInt(bound);
    const end = (1n << 64n) - ((1n << 64n) % size);
    let word = this.#next();
    while (word >= end) word = this.#next();
    return Number(word % size);
  }
}

/** What make(draws) returns with the words of this key and context. It may be called again, with more words. */
export async function keyed(key, context, make) {
  const secret = await globalThis.crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
  for (let blocks = 8; ; blocks *= 8) {
    const digests = Array.from({ length: blocks }, (_, i) =>
      globalThis.crypto.subtle.sign("HMAC", secret, joined(context, bigEndian(i, 4))),
    );
    const words = new Uint8Array(32 * blocks);
    (await Promise.all(digests)).forEach((digest, i) => words.set(new Uint8Array(digest), 32 * i));
    try {
      return make(new Words(words));
    } catch (error) {
      if (!(error instanceof Exhausted)) throw error;
    }
  }
}

/** HMAC-SHA256 of a message. */
export async function hmac(key, message) {
  const { subtle } = globalThis.crypto;
  const secret = await subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await subtle.sign("HMAC", secret, message));
}

/** Bytes one after the other. */
export function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** A whole number below 2^53 as bytes, the highest first. */
export function bigEndian(number, width) {
  const bytes = new Uint8Array(width);
  for (let at = width - 1, left = number; at >= 0; at--, left = Math.floor(left / 256)) bytes[at] = left % 256;
  return bytes;
}

/** A whole number below 2^53 as bytes, the lowest first. */
export function littleEndian(number, width) {
  return bigEndian(number, width).reverse();
}
