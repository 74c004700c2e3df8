// The browser's own storage. It may be blocked or full: then things are kept in this page only, and the listener is
// called, because they are lost when the page is closed.

const memory = new Map();

class Storage extends EventTarget {
  fault = null; // "blocked" or "full" once it was met

  get(name) {
    if (memory.has(name)) return memory.get(name);
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  }

  set(name, value) {
    try {
      localStorage.setItem(name, value);
      memory.delete(name);
    } catch (error) {
      memory.set(name, value);
      this.fault = error.name === "QuotaExceededError" ? "full" : "blocked";
      this.dispatchEvent(new Event("fault"));
    }
  }

  remove(name) {
    memory.delete(name);
    try {
      localStorage.removeItem(name);
    } catch {
      // An entry that cannot be reached need not be removed.
    }
  }

  names(prefix) {
    let names = [];
    try {
      names = Object.keys(localStorage);
    } catch {
      // Only what is in memory.
    }
    return [...new Set([...names, ...memory.keys()])].filter((name) => name.startsWith(prefix));
  }
}

export const storage = new Storage();
