// The protocols that make sense on a device, each with the same integers, draws and bytes as in Python.
//
// randomiser(name, parameters) returns { name, domain, payloadBytes, epsilon, encode(value, draws) }, and where there
// are two steps { permanentEpsilon, permanent(value, draws), instant(answer, draws) }; protocols with a memory of
// their own have remembered(value, key, context). Tested against tests/local/vectors.json.

import { bigEndian, joined, keyed, littleEndian, threshold } from "./draws.js";
import { points, space } from "./projective.js";

const SCALE = 2 ** 64;
const ascii = new TextEncoder();
const widthOf = (count) => {
  let width = 1;
  while (256 ** width < count) width++;
  return width;
};
const log = Math.log;

function whole(parameters, name, least, most) {
  const text = parameters[name];
  const found = Number(text);
  if (!/^[0-9]+$/.test(String(text)) || !(found >= least && found <= most))
    throw new RangeError(`${name} is a whole number from ${least} to ${most}, not ${text}`);
  return found;
}

function chance(parameters, name) {
  const text = String(parameters[name]);
  if (!/^[0-9]+$/.test(text) || !(BigInt(text) > 0n && BigInt(text) < 1n << 64n))
    throw new RangeError(`${name} is a probability over 2^64, above 0 and below 1, not ${text}`);
  return threshold(text);
}

/** The probability of a threshold as a double, and that of its opposite without cancellation. */
const share = (t) => (t.high * 2 ** 32 + t.low) / SCALE;
const rest = (t) => (2 ** 32 - t.high - t.low / 2 ** 32) / 2 ** 32;
const opposite = (t) => threshold((1n << 64n) - (BigInt(t.high) << 32n) - BigInt(t.low));

function bitmap(domain, isSet) {
  const bytes = new Uint8Array(Math.ceil(domain / 8));
  for (let place = 0; place < domain; place++) if (isSet(place)) bytes[place >> 3] |= 1 << (place & 7);
  return bytes;
}

function respond(domain, keep, width) {
  return (value, draws) => {
    const kept = draws.coin(keep);
    const other = draws.below(domain - 1);
    return littleEndian(kept ? value : other + (other >= value ? 1 : 0), width);
  };
}

function grr(parameters) {
  const domain = whole(parameters, "domain", 2, 2 ** 31);
  const keep = chance(parameters, "keep");
  const payloadBytes = widthOf(domain);
  return {
    domain,
    payloadBytes,
    epsilon: log((share(keep) / rest(keep)) * (domain - 1)),
    encode: respond(domain, keep, payloadBytes),
  };
}

function twoStepGRR(parameters) {
  const domain = whole(parameters, "domain", 2, 2 ** 31);
  const [keep, again] = [chance(parameters, "keep"), chance(parameters, "keep_fresh")];
  const payloadBytes = widthOf(domain);
  const permanent = respond(domain, keep, payloadBytes);
  const fresh = respond(domain, again, payloadBytes);
  const instant = (answer, draws) => fresh(answer.reduceRight((sum, byte) => sum * 256 + byte, 0), draws);
  const p = share(keep) * share(again) + (rest(keep) * rest(again)) / (domain - 1);
  return {
    domain,
    payloadBytes,
    epsilon: log((p / (1 - p)) * (domain - 1)),
    permanentEpsilon: log((share(keep) / rest(keep)) * (domain - 1)),
    permanent,
    instant,
    encode: (value, draws) => instant(permanent(value, draws), draws),
  };
}

function unary(parameters, one, zero) {
  const domain = whole(parameters, "domain", 2, 2 ** 20);
  return {
    domain,
    payloadBytes: Math.ceil(domain / 8),
    epsilon: log((share(one) / rest(one)) * (rest(zero) / share(zero))),
    encode: (value, draws) => {
      const bits = bitmap(domain, () => draws.coin(zero));
      const bit = 1 << (value & 7);
      if (draws.coin(one)) bits[value >> 3] |= bit;
      else bits[value >> 3] &= ~bit;
      return bits;
    },
  };
}

function sue(parameters) {
  const keep = chance(parameters, "keep");
  return unary(parameters, keep, opposite(keep));
}

