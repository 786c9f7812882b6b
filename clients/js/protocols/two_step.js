// Randomise twice: permanent noise that is drawn once, and fresh noise on top of it in every report.

import { bitOf, chance, rest, share, twice, whole, widthOf } from "./parameters.js";
import { respond } from "./frequencies.js";

const log = Math.log;

export function twoStepGRR(parameters) {
  const domain = whole(parameters, "domain", 2, 2 ** 31);
  const [keep, again] = [chance(parameters, "keep"), chance(parameters, "keep_fresh")];
  const payloadBytes = widthOf(domain);
  const permanent = respond(domain, keep, payloadBytes);
  const fresh = respond(domain, again, payloadBytes);
  const instant = (answer, draws) => fresh(answer.reduceRight((sum, byte) => sum * 256 + byte, 0), draws);
  const p = share(keep) * share(again) + (rest(keep) * rest(again)) / (domain - 1);
  const missed = share(keep) * rest(again) + rest(keep) * (share(again) + rest(again) * ((domain - 2) / (domain - 1)));
  return {
    domain,
    payloadBytes,
    epsilon: log((p / missed) * (domain - 1)),
    permanentEpsilon: log((share(keep) / rest(keep)) * (domain - 1)),
    permanent,
    instant,
    encode: (value, draws) => instant(permanent(value, draws), draws),
  };
}

export function twoStepUnary(parameters) {
  const domain = whole(parameters, "domain", 2, 2 ** 20);
  const [one, zero, oneFresh, zeroFresh] = ["one", "zero", "one_fresh", "zero_fresh"].map((n) => chance(parameters, n));
  const permanent = (value, draws) => twice(domain, (place) => place === value, one, zero, draws);
  const instant = (answer, draws) => twice(domain, (place) => bitOf(answer, place), oneFresh, zeroFresh, draws);
  const [p, q] = [one, zero].map((t) => share(t) * share(oneFresh) + rest(t) * share(zeroFresh));
  const [notP, notQ] = [one, zero].map((t) => share(t) * rest(oneFresh) + rest(t) * rest(zeroFresh));
  return {
    domain,
    payloadBytes: Math.ceil(domain / 8),
    epsilon: log((p / notP) * (notQ / q)),
    permanentEpsilon: log((share(one) / rest(one)) * (rest(zero) / share(zero))),
    permanent,
    instant,
    encode: (value, draws) => instant(permanent(value, draws), draws),
  };
}
