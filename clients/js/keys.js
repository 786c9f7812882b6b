// Check public keys: 32 bytes of Ed25519, and none for which an attacker can sign.
//
// Eight points of the curve have an order of 8 at most, and with one of them as the key, signatures can be found
// without any secret. Their y are 0, 1, −1 and the two of order 8; 0 and 1 can also be written as p and p + 1. The
// highest bit is the sign of x, and left out here. Tested by adding each to itself, in test/keys.test.js.

import { CollectionError } from "./domains.js";

const FULL = "ff".repeat(30);
const SMALL = new Set([
  "00".repeat(32),
  `01${"00".repeat(31)}`,
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  ...["ec", "ed", "ee"].map((lowest) => `${lowest}${FULL}7f`),
]);

/** The bytes of a public key, if only its owner can sign with it. */
export function keyOf(publicKey) {
  const bytes = publicKey instanceof ArrayBuffer ? new Uint8Array(publicKey) : publicKey;
  if (!(bytes instanceof Uint8Array) || bytes.length !== 32)
    throw new CollectionError(
      "A public key must be a Uint8Array of 32 bytes. Convert 64 hexadecimal digits with fromHex(digits.trim()).",
    );
  const y = Array.from(bytes, (byte, i) => (i < 31 ? byte : byte & 0x7f).toString(16).padStart(2, "0")).join("");
  if (SMALL.has(y))
    throw new CollectionError("An attacker can sign for this key, a point of small order. Use a key of signing.new_key().");
  return bytes;
}
