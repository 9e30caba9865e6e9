// All runs as of now. One tab reads the stream of events and tells the others: browsers allow only
// six open streams per server, and a seventh tab would wait for ever.

import { get, send } from "./api.js";

const state = { runs: new Map(), queue: [], loaded: false, problem: "", heard: 0, online: true };
const listeners = new Set();
let last = "";
let pending = false;

export const live = state;
export function subscribe(listen) {
  listeners.add(listen);
  return () => listeners.delete(listen);
}

function changed() {
  if (pending) return;
  pending = true;
  setTimeout(() => { pending = false; listeners.forEach(listen => listen()); }, 30);
}

// All runs anew. What was heard while the answer was on its way may be newer: it counts once more.
let reloads = 0;
let recent = [];
export async function reload() {
  const mine = ++reloads;
  try {
    const found = await get("/api/runs");
    if (mine !== reloads) return;  // a later question is under way
    state.runs = new Map(found.runs.map(run => [run.id, run]));
    state.queue = found.queue;
    state.problem = found.problem;
    state.loaded = true;
    last = found.at;
    heard();
    recent.filter(event => follows(event.id, found.at)).forEach(apply);
  } catch (error) {
    state.online = error.status !== 0;
    if (error.status !== 401) state.problem = state.loaded ? "" : error.message;
  }
  changed();
}

function heard() {
  state.heard = Date.now();
  state.online = true;
}

const follows = (id, other) => {
  const [boot, number] = id.split("-"), [known, before] = other.split("-");
  return boot === known && Number(number) > Number(before);
};

function handle(event) {
  heard();
  if (event.id) recent = [...recent.slice(-500), event];
  if (event.kind === "reset") reload();
  apply(event);
  changed();
}

function apply(event) {
  if (event.id) last = event.id;
  if (event.kind === "run") {
    const known = state.runs.get(event.run.id);
    if (!known || known.version <= event.run.version) state.runs.set(event.run.id, event.run);
  } else if (event.kind === "gone") {
    state.runs.delete(event.run);
  } else if (event.kind === "queue") {
    state.queue = event.queue;
  }
}

async function read(signal) {
  const answer = await send("GET", `/api/events?after=${last}`, { signal });
  if (answer.status !== 200) throw new Error(String(answer.status));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const event = JSON.parse(line);
      handle(event);
      channel?.postMessage(event);
    }
  }
}

const sleep = seconds => new Promise(done => setTimeout(done, 1000 * seconds));

async function lead(signal) {
  for (let pause = 0.5; !signal.aborted; pause = Math.min(2 * pause, 5)) {
    try {
      const began = Date.now();
      await read(signal);
      if (Date.now() - began > 5000) pause = 0.25;
    } catch {
      if (signal.aborted) return;
    }
    state.online = Date.now() - state.heard < 3000;
    changed();
    await sleep(pause);
    if (!signal.aborted) await reload();
  }
}

const channel = "BroadcastChannel" in self ? new BroadcastChannel("counterplay") : null;
let leading = null;

function take() {
  if (leading) return;
  leading = new AbortController();
  const { signal } = leading;
  if (navigator.locks) {
    navigator.locks.request("counterplay-stream", { signal }, () => lead(signal)).catch(() => {});
  } else {  // no secure context: ask now and then instead
    (async () => { while (!signal.aborted) { await reload(); await sleep(2); } })();
  }
}

function leave() {
  leading?.abort();
  leading = null;
}

export async function start() {
  if (channel) channel.onmessage = message => handle(message.data);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return leave();  // another tab may lead; this one catches up later
    reload();
    take();
  });
  addEventListener("pagehide", leave);
  await reload();
  if (!document.hidden) take();
  setInterval(changed, 2000);  // "12 s ago" grows
}
