// Write the wire format: frames and batches, byte for byte as in Python's discreet.local.device.wire.

import { bigEndian, joined } from "./draws.js";

const VERSION = 0x01;
const DAY = 0x10;
const IDENTIFIED = 0x20;

/** The number of days that fit into a frame, from 1970-01-01 to 2149-06-06. */
export const DAYS = 65536;

/** A report, ready to leave. `day` counts from 1970-01-01; an id lets the server count the report once. */
export function frame(collection, payload, { day = null, identified = true } = {}) {
  if (payload.length !== collection.randomiser.payloadBytes)
    throw new RangeError(`The reports of ${collection.name} have ${collection.randomiser.payloadBytes} bytes each.`);
  if (day !== null && !(Number.isInteger(day) && day >= 0 && day < DAYS))
    throw new RangeError(`A day must be from 1970 to 2149 to fit into a frame (found: day ${day}).`);
  const first = VERSION | (day === null ? 0 : DAY) | (identified ? IDENTIFIED : 0);
  const when = day === null ? new Uint8Array() : bigEndian(day, 2);
  const id = identified ? globalThis.crypto.getRandomValues(new Uint8Array(16)) : new Uint8Array();
  return joined(Uint8Array.of(first), collection.id.subarray(0, 8), when, id, payload);
}

/** Frames of one length in one batch, for one request. */
export function batch(frames) {
  const length = frames.length ? frames[0].length : 0;
  if (frames.some((each) => each.length !== length)) throw new RangeError("The frames of a batch must all have one length.");
  const magic = new TextEncoder().encode("DLPB");
  return joined(magic, Uint8Array.of(VERSION), bigEndian(frames.length, 4), bigEndian(length, 2), ...frames);
}
