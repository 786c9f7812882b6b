// Test the device: charged before the draw, permanent answers that stay, refusals that reveal no value.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { BudgetExceeded, Device, MemoryStorage, canonical, frame, oneOf, opened } from "../index.js";
import { placeOf, randomiser, read, settled, withLabels } from "../index.js";
import { FileStorage } from "../node.js";
import { fromHex, hex } from "../descriptor.js";

const vectors = JSON.parse(readFileSync(new URL("../../../tests/local/vectors.json", import.meta.url), "utf8"));
const MAY = new Date("2026-05-01T12:00:00Z");
const [once, twice, always, bits, ...others] = await Promise.all(
  vectors.collections.map(({ envelope, public_key: key }) => opened(envelope, fromHex(key), MAY)),
);
const open = others.filter((survey) => !survey.randomiser.domain);
const twin = (domain) => randomiser("grr", { domain: String(domain), keep: String(1n << 63n) });
const again = (reports) => ({ ...once, policy: { ...once.policy, counted: reports } });

/** A device with a calendar that is turned by hand. */
function device(caps = {}, storage = new MemoryStorage()) {
  const calendar = { now: MAY };
  const made = new Device(storage, { lifetime: "100", perPeriod: "100", now: () => calendar.now, ...caps });
  const pass = (days) => (calendar.now = new Date(calendar.now.getTime() + days * 86400000));
  return { made, pass };
}

const payload = (report, collection) => hex(report.subarray(report.length - collection.randomiser.payloadBytes));

test("without a memory every report costs, until the life is spent", async () => {
  const { made, pass } = device({ lifetime: "3" });
  for (let day = 0; day < 3; day++, pass(1)) await made.report(again(100), "red");
  await assert.rejects(made.report(again(100), "red"), BudgetExceeded);
});

test("a period has a cap of its own, and a clock that is set back buys nothing", async () => {
  const { made, pass } = device({ perPeriod: "1.5", days: 7 });
  await made.report(again(100), "red");
  pass(6);
  await assert.rejects(made.report(again(100), "red"), /in this period/);
  pass(-12);
  await assert.rejects(made.report(again(100), "red"), BudgetExceeded);
  pass(13);
  await made.report(again(100), "red");
});

test("a collection has its own number of reports, and one a day", async () => {
  const { made, pass } = device();
  await made.report(again(2), "red");
  await assert.rejects(made.report(again(2), "red"), /report of this period/);
  pass(1);
  await made.report(again(2), "red");
  pass(1);
  await assert.rejects(made.report(again(2), "red"), /all of its 2 reports/);
});

