// Check that this client makes the same bytes as Python, which wrote tests/local/vectors.json: in Node and in browsers.

import { CollectionError, batch, canonical, frame, keyed, oneOf, opened, protocols, randomiser, read, settled, threshold } from "./index.js";
import { fromHex, hex } from "./descriptor.js";
import { domainOf } from "./domains.js";

const MAY = new Date("2026-05-01T12:00:00Z");

/** Every check, as its statement and a function that throws if it does not hold. */
export function checks(vectors) {
  return [
    ["keyed draws are those of Python", () => draws(vectors.draws)],
    ["canonical JSON is that of Python", () => vectors.canonical.forEach(({ value, text }) => same(canonical(value), text))],
    ["every protocol of this client has its vectors", () => complete(vectors.protocols)],
    ...vectors.protocols.map((each) => [
      `${each.protocol} over ${JSON.stringify(each.domain)} makes the reports of Python`,
      () => reported(each),
    ]),
    ...vectors.remembered.map((each) => [`${each.protocol} remembers what Python remembers`, () => remembered(each)]),
    ...vectors.collections.flatMap(ofCollection),
    ...vectors.refused.map(({ wrong, text }) => [
      `a collection with ${wrong} is refused, for that`,
      () => refused(read(text), /^(?!.*(canonical|contradicts itself|is not known|of null))/s, CollectionError),
    ]),
  ];
}

async function draws(vectors) {
  for (const { key, context, below, coins } of vectors) {
    const drawn = await keyed(fromHex(key), fromHex(context), (words) => [
      below.map(([bound]) => [bound, words.below(bound)]),
      coins.map(([chance]) => [chance, words.coin(threshold(chance))]),
    ]);
    same(drawn, [below, coins]);
  }
}

function complete(vectors) {
  same([...new Set(vectors.map((each) => each.protocol))].sort(), [...protocols].sort());
}

async function reported({ protocol, parameters, domain, epsilon, payload_bytes: width, key, reports }) {
  const made = randomiser(protocol, parameters);
  same(made.payloadBytes, width);
  if (!(Math.abs(made.epsilon - epsilon) < 1e-9)) throw new Error(`${made.epsilon} is not ${epsilon}`);
  const question = { randomiser: made, null: null, ...domainOf(domain, made) };
  for (const [value, context, payload] of reports) {
    const { held } = oneOf(question, value);
    const report = await keyed(fromHex(key), fromHex(context), (words) => made.encode(held, words));
    same(hex(report), payload);
  }
}

async function remembered({ protocol, parameters, key, context, reports }) {
  const made = randomiser(protocol, parameters);
  for (const [value, payload, which] of reports) {
    same(hex(await made.remembered(value, fromHex(key), fromHex(context))), payload);
    same(await made.caseOf(value, fromHex(key), fromHex(context)), which);
  }
}

function ofCollection(vector) {
  const { name } = JSON.parse(JSON.parse(vector.envelope).collection);
  return [
    [`the collection ${name} is verified, identified, answered and framed as in Python`, () => answered(vector)],
    [`the collection ${name} is refused with another key, a changed text, or when it has ended`, () => signed(vector)],
    [`the collection ${name} is refused if it states a cost below that of its probabilities`, () => honest(vector)],
  ];
}

async function answered(vector) {
  const collection = await opened(vector.envelope, fromHex(vector.public_key), MAY);
  same(hex(collection.id), vector.id);
  for (const [value, payload] of vector.permanent)
    same(hex((await settled(collection, oneOf(collection, value), fromHex(vector.secret))).answer), payload);
  const empty = new Uint8Array(collection.randomiser.payloadBytes);
  const made = [null, 20574].map((day) => frame(collection, empty, { day, identified: false }));
  same(made.map(hex), vector.frames);
  same(hex(batch([made[0], made[0]])), vector.batch);
}

async function signed({ envelope, public_key: digits }) {
  const key = fromHex(digits);
  await refused(opened(envelope, key.map((byte, i) => (i ? byte : byte ^ 1)), MAY));
  const changed = envelope.replace('minimum_cohort\\":\\"100', 'minimum_cohort\\":\\"001');
  if (changed === envelope) throw new Error("the envelope has nothing to change");
  await refused(opened(changed, key, MAY), /The signature is not by this key/);
  await refused(opened(envelope, key, new Date("2027-01-01T00:00:00Z")), /has ended/);
}

async function honest({ envelope }) {
  const text = JSON.parse(envelope).collection;
  const fields = JSON.parse(text);
  await refused(read(canonical({ ...fields, epsilon: "0.1" })), /contradicts itself/);
  const longitudinal = { ...fields.longitudinal, epsilon: "0.1" };
  await refused(read(canonical({ ...fields, longitudinal })), /contradicts itself/);
  await refused(read(canonical({ ...fields, format: "discreet-collection/2" })), /Update the client/);
  await refused(read(text.replaceAll(",", ", ")), /./, CollectionError);
  await refused(read("nonsense"), /./, CollectionError);
}

function same(made, wanted) {
  const [found, expected] = [made, wanted].map((each) => JSON.stringify(each));
  if (found !== expected) throw new Error(`${found} is not ${expected}`);
}

async function refused(promise, words = /^/, kind = Error) {
  const thrown = await promise.then(
    () => null,
    (error) => error,
  );
  if (!(thrown instanceof kind && words.test(thrown.message)))
    throw new Error(`this has to be refused with ${words} by a ${kind.name}, not with ${thrown}`);
}
