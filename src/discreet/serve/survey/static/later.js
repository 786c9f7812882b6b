// Answer with a ticket: swap the code for it first, and send the answer with it at another time.
//
// The randomised frame is drawn and kept first, so that a wrong code or a lost reply costs no second answer. What is
// kept is never the answer itself. The code and the request are forgotten as soon as the ticket is there: from then on
// this browser does not know either which code the ticket came from.

import { CollectionError, Fresh, WebStorage, fromHex, ticketOf, ticketRequest, ticketText } from "./client/index.js";

const SOONEST = 5 * 60_000; // milliseconds between the swap and the answer
const LATEST = 60 * 60_000;
const KIND = { "content-type": "application/octet-stream" };

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The code was not taken. The frame is kept, for another code. */
export class CodeRefused extends Error {}

/** The answer of this browser to one survey with tickets, from the drawn frame to the sent one. */
export class Later {
  #collection;
  #service;
  #options;
  #storage;

  constructor(collection, service, options) {
    this.#collection = collection;
    this.#service = service;
    this.#options = options;
    this.#storage = new WebStorage(`discreet-ticket-${hex(collection.id)}`);
  }

  /** What is kept: { frames, code, request, ticket, due }, or null. */
  async state() {
    const text = await this.#storage.transaction((found) => [found, found]);
    return text === null ? null : JSON.parse(text);
  }

  #keep(state) {
    return this.#storage.transaction(() => [state === null ? null : JSON.stringify(state), null]);
  }

  /** Keep the frame, which was paid for. */
  keepFrames(frames) {
    return this.#keep({ frames: hex(frames) });
  }

  /** Swap a code for a ticket. After a lost reply the same request is sent again, with the code that was kept. */
  async swap(code) {
    let state = await this.state();
    if (!state.request) {
      state = { frames: state.frames, code: code.trim(), request: await ticketRequest(this.#collection.tickets) };
      await this.#keep(state);
    }
    const headers = { ...KIND, "discreet-code": state.code };
    const response = await this.#post("tickets", fromHex(state.request.blinded), headers);
    if (response.status === 403) {
      await this.#keep({ frames: state.frames });
      throw new CodeRefused();
    }
    if (!response.ok) throw new TypeError(`status ${response.status}`);
    const ticket = ticketOf(this.#collection.tickets, state.request, new Uint8Array(await response.arrayBuffer()));
    const due = Date.now() + SOONEST + new Fresh().below(LATEST - SOONEST);
    await this.#keep({ frames: state.frames, ticket: ticketText(ticket), due });
    return state.request.blinded;
  }

  /** Send the frame with the ticket, and forget both. Returns what was sent. */
  async redeem() {
    const { frames, ticket } = await this.state();
    const response = await this.#post("reports", fromHex(frames), { ...KIND, "discreet-ticket": ticket });
    if (response.status >= 500 || response.status === 429) throw new TypeError(`status ${response.status}`);
    await this.#keep(null);
    if (!response.ok) throw new CollectionError("the survey did not take the ticket");
    return { frames, ticket };
  }

  forget() {
    return this.#keep(null);
  }

  #post(path, body, headers) {
    return fetch(`${this.#service}/${path}`, { ...this.#options, method: "POST", body, headers });
  }
}
