// Test storage: nothing is lost, nothing is done twice, and a dead process does not block others.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { WebStorage } from "../index.js";
import { FileStorage } from "../node.js";

const counted = (text) => [String(Number(text ?? 0) + 1), Number(text ?? 0) + 1];
const NODE = new URL("../node.js", import.meta.url).href;

async function inFolder(run) {
  const folder = await mkdtemp(join(tmpdir(), "storage"));
  try {
    await run(folder, join(folder, "device.json"));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A process that dies at once, inside of its transaction. */
async function crashed(path) {
  const dies = `
    import { FileStorage } from ${JSON.stringify(NODE)};
    await new FileStorage(${JSON.stringify(path)}).transaction(() => process.kill(process.pid, "SIGKILL"));`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", dies]);
  const [, signal] = await once(child, "exit");
  assert.equal(signal, "SIGKILL");
}

test("transactions of one file take turns", () =>
  inFolder(async (folder, path) => {
    const both = [new FileStorage(path), new FileStorage(path)];
    await Promise.all(Array.from({ length: 40 }, (_, i) => both[i % 2].transaction(counted)));
    assert.equal(await readFile(path, "utf8"), "40");
    assert.deepEqual(await readdir(folder), ["device.json"]);
  }));

test("a process that died in a transaction left its state as it was, and its lock holds nobody", () =>
  inFolder(async (folder, path) => {
    const storage = new FileStorage(path, { patience: 5000 });
    await storage.transaction(counted);
    await crashed(path);
    assert.ok((await readdir(folder)).includes("device.json.lock"));
    const turns = await Promise.all(Array.from({ length: 20 }, () => storage.transaction(counted)));
    assert.deepEqual(turns.sort((a, b) => a - b), Array.from({ length: 20 }, (_, i) => i + 2));
    assert.deepEqual((await readdir(folder)).filter((name) => name.includes("lock") && !name.endsWith("draft")), []);
  }));

test("whoever died while clearing a lock away holds nobody either", () =>
  inFolder(async (folder, path) => {
    await crashed(path);
    const { token } = JSON.parse(await readFile(`${path}.lock`, "utf8"));
    await crashed(join(folder, "another"));
    await rename(join(folder, "another.lock"), `${path}.lock.${token}`);
    assert.equal(await new FileStorage(path, { patience: 5000 }).transaction(counted), 1);
    assert.ok(!(await readdir(folder)).includes("device.json.lock"));
  }));

test("a process that lives is waited for, and its lock is not taken away", () =>
  inFolder(async (folder, path) => {
    const began = (await readFile("/proc/self/stat", "utf8").catch(() => null))?.split(") ").at(-1).split(" ")[19] ?? null;
    await writeFile(`${path}.lock`, JSON.stringify({ pid: process.pid, began, token: "somebody" }));
    await assert.rejects(new FileStorage(path, { patience: 50 }).transaction(counted), /is alive\. Try again later/);
    assert.equal(JSON.parse(await readFile(`${path}.lock`, "utf8")).token, "somebody");
    if (began === null) return; // without the start of a process the rest cannot be tested
    await writeFile(`${path}.lock`, JSON.stringify({ pid: process.pid, began: "1", token: "of another life" }));
    assert.equal(await new FileStorage(path, { patience: 5000 }).transaction(counted), 1);
  }));

test("a transaction that throws changes nothing and lets the next one in", () =>
  inFolder(async (folder, path) => {
    const storage = new FileStorage(path);
    await storage.transaction(counted);
    const refuses = () => {
      throw new Error("no");
    };
    await assert.rejects(storage.transaction(refuses), /no/);
    assert.equal(await storage.transaction(counted), 2);
  }));

test("where there is no database of a browser, nothing is changed, and it is said why", async () => {
  // in a browser: tests/local/test_browser.py
  const changed = new WebStorage().transaction(() => assert.fail("this was called"));
  await assert.rejects(changed, /does not keep the state of the device in its database "discreet-device" \(TypeError: /);
});
