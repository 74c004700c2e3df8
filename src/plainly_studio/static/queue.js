// Answers wait here until the server confirms them. They are written to the browser's own storage before anything
// is sent, so that a lost network, a closed tab or an ended session loses none. The server stores each key once, so that
// sending twice, from two tabs or after a crash, does no harm.
import { storage } from "./storage.js";

const LONGEST_WAIT = 30000;
const PATIENCE = 20000;

export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Server {
  constructor(about) {
    this.base = about.base;
    this.rater = about.rater;
    this.token = about.token;
    this.shown = () => undefined; // the number of the item on the screen, from which the server measures its time
  }

  async post(path, data) {
    return this.call(path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-studio-token": this.token },
      body: JSON.stringify({ ...data, shown: this.shown() }),
    });
  }

  // {status, body}; status 0 when nothing came back.
  async call(path, options = {}) {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), PATIENCE);
    try {
      const answer = await fetch(this.base + path, { ...options, signal: stop.signal, credentials: "same-origin" });
      let body = {};
      try {
        body = await answer.json();
      } catch {
        if (answer.ok) return { status: 0, body: {} };
      }
      return { status: answer.status, body, answered: Number(answer.headers.get("x-studio-answered")) };
    } catch {
      return { status: 0, body: {} };
    } finally {
      clearTimeout(timer);
    }
  }

  // After a new session began in this browser the page goes on, if it is still the same person's.
  async renew() {
    const { status, body } = await this.call("/api/me");
    if (status !== 200) return status === 0 || status >= 500 ? "offline" : "signed-out";
    if (body.rater !== this.rater) return "somebody-else";
    this.token = body.token;
    return "ok";
  }
}

export class Queue extends EventTarget {
  constructor(server) {
    super();
    this.server = server;
    this.prefix = `studio.queue.${server.rater}.`;
    this.asidePrefix = `studio.aside.${server.rater}.`;
    this.state = "ready"; // ready, sending, offline, full, signed-out, somebody-else
    this.wait = 1000;
    this.timer = 0;
    addEventListener("online", () => this.send());
    addEventListener("storage", () => this.tell());
    document.addEventListener("visibilitychange", () => document.hidden || this.send());
  }

  stored(prefix) {
    return storage.names(prefix)
      .map((name) => JSON.parse(storage.get(name)))
      .sort((a, b) => a.at - b.at);
  }

  pending() {
    return this.stored(this.prefix);
  }

  // Answers that the server did not take, until the person has decided about them.
  aside() {
    return this.stored(this.asidePrefix);
  }

  add(answer) {
    const last = this.pending().at(-1);
    const at = Math.max(Date.now(), last ? last.at + 1 : 0);
    const entry = { key: newKey(), at, ...answer };
    storage.set(this.prefix + entry.key, JSON.stringify(entry));
    this.tell();
    this.send();
    return entry;
  }

  forget(entry) {
    storage.remove(this.prefix + entry.key);
    storage.remove(this.asidePrefix + entry.key);
    this.tell();
  }

  tell() {
    this.dispatchEvent(new Event("change"));
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), this.wait);
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
  }

  async send() {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    clearTimeout(this.timer);
    await null; // The page shows the next item before this answer is sent.
    try {
      for (let [entry] = this.pending(); entry; [entry] = this.pending()) {
        if (!(await this.sendOne(entry))) break;
      }
    } finally {
      this.busy = false;
      this.tell();
      if (this.again) {
        this.again = false;
        if (this.state === "ready" && this.pending().length) this.send();
      }
    }
  }

  async sendOne(entry) {
    const hidden = entry.hidden + Math.max(0, Date.now() - entry.at) / 1000; // The time in this queue was not spent on the item.
    const { status, body, answered } = await this.server.post("/api/answer", { ...entry, hidden });
    if (status === 201) {
      this.state = "ready";
      this.wait = 1000;
      this.forget(entry);
      this.dispatchEvent(new CustomEvent("stored", { detail: { entry, body, answered } }));
      return true;
    }
    if (status === 401 || (status === 403 && body.error === "token")) {
      const renewed = await this.server.renew();
      if (renewed === "ok") return true; // and try the same one again
      this.state = renewed;
      this.later();
      return false;
    }
    if ([400, 404, 409, 413, 422].includes(status)) {
      storage.set(this.asidePrefix + entry.key, JSON.stringify({ ...entry, refusal: body }));
      storage.remove(this.prefix + entry.key);
      this.state = "ready";
      this.tell();
      this.dispatchEvent(new CustomEvent("refused", { detail: { entry, body } }));
      return true;
    }
    this.state = status === 507 ? "full" : "offline";
    this.later();
    return false;
  }
}
