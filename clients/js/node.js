// Storage for Node: one file that only its owner can read, changed under a lock, and on the disk before anyone goes on.

import { open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

/** Storage in a file (0600). A lock that a crash left behind is to be removed by hand: `${path}.lock`. */
export class FileStorage {
  #path;
  #patience;

  constructor(path, { patience = 30000 } = {}) {
    this.#path = path;
    this.#patience = patience;
  }

  async transaction(change) {
    const lock = await this.#lock();
    try {
      const stored = await readFile(this.#path, "utf8").catch((error) => {
        if (error.code === "ENOENT") return null;
        throw error;
      });
      const [text, result] = change(stored);
      await this.#write(text);
      return result;
    } finally {
      await lock.close();
      await rm(`${this.#path}.lock`);
    }
  }

  async #lock() {
    const end = Date.now() + this.#patience;
    for (;;) {
      try {
        return await open(`${this.#path}.lock`, "wx", 0o600);
      } catch (error) {
        if (error.code !== "EEXIST") throw error;
        if (Date.now() > end) throw new Error(`${this.#path}.lock is held: remove it if no process of this device runs`);
        await wait(5);
      }
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
