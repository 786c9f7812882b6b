// The respondent's side: verify first, explain, randomise here, show the bytes, send nothing else.
// Nothing that this page is told becomes HTML: texts go into the page as texts.

import { BudgetExceeded, CollectionError, Device, Fresh, WebStorage, batch, fromHex, oneOf, opened } from "./client/index.js";
import { CodeRefused, Later } from "./later.js";

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
  $("fingerprint").textContent = Array.from(collection.id.subarray(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const later = collection.tickets ? new Later(collection, service, quiet) : null;
  $("about").hidden = $("form").hidden = false;
  $("coin").onclick = () => thrown(collection);
  $("never").onclick = $("never-later").onclick = () => stop(later);
  $("form").onsubmit = (event) => {
    event.preventDefault();
    const form = new FormData($("form"));
    if (later) withTicket(collection, later, form);
    else answer(collection, form);
  };
  await showSpent();
  if (later && (await later.state())) await resume(later);
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

/** The randomised answer, paid on this device before it is drawn. */
async function drawn(collection, form) {
  const device = new Device(storage, { lifetime: LIFETIME, perPeriod: PERIOD, days: 30 });
  return batch([await device.report(collection, form.get("value"))]);
}

function showSent(frames) {
  $("bytes").textContent = frames;
  $("length").textContent = frames.length / 2;
  $("sent").hidden = false;
}

/** Answer with a ticket: the frame is drawn and kept, the code is swapped, and the rest happens later. */
async function withTicket(collection, later, form) {
  $("form").hidden = true;
  try {
    if (!(await later.state())) await later.keepFrames(await drawn(collection, form));
    await swap(later, form.get("code"));
  } catch (error) {
    say(error instanceof BudgetExceeded ? `Nothing is sent: ${error.message}` : untold(error));
  } finally {
    await showSpent().catch(() => {});
  }
}

/** Go on where this browser stopped: with another code, with the same request, or with the ticket. */
async function resume(later) {
  const { request, ticket, due } = await later.state();
  $("about").hidden = true;
  if (ticket) {
    if (due <= Date.now()) await redeem(later);
    else wait(later, due);
  } else if (request) await swap(later, "").catch((error) => say(untold(error)));
  else askForCode();
}

async function swap(later, code) {
  try {
    $("blinded").textContent = await later.swap(code);
    $("swapped").hidden = false;
  } catch (error) {
    if (!(error instanceof CodeRefused)) throw error;
    askForCode("The invitation code is unknown or was used. Your mixed answer is kept here: try another code.");
    return;
  }
  wait(later, (await later.state()).due);
}

function askForCode(text = "Your mixed answer is kept here, and was not sent. It needs a code.") {
  for (const input of $("choices").querySelectorAll("input")) input.disabled = true;
  $("choices").parentElement.hidden = true;
  $("form").hidden = false;
  say(text);
}

function wait(later, due) {
  $("form").hidden = $("about").hidden = true;
  $("later").hidden = false;
  $("minutes").textContent = Math.max(1, Math.ceil((due - Date.now()) / 60_000));
  say("You have a ticket. Your answer was not sent yet.");
  const timer = setTimeout(() => redeem(later), Math.max(0, due - Date.now()));
  $("now").onclick = () => {
    clearTimeout(timer);
    redeem(later);
  };
}

async function redeem(later) {
  $("later").hidden = $("form").hidden = true;
  try {
    const { frames, ticket } = await later.redeem();
    showSent(frames);
    $("ticket").textContent = ticket;
    $("redeemed").hidden = false;
    say("Thank you. Your answer was mixed with chance, and sent with a ticket that no one can link to your code.");
  } catch (error) {
    say(untold(error));
  }
}

/** What to say of a step with a ticket that met an error: the network's leaves all as it was. */
const untold = (error) =>
  error instanceof TypeError
    ? "The survey cannot be reached now. Nothing is lost: open this page again later, and it goes on."
    : `Your answer was not counted: ${error.message}.`;

async function answer(collection, form) {
  $("form").hidden = true;
  try {
    const frames = await drawn(collection, form);
    const code = form.get("code");
    const headers = { "content-type": "application/octet-stream", ...(code ? { "discreet-code": code.trim() } : {}) };
    const response = await fetch(`${service}/reports`, { ...quiet, method: "POST", body: frames, headers });
    showSent(Array.from(frames, (byte) => byte.toString(16).padStart(2, "0")).join(""));
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

async function stop(later) {
  $("form").hidden = $("about").hidden = $("later").hidden = true;
  try {
    await later?.forget();
    await choice.transaction(() => ["stopped", null]);
  } catch (error) {
    say(`Your choice is not kept. Close this page and answer nothing. (${error.message})`);
    return;
  }
  say(`You stopped for good. This browser answers no more surveys of this site, and ${later ? "no answer" : "nothing"} was sent.`);
}

begin().catch((error) =>
  say(
    error instanceof CollectionError || error instanceof RangeError
      ? "Do not answer this. The survey was changed on its way, or its link is not whole. Nothing was sent. Ask the person who gave you the link."
      : "This page does not work in this browser. Nothing was sent.",
  ),
);