test("a memoised report is the same for ever, and what the secret settles", async () => {
  const folder = await mkdtemp(join(tmpdir(), "device"));
  try {
    const storage = new FileStorage(join(folder, "device.json"));
    const { made, pass } = device({}, storage);
    const reports = new Set();
    for (let day = 0; day < 10; day++, pass(1)) reports.add(payload(await made.report(always, 7), always));
    const stored = JSON.parse(await readFile(join(folder, "device.json"), "utf8"));
    const { answer } = await settled(always, oneOf(always, 7), fromHex(stored.secret));
    assert.deepEqual([...reports], [hex(answer)]);
    assert.equal((await stat(join(folder, "device.json"))).mode & 0o777, 0o600);
    assert.equal(stored.paid.length, 1);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("after its distinct values a device repeats its last answer", async () => {
  const { made, pass } = device();
  const reports = [];
  for (const value of [7, 8, 9, 500, 999]) {
    reports.push(payload(await made.report(always, value), always));
    pass(1);
  }
  assert.deepEqual(new Set(reports), new Set([reports[0]])); // distinct is 1
});

test("two steps are paid once, and fresh around a permanent answer", async () => {
  const { made, pass } = device({ lifetime: "6" });
  const reports = new Set();
  for (let day = 0; day < 60; day++, pass(1)) reports.add(payload(await made.report(twice, "red"), twice));
  assert.ok(reports.size > 1, "60 equal fresh answers have a probability below 1e-6");
});

test("dBitFlip is remembered and paid for by its cases, however many values these have", async () => {
  for (const counted of [1, 5]) {
    const storage = new MemoryStorage();
    const { made, pass } = device({}, storage);
    const survey = { ...bits, policy: { ...bits.policy, counted } };
    const told = [];
    for (let value = 0; value < 100; value += 3, pass(1)) told.push(payload(await made.report(survey, value), survey));
    const { secret } = await storage.transaction((text) => [text, JSON.parse(text)]);
    const own = async (value) => hex(await bits.randomiser.remembered(value, fromHex(secret), bits.id));
    // four buckets and none of them are five cases: with as many, every value is reported; with one, always the first
    const wanted = await Promise.all(told.map((_, i) => own(counted === 1 ? 0 : 3 * i)));
    assert.deepEqual(told, wanted);
  }
});

test("words and texts are answered for, and a device is in one cohort for all of its texts", async () => {
  const { made, pass } = device();
  const answers = { typed: new Set(), puzzle: new Set(), sites: new Set(), texts: new Set() };
  const cohorts = new Set();
  for (const survey of open) {
    const { policy } = survey;
    const again = { ...survey, policy: { ...policy, counted: policy.policy === "none" ? 9 : policy.counted } };
    for (const text of ["naïve", "zebra", "naïve"]) {
      const told = payload(await made.report(again, text), survey);
      answers[survey.name].add(told);
      if (survey.name === "sites") cohorts.add(told.slice(0, 4));
      pass(1);
    }
  }
  assert.equal(answers.typed.size, 1); // memoised, and distinct is 1
  assert.equal(cohorts.size, 1);
  assert.equal(answers.sites.size, 3, "fresh noise on 128 bits is the same with a probability below 1e-6");
  await assert.rejects(made.report(open[3], 7), /The value is not a text/);
  assert.throws(() => open[3].randomiser.encode("naïve", null), /made by oneOf/);
});

test("what is no value is null, or refused without cost", async () => {
  const { made } = device({ lifetime: "1" });
  await assert.rejects(made.report(twice, "purple"), /no label for that/);
  await assert.rejects(made.report(always, 1000), /not in the domain/);
  await made.report(once, undefined);
});

test("numbers may have a place for what is no value", async () => {
  const text = JSON.parse(vectors.collections[2].envelope).collection;
  const counted = (nothing) => read(canonical({ ...JSON.parse(text), null: nothing }));
  const survey = await counted("3");
  for (const value of [1000, -1, 1.5, "7", null, undefined, NaN]) assert.equal(placeOf(survey, value), 3);
  for (const value of [0, 3, 999]) assert.equal(placeOf(survey, value), value);
  assert.equal(placeOf(await counted("0"), 1000), 0);
  for (const wrong of ["1000", "03", "-1", "1.0", "", "+3", " 3", 3, false])
    await assert.rejects(counted(wrong), /is not in the domain/);
});

test("a label for what is no value is looked for when labels are known that the text names by their hash", async () => {
  const labels = ["red", "green", "blue", "something else"];
  const hash = await globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonical(labels)));
  const fields = JSON.parse(JSON.parse(vectors.collections[0].envelope).collection);
  const domain = { size: "4", sha256: hex(new Uint8Array(hash)) };
  const named = (nothing) => read(canonical({ ...fields, domain, null: nothing }));
  const survey = await withLabels(await named("something else"), labels);
  assert.deepEqual(["green", "purple"].map((value) => placeOf(survey, value)), [1, 3]);
  assert.throws(() => placeOf({ ...survey, labels: null }, "green"), /withLabels/);
  await assert.rejects(withLabels(await named("3"), labels), /is not in the domain/);
  await assert.rejects(named(3), /is not in the domain/);
  // a fifth label would have no place, and only the devices that hold it would be silent
  await assert.rejects(withLabels({ ...(await named(null)), randomiser: twin(3) }, labels), /has another number/);
});

test("a clock that says nothing pays for nothing, and a period has a whole number of days", async () => {
  const { made } = device({ now: () => new Date(NaN) });
  for (const survey of [once, always]) await assert.rejects(made.report(survey, "red"), BudgetExceeded);
  for (const days of [0, -1, 1.5, NaN, Infinity, "30", null]) assert.throws(() => device({ days }), /such as days: 30/);
  device({ days: 1 });
});

test("a clock that stops between two reports buys none", async () => {
  const lost = { ...once, window: [-Infinity, Infinity], policy: { ...once.policy, counted: 9 } };
  const calendar = [MAY, new Date(NaN)];
  const { made } = device({ now: () => calendar.shift() });
  await made.report(lost, "red");
  await assert.rejects(made.report(lost, "red"), BudgetExceeded);
});

test("a frame has two bytes for its day, and none is wrapped into them", () => {
  const empty = new Uint8Array(once.randomiser.payloadBytes);
  assert.deepEqual([...frame(once, empty, { day: 65535 }).subarray(9, 11)], [255, 255]);
  for (const day of [65536, -1, 1.5, NaN]) assert.throws(() => frame(once, empty, { day }), /1970 to 2149/);
});

test("outside of its window a collection gets nothing", async () => {
  const { made, pass } = device();
  pass(365);
  await assert.rejects(made.report(once, "red"), /does not collect today/);
});

test("two devices on one file do not spend more than one may", async () => {
  const folder = await mkdtemp(join(tmpdir(), "device"));
  try {
    const path = join(folder, "device.json");
    const surveys = Array.from({ length: 10 }, (_, i) => ({ ...once, id: once.id.map((byte) => byte ^ i) }));
    const both = [0, 1].map(() => device({ lifetime: "4" }, new FileStorage(path)).made);
    const sent = await Promise.allSettled(surveys.map((survey, i) => both[i % 2].report(survey, "red")));
    assert.equal(sent.filter((each) => each.status === "fulfilled").length, 4);
    assert.ok(sent.every((each) => each.status === "fulfilled" || each.reason instanceof BudgetExceeded));
  } finally {
    await rm(folder, { recursive: true });
  }
});
