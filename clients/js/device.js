// Make the reports of one device: charge them, randomise them, and stop at the limit.
//
// The same rules as in Python's discreet.local.device.device. A report is charged in storage before it is drawn; whether
// it is allowed never depends on a value; policies with a memory are charged in full with the first report; a device
// answers for its first `distinct` values (or cases, of protocols with a memory of their own) and repeats its last
// answer afterwards. No value is stored: only random answers, and keyed hashes of values.
//
// Storage is { transaction(change) }: an exclusive transaction that calls change(text or null), which returns
// [text, result]; it stores the text durably before it resolves to the result. See MemoryStorage here, WebStorage in
// web.js, and FileStorage in node.js.

import { Fresh, bigEndian, hmac, joined, keyed } from "./draws.js";
import { dayNumber, fromHex, hex, units } from "./descriptor.js";
import { oneOf } from "./domains.js";
import { frame } from "./frames.js";

/** A report that is not due, or costs more than what is left. Nothing was charged, and nothing is sent. */
export class BudgetExceeded extends Error {}

const fresh = new Fresh();

export class Device {
  #storage;
  #caps;
  #now;

  /** The limits are decimals: for the cost of all reports of a life, and of those of `days` days. */
  constructor(storage, { lifetime, perPeriod, days = 1, now = () => new Date() }) {
    if (!Number.isSafeInteger(days) || days < 1)
      throw new RangeError(`A period must have a whole number of days from 1, such as days: 30 (found: ${days}).`);
    this.#storage = storage;
    this.#caps = { lifetime: units(String(lifetime)), perPeriod: units(String(perPeriod)), days };
    this.#now = now;
  }

  /** Returns a frame to send. Call it on a schedule that does not depend on the value. */
  async report(collection, value, { dated = false } = {}) {
    const today = dayNumber(this.#now());
    const [from, to] = collection.window;
    // the comparisons here and below are such that an invalid clock (NaN) refuses
    if (!(today >= from && today <= to))
      throw new BudgetExceeded(`${collection.name} does not collect today.`);
    const one = oneOf(collection, value);
    const secret = await this.#change((state) => this.#pay(state, collection, today));
    const payload = await this.#answer(collection, one, fromHex(secret));
    return frame(collection, payload, { day: dated ? today : null });
  }

  async #change(step) {
    return this.#storage.transaction((stored) => {
      const secret = () => hex(globalThis.crypto.getRandomValues(new Uint8Array(32)));
      const state = stored === null ? { secret: secret(), paid: [], reported: {}, permanent: {} } : JSON.parse(stored);
      const result = step(state);
      return [JSON.stringify(state), result];
    });
  }

  #pay(state, collection, today) {
    const id = hex(collection.id);
    const { policy, every, counted, lifetime } = collection.policy;
    const [last, reports] = state.reported[id] ?? [null, 0];
    if (last !== null && !(today >= last + every))
      throw new BudgetExceeded(`${collection.name} has its report of this period. The next is due on day ${last + every}.`);
    if (policy === "none" && reports >= counted)
      throw new BudgetExceeded(`${collection.name} has all of its ${counted} reports of this device.`);
    if (policy === "none" || reports === 0) {
      const price = policy === "none" ? collection.epsilon : lifetime;
      this.#afford(state.paid, price, today);
      state.paid.push([today, id, String(price)]);
    }
    state.reported[id] = [today, reports + 1];
    return state.secret;
  }

  #afford(paid, price, today) {
    const sum = (some) => some.reduce((total, [, , cost]) => total + BigInt(cost), 0n);
    const recent = paid.filter(([day]) => !(Math.abs(today - day) >= this.#caps.days));
    if (sum(paid) + price > this.#caps.lifetime)
      throw new BudgetExceeded("The budget for the life of the device does not cover this report. Nothing is sent.");
    if (sum(recent) + price > this.#caps.perPeriod)
      throw new BudgetExceeded("The budget in this period does not cover this report. Nothing is sent.");
  }

  async #answer(collection, one, secret) {
    const { randomiser, policy } = collection;
    if (policy.policy === "none") return randomiser.encode(one.held, fresh);
    const permanent = await this.#permanent(collection, one, secret);
    return policy.policy === "memoised" ? permanent : randomiser.instant(permanent, fresh);
  }

  async #permanent(collection, one, secret) {
    const { answer, context } = await settled(collection, one, secret);
    const tag = hex((await hmac(secret, joined(new TextEncoder().encode("admitted"), context))).subarray(0, 16));
    const id = hex(collection.id);
    const admitted = await this.#change((state) => {
      const known = (state.permanent[id] ??= []);
      if (known.some(([seen]) => seen === tag)) return hex(answer);
      if (known.length >= collection.policy.counted) return known[known.length - 1][1];
      known.push([tag, hex(answer)]);
      return hex(answer);
    });
    return fromHex(admitted);
  }
}

/** The permanent answer to one value (see oneOf) that follows from a secret, and the context of its tag. */
export async function settled(collection, { held, key }, secret) {
  const { randomiser, id } = collection;
  if (randomiser.remembered) {
    // the context is the case, not its answer: two cases may have drawn the same answer
    const context = joined(id, bigEndian(await randomiser.caseOf(held, secret, id), 8));
    return { answer: await randomiser.remembered(held, secret, id), context };
  }
  const context = joined(id, key);
  const answer = await keyed(secret, context, await firstStep(collection, held, secret));
  return { answer, context };
}

async function firstStep({ randomiser, policy, id }, held, secret) {
  if (policy.policy !== "two-step") return (draws) => randomiser.encode(held, draws);
  if (!randomiser.cohort) return (draws) => randomiser.permanent(held, draws);
  const cohort = await keyed(secret, joined(id, new TextEncoder().encode("|cohort")), randomiser.cohort);
  return (draws) => randomiser.permanent(held, draws, cohort); // one cohort for all values of the device
}

/** Storage that is lost with the page: for tests. */
export class MemoryStorage {
  #stored = null;

  async transaction(change) {
    const [text, result] = change(this.#stored);
    this.#stored = text;
    return result;
  }
}