const oue = (parameters) => unary(parameters, threshold(1n << 63n), chance(parameters, "zero"));

function twoStepUnary(parameters) {
  const domain = whole(parameters, "domain", 2, 2 ** 20);
  const [one, zero, oneFresh, zeroFresh] = ["one", "zero", "one_fresh", "zero_fresh"].map((n) => chance(parameters, n));
  const step = (isHeld, held, other, draws) => {
    const ones = Array.from({ length: domain }, () => draws.coin(held));
    const zeros = Array.from({ length: domain }, () => draws.coin(other));
    return bitmap(domain, (place) => (isHeld(place) ? ones[place] : zeros[place]));
  };
  const permanent = (value, draws) => step((place) => place === value, one, zero, draws);
  const instant = (answer, draws) =>
    step((place) => (answer[place >> 3] >> (place & 7)) & 1, oneFresh, zeroFresh, draws);
  const p = share(one) * share(oneFresh) + rest(one) * share(zeroFresh);
  const q = share(zero) * share(oneFresh) + rest(zero) * share(zeroFresh);
  return {
    domain,
    payloadBytes: Math.ceil(domain / 8),
    epsilon: log((p / (1 - p)) * ((1 - q) / q)),
    permanentEpsilon: log((share(one) / rest(one)) * (rest(zero) / share(zero))),
    permanent,
    instant,
    encode: (value, draws) => instant(permanent(value, draws), draws),
  };
}

function olh(parameters) {
  const domain = whole(parameters, "domain", 2, 2 ** 20);
  const prime = whole(parameters, "prime", domain, 2 ** 31 - 1);
  const buckets = whole(parameters, "buckets", 2, Math.min(prime, 2 ** 16));
  const keep = chance(parameters, "keep");
  const width = widthOf(buckets);
  const answer = respond(buckets, keep, width);
  return {
    domain,
    payloadBytes: 8 + width,
    epsilon: log((share(keep) / rest(keep)) * (buckets - 1)),
    encode: (value, draws) => {
      const [a, b] = [draws.below(prime), draws.below(prime)];
      // products stay below 2^52, and a quotient is never as near to the next integer as a double's rounding
      const bucket = Math.floor((((a * value + b) % prime) * buckets) / prime);
      return joined(littleEndian(a, 4), littleEndian(b, 4), answer(bucket, draws));
    },
  };
}

function subset(parameters) {
  const domain = whole(parameters, "domain", 2, 2 ** 16);
  const size = whole(parameters, "size", 1, domain - 1);
  const keep = chance(parameters, "keep");
  return {
    domain,
    payloadBytes: Math.ceil(domain / 8),
    epsilon: log((share(keep) / rest(keep)) * ((domain - size) / size)),
    encode: (value, draws) => {
      const inside = draws.coin(keep);
      const taken = new Set(floyd(domain - 1, size, draws));
      const leaving = [...taken][draws.below(size)];
      if (inside) taken.delete(leaving);
      return bitmap(domain, (place) => (place === value ? inside : taken.has(place - (place > value ? 1 : 0))));
    },
  };
}

/** `size` of 0 … count − 1 in the order in which they were taken, every set as likely. */
function floyd(count, size, draws) {
  const taken = new Set();
  for (let last = count - size; last < count; last++) {
    const drawn = draws.below(last + 1);
    taken.add(taken.has(drawn) ? last : drawn);
  }
  return [...taken];
}

function hadamard(parameters) {
  const domain = whole(parameters, "domain", 2, 2 ** 26 - 1);
  const keep = chance(parameters, "keep");
  const columns = 2 ** (Math.floor(Math.log2(domain)) + 1);
  const payloadBytes = widthOf(columns);
  return {
    domain,
    payloadBytes,
    epsilon: log(share(keep) / rest(keep)),
    encode: (value, draws) => {
      const row = value + 1;
      const plus = draws.coin(keep);
      const column = draws.below(columns);
      return littleEndian(parity(column & row) === (plus ? 0 : 1) ? column : column ^ (row & -row), payloadBytes);
    },
  };
}

function parity(bits) {
  for (let shift = 16; shift; shift >>= 1) bits ^= bits >> shift;
  return bits & 1;
}

