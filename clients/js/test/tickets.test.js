// Test tickets: the numbers of RFC 9474, replies that are no signatures, keys that are none.

import assert from "node:assert/strict";
import { createPublicKey, constants, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import test from "node:test";

import { CollectionError, fromHex, ticketOf, ticketRequest, ticketText } from "../index.js";
import { ticketKeyOf } from "../tickets.js";

const rfc = JSON.parse(readFileSync(new URL("../../../tests/local/tickets/rfc9474.json", import.meta.url), "utf8"));
const written = (modulus) => ({ scheme: "RSABSSA-SHA384-PSS-Randomized", exponent: "65537", modulus });
const key = ticketKeyOf(written(rfc.n));
const n = key.modulus;

const power = (base, exponent, modulus) => {
  let [result, square] = [1n, base % modulus];
  for (let left = exponent; left; left >>= 1n, square = (square * square) % modulus) if (left & 1n) result = (result * square) % modulus;
  return result;
};
const [p, q, d] = [rfc.p, rfc.q, rfc.d].map((digits) => BigInt(`0x${digits}`));
const signed = (digits) => power(BigInt(`0x${digits}`), d, n).toString(16).padStart(1024, "0");

test("the request and the ticket are those of RFC 9474", async () => {
  const factor = power(BigInt(`0x${rfc.inv}`), (p - 1n) * (q - 1n) - 1n, n); // the inverse of the inverse
  const message = fromHex(rfc.msg_prefix + rfc.msg);
  const request = await ticketRequest(key, { message, salt: fromHex(rfc.salt), factor });
  assert.equal(request.blinded, rfc.blinded_msg);
  const ticket = ticketOf(key, request, fromHex(rfc.blind_sig));
  assert.equal(Buffer.from(ticket).toString("hex"), rfc.msg_prefix + rfc.msg + rfc.sig);
});

test("a drawn ticket is a PSS signature for another program, and shares nothing with what was sent", async () => {
  const request = await ticketRequest(key);
  const ticket = ticketOf(key, request, fromHex(signed(request.blinded)));
  const jwk = { kty: "RSA", e: "AQAB", n: Buffer.from(rfc.n, "hex").toString("base64url") };
  const pss = { key: createPublicKey({ key: jwk, format: "jwk" }), padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 48 };
  assert.ok(verify("sha384", ticket.subarray(0, 64), pss, ticket.subarray(64)));
  assert.equal(Buffer.from(ticketText(ticket), "base64url").compare(ticket), 0);
  const again = await ticketRequest(key);
  for (const field of ["message", "encoded", "inverse", "blinded"]) assert.notEqual(request[field], again[field]);
});

test("a key with small factors gets units only, so that they hide the message", async () => {
  const weak = { modulus: 3n ** 1292n, length: 256 }; // 2048 bits, of which a third is no unit
  for (let i = 0; i < 8; i++) {
    const { blinded, encoded, inverse } = await ticketRequest(weak);
    for (const each of [blinded, encoded, inverse]) assert.notEqual(BigInt(`0x${each}`) % 3n, 0n);
  }
});

test("a reply that is no signature of this message gives no ticket", async () => {
  const request = await ticketRequest(key);
  const reply = fromHex(signed(request.blinded));
  const wrong = reply.with(9, reply[9] ^ 1);
  const larger = fromHex((BigInt(`0x${signed(request.blinded)}`) + n).toString(16).padStart(1026, "0"));
  for (const each of [wrong, larger, reply.subarray(1), new Uint8Array(512), fromHex(request.blinded), fromHex(rfc.blind_sig)])
    assert.throws(() => ticketOf(key, request, each), CollectionError);
});

test("what is not a key is refused", () => {
  for (const modulus of ["c".repeat(509) + "1", "c".repeat(511) + "1".repeat(2), `${rfc.n}00`, rfc.n.slice(0, -1) + "0", `0${rfc.n.slice(1)}`, rfc.n.toUpperCase(), "", 5])
    assert.throws(() => ticketKeyOf(written(modulus)), CollectionError);
  assert.throws(() => ticketKeyOf({ ...written(rfc.n), exponent: "3" }), CollectionError);
  assert.throws(() => ticketKeyOf({ ...written(rfc.n), note: "for you alone" }), CollectionError);
});
