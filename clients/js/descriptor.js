// Open signed collections: verify them with the key that the device was shipped with, then check every field.

import { CollectionError, counted, domainOf, standsForNothing } from "./domains.js";
import { joined } from "./draws.js";
import { DAYS } from "./frames.js";
import { keyOf } from "./keys.js";
import { randomiser } from "./randomisers.js";
import { ticketKeyOf } from "./tickets.js";

const FORMAT = "discreet-collection/1";
const FIELDS = [
  ...["domain", "epsilon", "format", "longitudinal", "minimum_cohort", "name", "null", "parameters", "protocol"],
  "window",
];
const text = new TextEncoder();
const SLACK = 1e-9; // doubles are this exact here: an ε that is a lie is a lie by more

/** Returns the collection in an envelope, if it is signed by this key (32 bytes) and has not ended. */
export async function opened(envelope, publicKey, today = new Date()) {
  const { collection, signature } = parsed(envelope);
  if (typeof collection !== "string" || !/^[0-9a-f]{128}$/.test(signature))
    throw new CollectionError("This is not a signed collection. Fetch it again.");
  const { subtle } = globalThis.crypto;
  const key = await subtle.importKey("raw", keyOf(publicKey), "Ed25519", false, ["verify"]);
  const message = joined(text.encode(`${FORMAT}\0`), text.encode(collection));
  if (!(await subtle.verify("Ed25519", key, fromHex(signature), message)))
    throw new CollectionError("The signature is not by this key. Fetch the collection again, or update the key.");
  const found = await read(collection);
  if (!(dayNumber(today) <= found.window[1]))
    throw new CollectionError(`The collection ${found.name} has ended. Ask for a new one.`);
  return found;
}

/** Returns the collection with this canonical text. */
export async function read(canonicalText) {
  const fields = parsed(canonicalText);
  if (fields.format !== FORMAT)
    throw new CollectionError(`This client reads collections of the format ${FORMAT}. Update the client.`);
  const known = Object.keys(fields).filter((name) => name !== "tickets");
  if (known.sort().join() !== FIELDS.join() || canonical(fields) !== canonicalText)
    throw new CollectionError("This is not the canonical text of a collection. Fetch it again.");
  try {
    return await collectionOf(fields, canonicalText);
  } catch (error) {
    if (error instanceof CollectionError) throw error;
    throw new CollectionError(`This is not the text of a collection (${error.message}). Fetch it again.`);
  }
}

async function collectionOf(fields, canonicalText) {
  const made = randomiser(fields.protocol, fields.parameters);
  const { policy, every, epsilon } = fields.longitudinal;
  if (!["none", "memoised", "two-step"].includes(policy))
    throw new CollectionError(`The longitudinal policy ${policy} is not known. Update the client.`);
  const times = policy === "none" ? "reports" : "distinct";
  const number = counted(fields.longitudinal[times], times);
  counted(fields.minimum_cohort, "minimum_cohort");
  if (policy === "two-step" && !made.instant) throw new CollectionError(`The protocol ${fields.protocol} has no second step.`);
  const once = policy === "two-step" ? made.permanentEpsilon : made.epsilon;
  if (made.epsilon > Number(fields.epsilon) + SLACK || number * once > Number(epsilon) + SLACK * number)
    throw new CollectionError("The text contradicts itself: its epsilon is below the one that follows from its probabilities.");
  const domain = domainOf(fields.domain, made);
  checkNull({ ...domain, null: fields.null }, made);
  const id = new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", text.encode(canonicalText)));
  return {
    id,
    name: fields.name,
    randomiser: made,
    ...domain,
    policy: { policy, every: counted(every, "every"), counted: number, lifetime: units(epsilon) },
    epsilon: units(fields.epsilon),
    window: [dayOf(fields.window.from), dayOf(fields.window.to)],
    null: fields.null,
    tickets: "tickets" in fields ? ticketKeyOf(fields.tickets) : null,
  };
}

function checkNull({ null: written, ...domain }, made) {
  if (written !== null && !standsForNothing(written, domain, made))
    throw new CollectionError("The label for values outside the domain is not in the domain.");
}

/** Returns the collection with its labels, if its text has only their hash. */
export async function withLabels(collection, labels) {
  const hash = await globalThis.crypto.subtle.digest("SHA-256", text.encode(canonical(labels)));
  if (hex(new Uint8Array(hash)) !== collection.digest)
    throw new CollectionError("These labels are not those of the collection: their hash differs.");
  if (labels.length !== collection.randomiser.domain)
    throw new CollectionError("The protocol is for another number of labels: the domain has another number.");
  const found = { ...collection, labels };
  checkNull(found, collection.randomiser);
  return found;
}

/** JSON with sorted keys, without blanks, in ASCII: the same text as in Python. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const keys = Object.keys(value).sort();
    return `{${keys.map((key) => `${canonical(key)}:${canonical(value[key])}`).join(",")}}`;
  }
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, escaped);
}

/** A decimal as a whole number of units of 10^−12. */
export function units(decimal) {
  const [, front, behind = ""] = /^([0-9]+)(?:\.([0-9]{1,12}))?$/.exec(decimal) ?? [];
  if (typeof decimal !== "string" || front === undefined)
    throw new CollectionError(`${decimal} is not a decimal with up to twelve places.`);
  return BigInt(front) * 10n ** 12n + BigInt(behind.padEnd(12, "0"));
}

/** How many days after 1970-01-01 a moment is, in universal time. */
export const dayNumber = (moment) => Math.floor(moment.getTime() / 86400000);

function dayOf(written) {
  const moment = new Date(`${written}T00:00:00Z`);
  if (Number.isNaN(moment.getTime()) || moment.toISOString().slice(0, 10) !== written)
    throw new CollectionError(`A day must be a date, such as 2026-01-31 (found: ${written}).`);
  const day = dayNumber(moment);
  if (!(day >= 0 && day < DAYS)) throw new CollectionError(`A day must be from 1970 to 2149 to fit into a frame (found: ${written}).`);
  return day;
}

function parsed(json) {
  try {
    const fields = JSON.parse(json);
    if (fields !== null && typeof fields === "object") return fields;
  } catch {
    // what is not JSON is refused with the same message as JSON of another kind
  }
  throw new CollectionError("This is not a collection. Fetch it again.");
}

/** Bytes as hexadecimal digits. */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The bytes of hexadecimal digits. */
export function fromHex(digits) {
  if (!/^([0-9a-f]{2})*$/i.test(digits)) throw new RangeError("These are not hexadecimal digits, two for each byte.");
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}
