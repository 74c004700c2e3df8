// How long an item was out of sight: behind another item, in a hidden tab, or with the page closed. The server measures how
// long an answer took and subtracts this. It is kept in this browser's storage, so that loading the page again loses nothing.
import { storage } from "./storage.js";

export class Timing {
  constructor(name) {
    this.name = name;
    this.began = Date.now();
    this.hidden = 0; // milliseconds
    this.since = null; // when the item went out of sight
    Object.assign(this, JSON.parse(storage.get(name) || "{}"));
  }

  see(isSeen) {
    if (isSeen && this.since !== null) this.hidden += Math.max(0, Date.now() - this.since);
    this.since = isSeen ? null : (this.since ?? Date.now());
    const { began, hidden, since } = this;
    storage.set(this.name, JSON.stringify({ began, hidden, since }));
  }

  get seconds() {
    return Math.max(0, Date.now() - this.began - this.hidden) / 1000;
  }

  forget() {
    storage.remove(this.name);
  }
}
