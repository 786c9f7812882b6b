// Test fresh bits: laws by counting. All alarms together are false with a probability below 1e-6.

import assert from "node:assert/strict";
import test from "node:test";

import { Fresh, randomiser, threshold } from "../index.js";

const fresh = new Fresh();

/** Whether a count of n trials is where a probability of p puts it: seven standard errors, and three for rare ones. */
function plausible(count, n, p) {
  return Math.abs(count - n * p) <= 7 * Math.sqrt(n * p * (1 - p)) + 3;
}

test("coins show heads as often as their threshold says, also at its ends", () => {
  const n = 200000;
  for (const t of [0n, 1n << 40n, 1n << 62n, 13835058055282163712n, (1n << 64n) - 1n, 1n << 64n]) {
    let heads = 0;
    for (let i = 0; i < n; i++) heads += fresh.coin(threshold(t)) ? 1 : 0;
    assert.ok(plausible(heads, n, Number(t) / 2 ** 64), `${heads} of ${n} for ${t}`);
  }
});

test("a coin looks at its lower half where the upper one leaves it open", () => {
  const half = { high: 0, low: 0 };
  const ones = new Fresh();
  const random = globalThis.crypto.getRandomValues;
  globalThis.crypto.getRandomValues = (pool) => pool.fill(7);
  try {
    assert.equal(ones.coin({ ...half, high: 7, low: 8 }), true);
    assert.equal(ones.coin({ ...half, high: 7, low: 7 }), false);
    assert.equal(ones.coin({ ...half, high: 8, low: 0 }), true);
    assert.equal(ones.coin({ ...half, high: 6, low: 9 }), false);
  } finally {
    globalThis.crypto.getRandomValues = random;
  }
});

test("a draw beyond the last whole multiple of the bound is thrown away", () => {
  const random = globalThis.crypto.getRandomValues;
  const bound = 3 * 2 ** 30; // of 2^32 words the last quarter must not count
  globalThis.crypto.getRandomValues = (pool) => pool.fill(5).fill(0xfffffff0, 0, 3);
  try {
    assert.equal(new Fresh().below(bound), 5);
    assert.equal(new Fresh().below(2 ** 32 + 2 ** 51), 5 * 2 ** 32 + 5);
  } finally {
    globalThis.crypto.getRandomValues = random;
  }
});

test("integers below a bound are all as likely", () => {
  for (const bound of [1, 2, 3, 10, 1000]) {
    const n = 2000 * Math.min(bound, 50);
    const counts = new Array(bound).fill(0);
    for (let i = 0; i < n; i++) counts[fresh.below(bound)]++;
    assert.ok(
      counts.every((count) => plausible(count, n, 1 / bound)),
      `below ${bound}: ${counts}`,
    );
  }
});

test("integers below large bounds reach their upper half and stay below", () => {
  for (const bound of [2 ** 32, 2 ** 32 + 1, 2 ** 40, 2 ** 53 - 1]) {
    const drawn = Array.from({ length: 100 }, () => fresh.below(bound));
    assert.ok(drawn.every((each) => Number.isInteger(each) && each >= 0 && each < bound));
    assert.ok(drawn.some((each) => each >= bound / 2) && drawn.some((each) => each < bound / 2));
  }
});

test("a projective report is in for its value with the chance it says", () => {
  // GF(3), three coordinates: 13 points, 4 of them on a line. The probability of one on the line of the value is 3/4.
  const made = randomiser("projective", { domain: "13", order: "3", dimension: "3", keep: "13835058055282163712" });
  const n = 100000;
  const digits = (index) => [[1], [0, 1], [1, 1], [2, 1]][index] ?? [(index - 4) % 3, Math.floor((index - 4) / 3), 1];
  for (const value of [0, 2, 12]) {
    const u = digits(value);
    let met = 0;
    const counts = new Array(13).fill(0);
    for (let i = 0; i < n; i++) {
      const [y] = made.encode(value, fresh);
      counts[y]++;
      const product = u.reduce((sum, x, j) => sum + x * (digits(y)[j] ?? 0), 0) % 3;
      met += product === 0 ? 1 : 0;
    }
    assert.ok(plausible(met, n, 0.75));
    assert.ok(counts.every((count) => plausible(count, n, 0.75 / 4) || plausible(count, n, 0.25 / 9)));
  }
});

test("values outside of the domain, unknown protocols and chances without sense are refused", () => {
  const made = randomiser("grr", { domain: "4", keep: String(1n << 63n) });
  for (const value of [-1, 4, 1.5, "1", NaN, undefined]) assert.throws(() => made.encode(value, fresh), RangeError);
  assert.throws(() => randomiser("telepathy", {}), /This client has no protocol telepathy/);
  assert.throws(() => randomiser("constructor", {}), /no protocol/);
  for (const keep of ["0", String(1n << 64n), "1e19", "x", undefined])
    assert.throws(() => randomiser("grr", { domain: "4", keep }), /keep must be a probability/);
  assert.throws(() => randomiser("grr", { domain: "4", keep: "5" }), /says nothing/);
});