function projective(parameters) {
  const domain = whole(parameters, "domain", 2, 2 ** 26);
  const order = whole(parameters, "order", 2, 1024);
  const dimension = whole(parameters, "dimension", 2, 26);
  const keep = chance(parameters, "keep");
  const [inside, outside] = [points(order, dimension - 1), order ** (dimension - 1)];
  const payloadBytes = widthOf(points(order, dimension));
  if (points(order, dimension) < domain || points(order, dimension) > 2 ** 26)
    throw new RangeError(`a space of order ${order} and dimension ${dimension} is not for ${domain} values`);
  const related = space(order, dimension);
  const code = (value, draws) => related(value, draws.coin(keep), draws.below(inside), draws.below(outside));
  return {
    domain,
    payloadBytes,
    epsilon: log((share(keep) / rest(keep)) * (outside / inside)),
    code,
    encode: (value, draws) => littleEndian(code(value, draws), payloadBytes),
  };
}

function oneBitMean(parameters) {
  const domain = whole(parameters, "domain", 2, 2 ** 53 - 1);
  const flip = chance(parameters, "flip");
  const told = (end, draws) => Uint8Array.of(Number(end !== draws.coin(flip)));
  return {
    domain,
    payloadBytes: 1,
    epsilon: log(rest(flip) / share(flip)),
    encode: (value, draws) => told(draws.below(domain - 1) < value, draws),
    remembered: async (value, key, context) => {
      const alpha = joined(context, ascii.encode("|alpha"));
      const end = await keyed(key, alpha, (draws) => draws.below(domain - 1) < value);
      const settled = joined(context, ascii.encode("|end"), Uint8Array.of(Number(end)));
      return keyed(key, settled, (draws) => told(end, draws));
    },
  };
}

function bitFlip(parameters) {
  const domain = whole(parameters, "domain", 2, 2 ** 16);
  const bits = whole(parameters, "bits", 1, domain);
  const flip = chance(parameters, "flip");
  const buckets = (draws) => floyd(domain, bits, draws).sort((a, b) => a - b);
  const told = (listed, value, draws) =>
    joined(
      ...listed.map((bucket) => littleEndian(bucket, 2)),
      bitmap(bits, (place) => (listed[place] === value) !== draws.coin(flip)),
    );
  return {
    domain,
    payloadBytes: 2 * bits + Math.ceil(bits / 8),
    epsilon: Math.min(2, bits) * log(rest(flip) / share(flip)),
    encode: (value, draws) => told(buckets(draws), value, draws),
    remembered: async (value, key, context) => {
      const listed = await keyed(key, joined(context, ascii.encode("|buckets")), buckets);
      const found = listed.indexOf(value);
      const which = joined(context, ascii.encode("|case"), bigEndian(found < 0 ? bits : found, 4));
      return keyed(key, which, (draws) => told(listed, value, draws));
    },
  };
}

const PROTOCOLS = {
  grr,
  sue,
  oue,
  olh,
  subset,
  hadamard,
  projective,
  "one-bit-mean": oneBitMean,
  "bit-flip": bitFlip,
  "two-step-grr": twoStepGRR,
  "two-step-unary": twoStepUnary,
};

/** The names of all protocols of this client. */
export const protocols = Object.keys(PROTOCOLS);

/** One protocol with its parameters, which are strings of digits as in a collection's text. */
export function randomiser(name, parameters) {
  if (!Object.hasOwn(PROTOCOLS, name))
    throw new RangeError(`this client has no protocol ${name}. It has: ${protocols.join(", ")}`);
  const made = PROTOCOLS[name](parameters);
  const checked = (step) => (value, draws) => {
    if (!Number.isInteger(value) || value < 0 || value >= made.domain)
      throw new RangeError(`values are whole numbers from 0 to ${made.domain - 1}`);
    return step(value, draws);
  };
  if (!(made.epsilon > 0)) throw new RangeError(`${name} with these parameters says nothing about a value`);
  const remembered = made.remembered && ((value, key, context) => checked(() => made.remembered(value, key, context))(value));
  return {
    ...made,
    name,
    encode: checked(made.encode),
    ...(made.permanent && { permanent: checked(made.permanent) }),
    ...(remembered && { remembered }),
  };
}
