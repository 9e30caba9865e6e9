// The list of runs, kept up to date. One tab reads the event stream and forwards the events to the
// others: browsers allow only six open connections per server, and a seventh tab would hang.

import { fetchApi, get } from "./api.js";

const NOTIFY_DELAY_MS = 30;
const MAX_RECENT_EVENTS = 500;
const MIN_RETRY_SECONDS = 0.5;
const MAX_RETRY_SECONDS = 5;
const POLL_SECONDS = 2; // without Web Locks
const OFFLINE_AFTER_MS = 3000;
const AGE_REFRESH_MS = 2000;

/**
 * A run as the server lists it.
 * @typedef {object} Run
 * @property {string} id "NAME/TIME"
 * @property {string} name
 * @property {string} game game spec
 * @property {string} algorithm
 * @property {number} seed
 * @property {string} state "running", "finished", "stopped", ...
 * @property {number} step
 * @property {number} max_steps
 * @property {number} rate steps per second
 * @property {boolean} exact true if `value` is an exact exploitability
 * @property {number | null} value last evaluation
 * @property {number | null} best best evaluation
 * @property {string} policy the policy that was evaluated
 * @property {string} began ISO time
 * @property {number} version grows with every change
 */

/** State of the runs, changed in place; see `subscribe`. */
export const liveRuns = {
  /** @type {Map<string, Run>} */
  runs: new Map(),
  /** @type {object[]} */
  queue: [],
  loaded: false,
  problem: "",
  lastHeardTime: 0, // milliseconds since the epoch
  online: true,
};

const listeners = new Set();
let lastEventId = "";
let hasPendingNotification = false;
let numReloads = 0;
let recentEvents = [];

/**
 * Call a function after every change of `liveRuns`.
 * @param {() => void} listener
 * @returns {() => void} function that removes the listener
 */
export function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function notifyListeners() {
  if (hasPendingNotification) return;
  hasPendingNotification = true;
  setTimeout(() => {
    hasPendingNotification = false;
    listeners.forEach((listener) => listener());
  }, NOTIFY_DELAY_MS);
}

/**
 * Load the whole list. Events that arrived while the request was under way may be newer than the
 * answer, so they are applied again.
 * @returns {Promise<void>}
 */
export async function reloadRuns() {
  const reload = ++numReloads;
  try {
    const response = await get("/api/runs");
    if (reload !== numReloads) return; // a later request is under way
    liveRuns.runs = new Map(response.runs.map((run) => [run.id, run]));
    liveRuns.queue = response.queue;
    liveRuns.problem = response.problem;
    liveRuns.loaded = true;
    lastEventId = response.at;
    markHeard();
    recentEvents.filter((event) => isLaterEvent(event.id, response.at)).forEach(applyEvent);
  } catch (error) {
    liveRuns.online = error.status !== 0;
    if (error.status !== 401) liveRuns.problem = liveRuns.loaded ? "" : error.message;
  }
  notifyListeners();
}

function markHeard() {
  liveRuns.lastHeardTime = Date.now();
  liveRuns.online = true;
}

/** Return true if both event ids ("BOOT-NUMBER") are of one server and the first is later. */
function isLaterEvent(id, otherId) {
  const [boot, number] = id.split("-");
  const [otherBoot, otherNumber] = otherId.split("-");
  return boot === otherBoot && Number(number) > Number(otherNumber);
}

function handleEvent(event) {
  markHeard();
  if (event.id) recentEvents = [...recentEvents.slice(-MAX_RECENT_EVENTS), event];
  if (event.kind === "reset") reloadRuns();
  applyEvent(event);
  notifyListeners();
}

function applyEvent(event) {
  if (event.id) lastEventId = event.id;
  if (event.kind === "run") {
    const known = liveRuns.runs.get(event.run.id);
    if (!known || known.version <= event.run.version) liveRuns.runs.set(event.run.id, event.run);
  } else if (event.kind === "gone") {
    liveRuns.runs.delete(event.run);
  } else if (event.kind === "queue") {
    liveRuns.queue = event.queue;
  }
}

async function readEventStream(signal) {
  const response = await fetchApi("GET", `/api/events?after=${lastEventId}`, { signal });
  if (response.status !== 200) throw new Error(String(response.status));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let incompleteLine = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (incompleteLine + value).split("\n");
    incompleteLine = lines.pop();
    for (const line of lines) {
      const event = JSON.parse(line);
      handleEvent(event);
      channel?.postMessage(event);
    }
  }
}

const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

async function streamWhileLeader(signal) {
  let pause = MIN_RETRY_SECONDS;
  while (!signal.aborted) {
    try {
      const startTime = Date.now();
      await readEventStream(signal);
      if (Date.now() - startTime > 5000) pause = MIN_RETRY_SECONDS / 2;
    } catch {
      if (signal.aborted) return;
    }
    liveRuns.online = Date.now() - liveRuns.lastHeardTime < OFFLINE_AFTER_MS;
    notifyListeners();
    await sleep(pause);
    if (!signal.aborted) await reloadRuns();
    pause = Math.min(2 * pause, MAX_RETRY_SECONDS);
  }
}

async function pollWhileLeader(signal) {
  while (!signal.aborted) {
    await reloadRuns();
    await sleep(POLL_SECONDS);
  }
}

const channel = "BroadcastChannel" in self ? new BroadcastChannel("counterplay") : null;
let leadership = null; // aborted when this tab stops reading the stream

function becomeLeader() {
  if (leadership) return;
  leadership = new AbortController();
  const { signal } = leadership;
  if (navigator.locks) {
    const lead = () => streamWhileLeader(signal);
    navigator.locks.request("counterplay-stream", { signal }, lead).catch(() => {});
  } else {
    pollWhileLeader(signal); // Web Locks need a secure context
  }
}

function resignLeader() {
  leadership?.abort();
  leadership = null;
}

/**
 * Load the runs and follow their changes for as long as the page is open.
 * @returns {Promise<void>}
 */
export async function startLiveUpdates() {
  if (channel) channel.onmessage = (message) => handleEvent(message.data);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      resignLeader(); // another tab may lead; this one reloads when it is shown again
      return;
    }
    reloadRuns();
    becomeLeader();
  });
  addEventListener("pagehide", resignLeader);
  await reloadRuns();
  if (!document.hidden) becomeLeader();
  setInterval(notifyListeners, AGE_REFRESH_MS); // ages such as "12 s ago" grow
}
