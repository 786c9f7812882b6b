// One report of this device, as a batch: node example.js ENVELOPE KEY STATE VALUE > batch
// ENVELOPE is the signed collection, KEY the 32 bytes of its signer or their
// 64 hexadecimal digits, STATE the file of the device (it is made).

import { readFileSync } from "node:fs";

import { BudgetExceeded, Device, batch, fromHex, opened } from "./index.js";
import { FileStorage } from "./node.js";

const [envelope, path, state, value] = process.argv.slice(2);
const key = readFileSync(path);
const collection = await opened(readFileSync(envelope, "utf8"), key.length === 32 ? key : fromHex(key.toString().trim()));
const held = collection.randomiser.domain && !collection.labels ? Number(value) : value;
const device = new Device(new FileStorage(state), { lifetime: "8", perPeriod: "2", days: 30 });

try {
  process.stdout.write(batch([await device.report(collection, held)])); // charged before it is drawn
} catch (error) {
  if (!(error instanceof BudgetExceeded)) throw error;
  console.error(`Nothing is sent: ${error.message}`); // the report is not due, or the budget is spent
}
