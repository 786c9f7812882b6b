// Test that the synchronous hash is that of WebCrypto.

import assert from "node:assert/strict";
import test from "node:test";

import { hex } from "../descriptor.js";
import { sha256 } from "../sha256.js";

test("SHA-256 of every length around its blocks is that of WebCrypto", async () => {
  for (let length = 0; length < 200; length++) {
    const bytes = globalThis.crypto.getRandomValues(new Uint8Array(length));
    const known = new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", bytes));
    assert.equal(hex(sha256(bytes)), hex(known), `of ${length} bytes`);
  }
  assert.equal(
    hex(sha256(new TextEncoder().encode("abc"))),
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
});
