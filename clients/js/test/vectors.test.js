// Test the vectors of both languages, in Node. In a browser: tests/local/test_browser.py.

import { readFileSync } from "node:fs";
import test from "node:test";

import { checks } from "../vectors.js";

const vectors = JSON.parse(readFileSync(new URL("../../../tests/local/vectors.json", import.meta.url), "utf8"));

for (const [name, check] of checks(vectors)) test(name, check);
