// Store a device's state in Node: one file that only its owner can read, changed under a lock, synced before returning.
//
// The lock is a file that appears whole (by a hard link) and names its holder: the process, its start, and a unique
// token. Its holder removes it. If the holder is dead, one process removes it: the one that holds the lock on that
// token, and then finds the token still there. No other process may remove a lock with this token, so a lock that was
// just taken is never removed. All processes must see each other: one machine.

import { link, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

/** Storage in a file (0600). A process that dies leaves neither half a file nor a lock that blocks others. */
export class FileStorage {
  #path;
  #patience;

  constructor(path, { patience = 30000 } = {}) {
    this.#path = path;
    this.#patience = patience;
  }

  async transaction(change) {
    const lock = `${this.#path}.lock`;
    await taken(lock, Date.now() + this.#patience);
    try {
      const [text, result] = change(await contents(this.#path));
      await this.#write(text);
      return result;
    } finally {
      await rm(lock);
    }
  }

  async #write(text) {
    const draft = await open(`${this.#path}.new`, "w", 0o600);
    try {
      await draft.writeFile(text);
      await draft.sync();
    } finally {
      await draft.close();
    }
    await rename(`${this.#path}.new`, this.#path);
    const folder = await open(dirname(this.#path), "r"); // the new name must be on the disk too
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
}

/** Returns when this process has the lock; gives up at the end of its patience. */
async function taken(lock, end) {
  const token = randomBytes(16).toString("hex");
  const draft = `${lock}.${token}.draft`;
  await writeFile(draft, JSON.stringify({ pid: process.pid, began: await began(process.pid), token }), { mode: 0o600 });
  try {
    for (;;) {
      try {
        return await link(draft, lock);
      } catch (error) {
        if (error.code !== "EEXIST") throw error;
      }
      if (Date.now() > end) throw new Error(`${lock} is held by a process that is alive. Try again later.`);
      const found = await holder(lock);
      if (found && !(await alive(found))) await cleared(lock, found.token, end);
      else await wait(5);
    }
  } finally {
    await rm(draft);
  }
}

async function cleared(lock, token, end) {
  const claim = `${lock}.${token}`;
  await taken(claim, end);
  try {
    if ((await holder(lock))?.token === token) await rm(lock);
  } finally {
    await rm(claim);
  }
}

async function holder(lock) {
  const text = await contents(lock);
  return text === null ? null : JSON.parse(text);
}

async function alive({ pid, began: then }) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code === "ESRCH") return false;
  }
  return then === null || then === (await began(pid)); // process numbers are reused
}

/** The start of a process, if the system has it (Linux): field 22, after the name in brackets. */
async function began(pid) {
  const fields = (await contents(`/proc/${pid}/stat`).catch(() => null))?.split(") ").at(-1).split(" ");
  return fields?.[19] ?? null;
}

async function contents(path) {
  return readFile(path, "utf8").catch((error) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
}
