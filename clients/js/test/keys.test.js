// Test keys: those for which an attacker can sign are refused, and so is what is not a key.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { CollectionError, fromHex, opened } from "../index.js";

const vectors = JSON.parse(readFileSync(new URL("../../../tests/local/vectors.json", import.meta.url), "utf8"));
const [{ envelope, public_key: digits }] = vectors.collections;
const MAY = new Date("2026-05-01T12:00:00Z");

// the curve −x² + y² = 1 + d·x²·y² over the integers modulo p
const p = 2n ** 255n - 19n;
const mod = (n) => ((n % p) + p) % p;
const power = (base, exponent) => {
  let [result, square] = [1n, mod(base)];
  for (let left = exponent; left; left >>= 1n, square = mod(square * square)) if (left & 1n) result = mod(result * square);
  return result;
};
const over = (a, b) => mod(a * power(b, p - 2n));
const d = over(-121665n, 121666n);
const root = (square) => {
  const one = power(square, (p + 3n) / 8n);
  return [one, mod(one * power(2n, (p - 1n) / 4n))].find((each) => mod(each * each - square) === 0n);
};
const xOf = (y) => root(over(y * y - 1n, d * y * y + 1n));
const doubled = ([x, y]) => {
  const both = mod(d * x * x * y * y);
  return [over(2n * x * y, 1n + both), over(y * y + x * x, 1n - both)];
};
const bytesOf = (number) => Uint8Array.from({ length: 32 }, (_, i) => Number((number >> BigInt(8 * i)) & 255n));

/** All y of points whose order divides 8: halves of halves of the points with x = 0 and y = ±1. */
function smallOrder() {
  const i = root(p - 1n); // of order 4: (±i, 0); doubled, a point of order 8 has y = 0, hence x² + y² = 0 and y = ±i·x
  const eighth = [1n, -1n]
    .map((sign) => root(over(1n + sign * root(1n + d), d))) // d·x⁴ − 2x² − 1 = 0 with y² = −x²
    .find((x) => x !== undefined);
  const y = mod(i * eighth);
  return { all: [0n, 1n, p - 1n, y, p - y], eighth: [eighth, y] };
}

test("a key of small order is refused in all of its spellings, and they are all there are", async () => {
  const { all, eighth } = smallOrder();
  assert.deepEqual(doubled(doubled(doubled(eighth))), [0n, 1n]);
  assert.notDeepEqual(doubled(doubled(eighth)), [0n, 1n]);
  for (const y of all) assert.notEqual(xOf(y), undefined);
  const spelt = [...all, p, p + 1n].flatMap((y) => [y, y + 2n ** 255n]); // below 2^255 only 0 and 1 have p added
  for (const number of spelt)
    await assert.rejects(opened(envelope, bytesOf(number), MAY), (error) => {
      assert.ok(error instanceof CollectionError);
      return /small order/.test(error.message);
    });
});

test("what has not 32 bytes is no key, and the error says what to do with digits", async () => {
  for (const key of [new TextEncoder().encode(`${digits}\n`), digits, fromHex(digits).subarray(1), null, undefined])
    await assert.rejects(opened(envelope, key, MAY), (error) => {
      assert.ok(error instanceof CollectionError);
      return /32 bytes.*fromHex/.test(error.message);
    });
  await opened(envelope, fromHex(digits), MAY);
  await opened(envelope, fromHex(digits.toUpperCase()).buffer, MAY);
});

test("what is no hexadecimal digit is not read as one", () => {
  for (const wrong of ["0", "zz", "0g", "00 ", " 00"]) assert.throws(() => fromHex(wrong), RangeError);
});

test("a clock that says nothing opens nothing", async () => {
  await assert.rejects(opened(envelope, fromHex(digits), new Date(NaN)), /has ended/);
});
