// Make reports of many devices at once, for trials: node simulate.js COLLECTION.json VALUE COUNT > batch
// The text of the collection is read without a signature, and nothing is charged: real devices use Device.

import { readFileSync } from "node:fs";

import { Fresh, batch, frame, oneOf, read } from "./index.js";

const [path, value, count] = process.argv.slice(2);
const collection = await read(readFileSync(path, "utf8"));
const numbers = collection.randomiser.domain && !collection.labels;
const { held } = oneOf(collection, numbers ? Number(value) : value);
const draws = new Fresh();
const frames = Array.from({ length: Number(count) }, () => frame(collection, collection.randomiser.encode(held, draws)));
process.stdout.write(batch(frames));
