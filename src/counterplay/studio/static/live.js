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

export async function reload() {
  try {
    const found = await get("/api/runs");
    state.runs = new Map(found.runs.map(run => [run.id, run]));
    state.queue = found.queue;
    state.problem = found.problem;
    state.loaded = true;
    last = found.at;
    heard();
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

function handle(event) {
  heard();
  if (event.id) last = event.id;
  if (event.kind === "run") {
    const known = state.runs.get(event.run.id);
    if (!known || known.version <= event.run.version) state.runs.set(event.run.id, event.run);
  } else if (event.kind === "gone") {
    state.runs.delete(event.run);
  } else if (event.kind === "queue") {
    state.queue = event.queue;
  } else if (event.kind === "reset") {
    reload();
  }
  changed();
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
