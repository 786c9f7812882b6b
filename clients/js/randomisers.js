// Find the protocols of this client by name, each with the same integers, draws and bytes as in Python.
//
// randomiser(name, parameters) returns { name, domain, payloadBytes, epsilon, encode(value, draws) }, and where there
// are two steps { permanentEpsilon, permanent(value, draws), instant(answer, draws) }; protocols with a memory of
// their own have remembered(value, key, context) and caseOf(value, key, context). Values are places in the domain; if
// that is 0, fingerprints of texts or symbols of words (see domains.js). Tested against tests/local/vectors.json.

import { grr, hadamard, olh, oue, projective, subset, sue } from "./protocols/frequencies.js";
import { cms, hcms, rappor } from "./protocols/hashed.js";
import { bitFlip, hybrid, oneBitMean, squareWave } from "./protocols/numbers.js";
import { twoStepGRR, twoStepUnary } from "./protocols/two_step.js";
import { fragments, prefixTree } from "./protocols/words.js";

const PROTOCOLS = {
  grr,
  sue,
  oue,
  olh,
  subset,
  hadamard,
  projective,
  "two-step-grr": twoStepGRR,
  "two-step-unary": twoStepUnary,
  rappor,
  cms,
  hcms,
  "one-bit-mean": oneBitMean,
  "bit-flip": bitFlip,
  duchi: oneBitMean,
  piecewise: hybrid,
  hybrid,
  "square-wave": squareWave,
  "prefix-tree": prefixTree,
  fragments,
};

/** The names of all protocols of this client. */
export const protocols = Object.keys(PROTOCOLS);

/** One protocol with its parameters, which are strings of digits as in a collection's text. */
export function randomiser(name, parameters) {
  if (!Object.hasOwn(PROTOCOLS, name))
    throw new RangeError(`This client has no protocol ${name}. Use one of ${protocols.join(", ")}.`);
  const made = PROTOCOLS[name](parameters);
  // a step that is more often false than true has a loss below 0 here, and two such steps would hide each other
  const steady = made.permanentEpsilon ?? made.epsilon;
  if (!(made.epsilon > 0 && steady > 0))
    throw new RangeError(`${name} with these parameters says nothing about a value, or the opposite of it.`);
  const places = (value) => Number.isInteger(value) && value >= 0 && value < made.domain;
  const fits = made.fits ?? places;
  const outside = `Values must be whole numbers from 0 to ${made.domain - 1}.`;
  const checked = (step) => (value, ...others) => {
    if (!fits(value)) throw new RangeError(made.fits ? `Values of ${name} must be made by oneOf(collection, value).` : outside);
    return step(value, ...others);
  };
  const steps = ["encode", "permanent", "remembered", "caseOf"].filter((step) => made[step]);
  return { ...made, name, ...Object.fromEntries(steps.map((step) => [step, checked(made[step])])) };
}
