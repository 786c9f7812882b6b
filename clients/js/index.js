// Local differential privacy for browsers and Node: verify a collection, answer it privately, send frames.

export { canonical, fromHex, opened, read, withLabels } from "./descriptor.js";
export { BudgetExceeded, Device, MemoryStorage, settled } from "./device.js";
export { CollectionError, atPlace, oneOf, placeOf } from "./domains.js";
export { Fresh, keyed, threshold } from "./draws.js";
export { batch, frame } from "./frames.js";
export { protocols, randomiser } from "./randomisers.js";
export { ticketOf, ticketRequest, ticketText } from "./tickets.js";
export { WebStorage } from "./web.js";
