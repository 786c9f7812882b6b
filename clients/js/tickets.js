// Ask for a ticket without showing it: blind RSA signatures of RFC 9474 (RSABSSA-SHA384-PSS-Randomized), as in
// Python's discreet.local.tickets, whose docstring has the claims and the proof.
//
// The message is 64 random bytes x, encoded with a random salt as a number m below n. What is sent is b = m·rᵉ for a
// unit r modulo n, all units equally likely. The reply t counts if s = t/r has sᵉ = m. Then for every b and t there is
// one r that belongs to each ticket (x, s), so b and t say nothing about the ticket, whatever n is.
//
// The time of BigInt depends on its numbers. That shows something to a program on the same device, which could read
// the answer as well.

import { CollectionError } from "./domains.js";
import { bigEndian, joined } from "./draws.js";

const SCHEME = "RSABSSA-SHA384-PSS-Randomized";
const EXPONENT = 65537n;
const SALT = 48; // and the bytes of a SHA-384
const MESSAGE = 64;
const ATTEMPTS = 1000;

/** The key of a collection's text: { modulus, length }, where length is the number of its bytes. */
export function ticketKeyOf(written) {
  const { scheme, exponent, modulus } = written;
  if (scheme !== SCHEME || exponent !== String(EXPONENT) || Object.keys(written).length !== 3)
    throw new CollectionError(`This client reads tickets of the scheme ${SCHEME}. Update the client.`);
  const bits = /^[89a-f][0-9a-f]*$/.test(modulus) && modulus.length % 2 === 0 ? 4 * modulus.length : 0;
  if (bits < 2048 || bits > 4096 || !/[13579bdf]$/.test(modulus))
    throw new CollectionError("The key of the tickets is not an odd number of 2048 to 4096 bits. Fetch the collection again.");
  return { modulus: BigInt(`0x${modulus}`), length: bits / 8 };
}

/** A drawn ticket with what is needed later, in hexadecimal digits. Only `blinded` may leave before the ticket is redeemed. */
export async function ticketRequest(key, given = {}) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const message = given.message ?? random(MESSAGE);
    const encoded = await encode(message, given.salt ?? random(SALT), key.length);
    const factor = given.factor ?? numberOf(random(key.length));
    const inverse = inverseOf(factor, key.modulus);
    // all units below n are equally likely; a key of which few numbers are units is none
    if (factor >= key.modulus || inverse === null || inverseOf(encoded, key.modulus) === null) continue;
    const blinded = (encoded * power(factor, key.modulus)) % key.modulus;
    return { message: digits(message), encoded: encoded.toString(16), inverse: inverse.toString(16), blinded: digits(bytesOf(blinded, key.length)) };
  }
  throw new CollectionError("The key of the tickets has small factors: it is not a key. Do not answer.");
}

/** The ticket, message and signature, if the reply is a signature of it. Send nothing back if this throws. */
export function ticketOf(key, request, reply) {
  const number = numberOf(reply);
  const signature = (number * BigInt(`0x${request.inverse}`)) % key.modulus;
  // a reply that is no signature by the signed key could mark the respondent
  if (reply.length !== key.length || number >= key.modulus || power(signature, key.modulus) !== BigInt(`0x${request.encoded}`))
    throw new CollectionError("The reply is not a signature by the key of this collection.");
  return joined(bytesFrom(request.message), bytesOf(signature, key.length));
}

/** A ticket as a header carries it: base64url without padding. */
export const ticketText = (ticket) =>
  btoa(String.fromCharCode(...ticket)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

/** EMSA-PSS of RFC 8017, section 9.1.1, with SHA-384: a number of one bit less than the modulus. */
async function encode(message, salt, length) {
  const hashed = await sha384(joined(new Uint8Array(8), await sha384(message), salt));
  const data = new Uint8Array(length - SALT - 1);
  data.set(salt, data.length - SALT);
  data[data.length - SALT - 1] = 1;
  const blocks = Array.from({ length: Math.ceil(data.length / SALT) }, (_, i) => sha384(joined(hashed, bigEndian(i, 4))));
  const mask = joined(...(await Promise.all(blocks)));
  const masked = data.map((byte, i) => byte ^ mask[i]);
  masked[0] &= 0x7f;
  return numberOf(joined(masked, hashed, Uint8Array.of(0xbc)));
}

/** number^65537 modulo n. */
function power(number, modulus) {
  let square = number % modulus;
  for (let i = 0; i < 16; i++) square = (square * square) % modulus;
  return (square * number) % modulus;
}

/** The inverse modulo n, or null of a number that has none: Euclid's algorithm. */
function inverseOf(number, modulus) {
  let [a, b, x, y] = [number % modulus, modulus, 1n, 0n];
  while (b > 0n) {
    const times = a / b;
    [a, b, x, y] = [b, a - times * b, y, x - times * y];
  }
  return a === 1n ? ((x % modulus) + modulus) % modulus : null;
}

const random = (length) => globalThis.crypto.getRandomValues(new Uint8Array(length));
const sha384 = async (bytes) => new Uint8Array(await globalThis.crypto.subtle.digest("SHA-384", bytes));
const digits = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const numberOf = (bytes) => BigInt(`0x0${digits(bytes)}`);
const bytesFrom = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
const bytesOf = (number, length) => bytesFrom(number.toString(16).padStart(2 * length, "0"));
