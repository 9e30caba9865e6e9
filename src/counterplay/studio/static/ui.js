// Small things that every page uses: elements, numbers, addresses, keys.

import { h, render, Fragment } from "./vendor/preact.js";
import { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useErrorBoundary }
  from "./vendor/hooks.js";
import htm from "./vendor/htm.js";
import { ask, download, wait } from "./api.js";
import { live, subscribe } from "./live.js";

export const html = htm.bind(h);
export { render, Fragment, useState, useEffect, useRef, useMemo, useCallback, useErrorBoundary };

// ---- numbers: three digits; the exact one is in the title and is what gets copied

const SUPER = "⁰¹²³⁴⁵⁶⁷⁸⁹";
export const superscript = n => (n < 0 ? "⁻" : "") + [...String(Math.abs(n))].map(d => SUPER[d]).join("");

export function short(x, digits = 3) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e15) return x.toExponential(1);
  if (size >= 1000) return Math.round(x).toLocaleString("en").replace("-", "−");
  if (size < 1e-3) {
    const [mantissa, power] = x.toExponential(digits - 1).split("e");
    return `${mantissa.replace("-", "−")}·10${superscript(Number(power))}`;
  }
  const text = String(Number(x.toPrecision(digits)));
  return text.replace("-", "−");
}

