// Report values of a known domain: randomised response, rows of bits, hashes, sets, the Hadamard matrix, finite geometry.

import { joined, littleEndian, threshold } from "../draws.js";
import { bitmap, chance, floyd, opposite, parity, rest, share, whole, widthOf } from "./parameters.js";
import { points, space } from "./projective.js";

const log = Math.log;

/** The value, or one of the others, all equally likely. */
export function respond(domain, keep, width) {
  return (value, draws) => {
    const kept = draws.coin(keep);
    const other = draws.below(domain - 1);
    return littleEndian(kept ? value : other + (other >= value ? 1 : 0), width);
  };
}

export function grr(parameters) {
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

export function sue(parameters) {
  const keep = chance(parameters, "keep");
  return unary(parameters, keep, opposite(keep));
}

export const oue = (parameters) => unary(parameters, threshold(1n << 63n), chance(parameters, "zero"));

export function olh(parameters) {
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

export function subset(parameters) {
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

export function hadamard(parameters) {
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

export function projective(parameters) {
  const domain = whole(parameters, "domain", 2, 2 ** 26);
  const order = whole(parameters, "order", 2, 1024);
  const dimension = whole(parameters, "dimension", 2, 26);
  const keep = chance(parameters, "keep");
  const [inside, outside] = [points(order, dimension - 1), order ** (dimension - 1)];
  const payloadBytes = widthOf(points(order, dimension));
  if (points(order, dimension) < domain || points(order, dimension) > 2 ** 26)
    throw new RangeError(`A space of order ${order} and dimension ${dimension} is not for ${domain} values.`);
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
