// The respondent's side: verify first, explain, randomise here, show the bytes, send nothing else.
// Nothing that this page is told becomes HTML: texts go into the page as texts.

import { BudgetExceeded, CollectionError, Device, Fresh, WebStorage, batch, fromHex, oneOf, opened } from "./client/index.js";

const LIFETIME = "8"; // the most that this browser ever spends on surveys of this site, and in thirty days
const PERIOD = "4";
const UNIT = 1e12;

const $ = (id) => document.getElementById(id);
const say = (text) => ($("state").textContent = text);
const quiet = { credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store" };
const { service, collection: place } = document.body.dataset;
const key = new URLSearchParams(location.hash.slice(1)).get("key"); // a fragment never leaves the browser
const storage = new WebStorage();
const choice = new WebStorage("discreet-stopped");

const kept = (where) => where.transaction((text) => [text, text]);

async function begin() {
  if ((await kept(choice)) === "stopped") {
    say("You stopped for good. This browser answers no more surveys of this site.");
    return;
  }
  const response = await fetch(place, quiet);
  if (!response.ok) throw new CollectionError("there is no such survey");
  const collection = await opened(await response.text(), fromHex(key ?? ""));
  $("title").textContent = collection.name;
  document.title = collection.name;
  say("This question is signed by its author, and was not changed.");
  for (const label of collection.labels) {
    const line = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { type: "radio", name: "value", value: label, required: true });
    line.append(input, label);
    $("choices").append(line);
  }
  $("about").hidden = $("form").hidden = false;
  $("coin").onclick = () => thrown(collection);
  $("never").onclick = stop;
  $("form").onsubmit = (event) => {
    event.preventDefault();
    answer(collection, new FormData($("form")));
  };
  await showSpent();
}

/** Throw the coin ten times for one answer, as it is thrown for a real one. Nothing is sent or spent. */
function thrown(collection) {
  const chosen = new FormData($("form")).get("value") ?? collection.labels[0];
  const fresh = new Fresh();
  const said = Array.from({ length: 10 }, () => {
    const bytes = collection.randomiser.encode(oneOf(collection, chosen).held, fresh);
    return collection.labels[bytes.reduceRight((sum, byte) => sum * 256 + byte, 0)];
  });
  $("thrown").textContent = `If your answer were “${chosen}”, ten phones like yours would say: ${said.join(", ")}.`;
}

async function answer(collection, form) {
  const device = new Device(storage, { lifetime: LIFETIME, perPeriod: PERIOD, days: 30 });
  $("form").hidden = true;
  try {
    const frames = batch([await device.report(collection, form.get("value"))]); // paid on this device before it is drawn
    const code = form.get("code");
    const headers = { "content-type": "application/octet-stream", ...(code ? { "discreet-code": code.trim() } : {}) };
    const response = await fetch(`${service}/reports`, { ...quiet, method: "POST", body: frames, headers });
    $("bytes").textContent = Array.from(frames, (byte) => byte.toString(16).padStart(2, "0")).join("");
    $("length").textContent = frames.length;
    $("sent").hidden = false;
    if (response.ok) say("Thank you. Your answer was mixed with chance, and sent.");
    else if (response.status === 403) say("The invitation code is unknown or was used, so the answer was not counted.");
    else say("The answer could not be counted. You may close this page.");
  } catch (error) {
    say(error instanceof BudgetExceeded ? `Nothing is sent: ${error.message}` : unsent(error));
  } finally {
    await showSpent().catch(() => {});
  }
}

/** What to say of an answer that met an error: the network's comes after the answer was paid for. */
const unsent = (error) =>
  error instanceof TypeError
    ? "The answer may not have reached the survey, and is not sent again. You may close this page."
    : `Nothing is sent: ${error.message}`;

async function showSpent() {
  const state = JSON.parse((await kept(storage)) ?? "null");
  const sum = (state?.paid ?? []).reduce((total, [, , cost]) => total + Number(cost), 0) / UNIT;
  const share = Math.ceil((100 * sum) / Number(LIFETIME));
  $("spent").textContent =
    sum === 0 ? "Nothing yet on this site." : `${share} % of what this browser will ever spend on surveys of this site.`;
}

async function stop() {
  $("form").hidden = $("about").hidden = true;
  try {
    await choice.transaction(() => ["stopped", null]);
  } catch (error) {
    say(`Your choice is not kept. Close this page and answer nothing. (${error.message})`);
    return;
  }
  say("You stopped for good. This browser answers no more surveys of this site, and nothing was sent.");
}

begin().catch((error) =>
  say(
    error instanceof CollectionError || error instanceof RangeError
      ? `Do not answer this. The survey was changed on its way, or its link is not whole. (${error.message})`
      : "This page does not work in this browser. Nothing was sent.",
  ),
);
