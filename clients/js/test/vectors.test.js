// The same bytes as in Python: tests/local/vectors.json is made there, and read by both.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { CollectionError, batch, canonical, frame, keyed, oneOf, opened, protocols, randomiser, read, settled, threshold } from "../index.js";
import { fromHex, hex } from "../descriptor.js";
import { domainOf } from "../domains.js";

const vectors = JSON.parse(readFileSync(new URL("../../../tests/local/vectors.json", import.meta.url), "utf8"));
const MAY = new Date("2026-05-01T12:00:00Z");

test("keyed draws are those of Python", async () => {
  for (const { key, context, below, coins } of vectors.draws) {
    const drawn = await keyed(fromHex(key), fromHex(context), (draws) => [
      below.map(([bound]) => [bound, draws.below(bound)]),
      coins.map(([chance]) => [chance, draws.coin(threshold(chance))]),
    ]);
    assert.deepEqual(drawn, [below, coins]);
  }
});

for (const { protocol, parameters, domain, epsilon, payload_bytes: width, key, reports } of vectors.protocols) {
  test(`${protocol} over ${JSON.stringify(domain)} makes the reports of Python`, async () => {
    const made = randomiser(protocol, parameters);
    assert.equal(made.payloadBytes, width);
    assert.ok(Math.abs(made.epsilon - epsilon) < 1e-9, `${made.epsilon} is not ${epsilon}`);
    const question = { randomiser: made, null: null, ...domainOf(domain, made) };
    for (const [value, context, payload] of reports) {
      const { held } = oneOf(question, value);
      const report = await keyed(fromHex(key), fromHex(context), (draws) => made.encode(held, draws));
      assert.equal(hex(report), payload);
    }
  });
}

test("every protocol of this client has its vectors", () => {
  assert.deepEqual(new Set(vectors.protocols.map((each) => each.protocol)), new Set(protocols));
});

for (const { protocol, parameters, key, context, reports } of vectors.remembered) {
  test(`${protocol} remembers what Python remembers`, async () => {
    const made = randomiser(protocol, parameters);
    for (const [value, payload, which] of reports) {
      assert.equal(hex(await made.remembered(value, fromHex(key), fromHex(context))), payload);
      assert.equal(await made.caseOf(value, fromHex(key), fromHex(context)), which);
    }
  });
}

for (const vector of vectors.collections) {
  const name = JSON.parse(JSON.parse(vector.envelope).collection).name;

  test(`the collection ${name} is verified, identified, answered and framed as in Python`, async () => {
    const collection = await opened(vector.envelope, fromHex(vector.public_key), MAY);
    assert.equal(hex(collection.id), vector.id);
    for (const [value, payload] of vector.permanent)
      assert.equal(hex((await settled(collection, oneOf(collection, value), fromHex(vector.secret))).answer), payload);
    const empty = new Uint8Array(collection.randomiser.payloadBytes);
    const made = [null, 20574].map((day) => frame(collection, empty, { day, identified: false }));
    assert.deepEqual(made.map(hex), vector.frames);
    assert.equal(hex(batch([made[0], made[0]])), vector.batch);
  });

  test(`the collection ${name} is refused with another key, a changed text, or when it has ended`, async () => {
    const key = fromHex(vector.public_key);
    const other = key.map((byte, i) => (i ? byte : byte ^ 1));
    await assert.rejects(opened(vector.envelope, other, MAY));
    const changed = vector.envelope.replace('minimum_cohort\\":\\"100', 'minimum_cohort\\":\\"001');
    assert.notEqual(changed, vector.envelope);
    await assert.rejects(opened(changed, key, MAY), /the signature is not by this key/);
    await assert.rejects(opened(vector.envelope, key, new Date("2027-01-01T00:00:00Z")), /has ended/);
  });

  test(`the collection ${name} is not believed to cost less than its chances give`, async () => {
    const text = JSON.parse(vector.envelope).collection;
    const fields = JSON.parse(text);
    await assert.rejects(read(canonical({ ...fields, epsilon: "0.1" })), /does not agree with itself/);
    const longitudinal = { ...fields.longitudinal, epsilon: "0.1" };
    await assert.rejects(read(canonical({ ...fields, longitudinal })), /does not agree with itself/);
    await assert.rejects(read(canonical({ ...fields, format: "discreet-collection/2" })), /update the client/);
    await assert.rejects(read(text.replaceAll(",", ", ")), CollectionError);
    await assert.rejects(read("nonsense"), CollectionError);
  });
}

for (const { wrong, text } of vectors.refused) {
  test(`a collection with ${wrong} is refused, for that`, async () => {
    await assert.rejects(read(text), (error) => {
      assert.ok(error instanceof CollectionError);
      assert.doesNotMatch(error.message, /canonical|does not agree|is not known|of null/);
      return true;
    });
  });
}

test("canonical JSON is that of Python", () => {
  for (const { value, text } of vectors.canonical) assert.equal(canonical(value), text);
});