export const count = x => (x >= 1e15 ? x.toExponential(1) : Math.round(x).toLocaleString("en"));
export const percent = p => {
  if (p > 0 && p < 0.0005) return "<0.1 %";
  const v = 100 * p;
  return `${v >= 99.95 || v === 0 ? Math.round(v) : v >= 10 ? v.toFixed(0) : v.toFixed(1)} %`;
};
export const signed = x => (x > 0 ? "+" : "") + short(x);

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds > 0 && seconds < 0.001) return "less than 1 ms";
  if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${(seconds / 3600).toFixed(1)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

export const bytes = x =>
  x < 2 ** 20 ? `${Math.ceil(x / 1024)} KB` : x < 2 ** 30 ? `${short(x / 2 ** 20, 2)} MB`
    : `${short(x / 2 ** 30, 2)} GB`;

export function ago(time) {
  if (!time) return "–";
  const seconds = Math.max((Date.now() - new Date(time)) / 1000, 0);
  return seconds < 5 ? "now" : `${duration(Math.round(seconds))} ago`;
}

export const timeLeft = run =>
  run.rate > 0 && run.max_steps > run.step ? (run.max_steps - run.step) / run.rate : NaN;

export function gameTitle(spec) {
  const upload = spec.startsWith("upload:");
  const name = upload ? `file ${spec.slice(7, 13)}…` : spec.replace(/^.*\//, "");
  return name.replace(/_/g, " ").replace("(", " (").replace(/,(?=\S)/g, ", ");
}

// ---- addresses: all state is there

const moved = new Set();
export function go(path, { replace = false } = {}) {
  if (path === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", path);
  moved.forEach(listen => listen());
}
addEventListener("popstate", () => moved.forEach(listen => listen()));

export function useAddress() {
  const [, set] = useState(0);
  useEffect(() => {
    const listen = () => set(n => n + 1);
    moved.add(listen);
    return () => moved.delete(listen);
  }, []);
  return { path: decodeURI(location.pathname), query: new URLSearchParams(location.search) };
}

export function setQuery(patch, options) {
  const now = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined || value === null || value === "") now.delete(key);
    else now.set(key, value);
  }
  const text = now.toString();
  go(location.pathname + (text ? `?${text}` : ""), options);
}

export const Link = ({ to, children, ...rest }) => html`<a href=${to} ...${rest} onClick=${event => {
  rest.onClick?.(event);
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  event.preventDefault();
  go(to);
}}>${children}</a>`;

export const runLink = id => `/runs/${id}`;

// ---- keys: off while typing; they mean what the page shows, from the moment it shows it

export function useKeys(keys) {
  const latest = useRef(keys);
  latest.current = keys;
  useLayoutEffect(() => {
    const listen = event => {
      const typing = event.target.closest?.("input, textarea, select, [contenteditable], dialog");
      if (typing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const act = latest.current[event.key];
      if (act && act(event) !== false) event.preventDefault();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
}

// ---- data

export function useLive() {
  const [, set] = useState(0);
  useEffect(() => subscribe(() => set(n => n + 1)), []);
  return live;
}

// What a path answers, asked again when the path changes; the last answer stays until the next.
export function useAnswer(path, { keep = true } = {}) {
  const [state, set] = useState({});
  const [turn, again] = useState(0);
  useEffect(() => {
    if (!path) return set({});
    const control = new AbortController();
    const unless = use => found => control.signal.aborted || use(found);  // late answers do not count
    set(before => ({ data: keep ? before.data : undefined, loading: true, path: before.path }));
    wait("GET", path, {
      signal: control.signal,
      progress: unless(progress => set(before => ({ ...before, progress }))),
    }).then(unless(data => set({ data, path })), unless(error => set({ error })));
    return () => control.abort();
  }, [path, turn]);
  return { ...state, reload: () => again(n => n + 1) };
}

export function useAction() {
  const [state, set] = useState({});
  const act = async (method, path, body, options) => {
    set({ busy: true });
    try {
      const found = await ask(method, path, { body, ...options });
      set({});
      return found;
    } catch (error) {
      set({ error });
      return null;
    }
  };
  return [act, state, () => set({})];
}

// ---- pieces of pages

const STATES = {
  running: ["▶", "running now"], finished: ["✓", "at its end"], stopped: ["❚❚", "ended on request"],
  failed: ["✕", "ended by an error"], aborted: ["✕", "ended by a second Ctrl-C"],
  killed: ["⊘", "ended without a word: killed, or the machine went down"],
  lost: ["?", "on another machine, and silent"], new: ["○", "not begun"],
  ended: ["–", "ended; nobody noted how"], damaged: ["!", "its folder cannot be read"],
  queued: ["…", "waits for a free core"], held: ["?", "was not queued by you: waits for your consent"], starting: ["◔", "builds its tree"],
};
export const State = ({ state }) => html`<span class="state ${state}" title=${STATES[state]?.[1]}>
  <i aria-hidden="true">${STATES[state]?.[0] || "·"}</i> ${state}</span>`;

export const Problem = ({ error, retry }) => error && html`<div class="problem" role="alert">
  <p><strong>${error.message}</strong>${error.hint && html`<br />${error.hint}`}</p>
  ${retry && html`<button onClick=${retry}>Try again</button>`}</div>`;

// A button that saves a file; why it cannot is said beside it.
export function Save({ path, name, children }) {
  const [state, set] = useState({});
  const keep = async () => {
    set({ busy: true });
    try { await download(path, name); set({}); } catch (error) { set({ error }); }
  };
  return html`<button class="quiet" disabled=${state.busy} onClick=${keep}>${children}</button><${Problem} error=${state.error} />`;
}

export const Working = ({ progress, cancel }) => {
  const { doing, done, total } = progress || {};
  return html`<div class="working" role="status">
    <p>${doing ? `${doing[0].toUpperCase()}${doing.slice(1)}` : "Working"}${done ? `: ${count(done)}` : ""}${
      total ? ` of about ${count(total)}` : ""} …</p>
    <progress aria-label=${doing || "working"} value=${total ? done : undefined} max=${total || undefined}></progress>
    ${cancel && html`<button onClick=${cancel}>Cancel</button>`}
  </div>`;
};

export function Command({ children }) {
  const [copied, set] = useState(false);
  const copy = async () => {
    try { await navigator.clipboard.writeText(children); set(true); setTimeout(() => set(false), 1500); }
    catch { set(false); }
  };
  return html`<footer class="command"><span>The same on the command line</span>
    <code>${children}</code><button class="quiet" onClick=${copy}>${copied ? "Copied" : "Copy"}</button>
  </footer>`;
}

export const Bar = ({ part, label }) => html`<span class="bar" role="img" aria-label=${label || percent(part)}
  style=${{ "--part": `${100 * Math.min(Math.max(part, 0), 1)}%` }}></span>`;

export const quote = text => (/^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);

// Okabe and Ito's colours, which people with any kind of colour vision tell apart
export const HUES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a900", "#7d7d7d"];
export const hue = n => HUES[((n % HUES.length) + HUES.length) % HUES.length];

export const Tabs = ({ label, value, options, choose }) => html`<div class="tabs" role="group" aria-label=${label}>
  ${options.map(([key, name]) => html`<button key=${key} class=${key === value ? "on" : ""}
    aria-pressed=${key === value} onClick=${() => choose(key)}>${name}</button>`)}</div>`;
