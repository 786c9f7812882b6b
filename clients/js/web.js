// Store a device's state in browsers: one record of IndexedDB, on the disk before the call returns.
//
// A read-write transaction keeps all others on its store waiting, those of other tabs and workers too, and is undone
// whole if it fails or its page dies. With strict durability it is complete when the disk has it, and only then its
// result is known: a browser that is killed does not forget a report that was sent. (With localStorage it would:
// Chromium writes that seconds later. What may be there is not read.) A database is open for one transaction, so that
// no connection is lost in between, and deleting it does not wait for a page that sleeps.

const STORE = "device";
const STATE = "state";

/** Storage in a browser: a database of this name, for all pages and workers of one origin. */
export class WebStorage {
  #name;

  constructor(key = "discreet-device") {
    this.#name = key;
  }

  async transaction(change) {
    let database;
    let outcome;
    try {
      database = await connected(this.#name);
      outcome = await committed(database, change);
    } catch (error) {
      const why = [error?.name, error?.message].filter(Boolean).join(": ") || "closed by the browser";
      throw new Error(
        `This browser does not keep the state of the device in its database "${this.#name}" (${why}). ` +
          "Send nothing, let the page store data, and try again.",
        { cause: error },
      );
    } finally {
      database?.close();
    }
    return outcome();
  }
}

function connected(name) {
  return new Promise((resolve, reject) => {
    const request = globalThis.indexedDB.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** The outcome of the transaction: a function that returns its result, or throws what change threw. */
function committed(database, change) {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(STORE, "readwrite", { durability: "strict" });
    const store = transaction.objectStore(STORE);
    let result;
    let over = () => reject(transaction.error);
    store.get(STATE).onsuccess = ({ target }) => {
      try {
        let text;
        [text, result] = change(target.result ?? null);
        store.put(text, STATE);
      } catch (thrown) {
        over = () =>
          resolve(() => {
            throw thrown;
          });
        transaction.abort();
      }
    };
    transaction.oncomplete = () => resolve(() => result);
    transaction.onabort = () => over();
  });
}
