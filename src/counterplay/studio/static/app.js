// The frame: navigation, theme, keys, and which page the address means.

import { takeToken, keepToken, onLocked, get } from "./api.js";
import { start, reload, live } from "./live.js";
import { html, render, Link, useAddress, useEffect, useErrorBoundary, useKeys, useLive, useRef,
  useState, duration, go } from "./ui.js";
import { Runs } from "./runs.js";
import { Run } from "./run.js";
import { Compare } from "./compare.js";
import { NewRun } from "./new.js";
import { Games, Game } from "./games.js";
import { Explore } from "./explore.js";
import { Play } from "./play.js";
import { Matrix } from "./matrix.js";
import { Spots } from "./spots.js";

const PAGES = [["/", "Runs"], ["/compare", "Compare"], ["/games", "Games"], ["/matrix", "Matrix"],
  ["/spots", "Spots"]];

const KEYS = [
  ["?", "these keys"], ["/", "search on this page"], ["t", "dark, light, or as the system"],
  ["g r", "runs"], ["g c", "compare"], ["g g", "games"], ["g m", "matrix"], ["g s", "hold'em spots"], ["Esc", "close, leave a field"],
  ["j k", "next, previous run"], ["x", "select a run"], ["c", "compare the selected runs"],
  ["s", "stop the selected runs"], ["Enter", "open the run"],
  ["← →", "explore: parent, likeliest child"], ["↑ ↓", "explore: siblings"],
  ["1 … 9", "explore, play: take an action"], ["Home", "explore: the root"],
  ["i", "explore: next node of the infoset"], ["v", "explore: what the grid shows"],
  ["h", "play: a hint"], ["n", "play: next episode"],
];

const routes = [
  [/^\/$/, () => html`<${Runs} />`],
  [/^\/runs\/(.+)$/, ([, id]) => html`<${Run} key=${id} id=${id} />`],
  [/^\/compare$/, () => html`<${Compare} />`],
  [/^\/new$/, () => html`<${NewRun} />`],
  [/^\/games$/, () => html`<${Games} />`],
  [/^\/games\/(.+)$/, ([, spec]) => html`<${Game} key=${spec} spec=${decodeURIComponent(spec)} />`],
  [/^\/explore$/, () => html`<${Explore} />`],
  [/^\/play$/, () => html`<${Play} />`],
  [/^\/matrix$/, () => html`<${Matrix} />`],
  [/^\/spots$/, () => html`<${Spots} />`],
];

export function theme(next) {
  let now = "";
  try {
    if (next !== undefined) localStorage.setItem("counterplay-theme", next);
    now = localStorage.getItem("counterplay-theme") || "";
  } catch { now = next || ""; }
  document.documentElement.dataset.theme = now;
  dispatchEvent(new Event("themechange"));
  return now;
}

function App() {
  const { path } = useAddress();
  const [locked, setLocked] = useState(false);
  const [help, setHelp] = useState(false);
  const [look, setLook] = useState(theme());
  const waiting = useRef(0);  // when g was pressed
  const [error, clear] = useErrorBoundary(problem => console.error(problem));
  const main = useRef(null);
  useEffect(() => onLocked(() => setLocked(true)), []);
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current !== path) clear();  // the error was that of another page
    shown.current = path;
    main.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [path]);
  const next = { "": "dark", dark: "light", light: "" };
  const turn = () => setLook(theme(next[look]));
  const pressed = () => Date.now() - waiting.current < 1500;
  const jump = to => () => { if (!pressed()) return false; waiting.current = 0; go(to); return true; };
  useKeys({
    "?": () => setHelp(true), t: turn, Escape: () => { setHelp(false); waiting.current = 0; },
    "/": () => document.querySelector("[data-search]")?.focus(),
    g: () => { if (!jump("/games")()) waiting.current = Date.now(); },
    r: jump("/"), c: jump("/compare"), m: jump("/matrix"), s: jump("/spots"),
  });
  useEffect(() => {
    const leave = event => event.key === "Escape" && document.activeElement?.matches("input, textarea, select") && document.activeElement.blur();
    addEventListener("keydown", leave);
    return () => removeEventListener("keydown", leave);
  }, []);
  const match = routes.map(([pattern, page]) => [path.match(pattern), page]).find(([found]) => found);
  const here = to => (to === "/" ? path === "/" || path.startsWith("/runs") || path === "/new" : path.startsWith(to));
  return html`<a class="skip" href="#main">To the content</a>
    <header class="top"><${Link} to="/" class="brand"><img src="/static/icon.svg" alt="" width="24" height="24" /> Counterplay</${Link}>
      <nav aria-label="Pages">${PAGES.map(([to, name]) => html`<${Link} key=${to} to=${to} aria-current=${here(to) ? "page" : undefined}>${name}</${Link}>`)}</nav>
      <span class="grow"></span><${Connection} />
      <button class="quiet" onClick=${turn} title="dark, light, or as the system (t)" aria-label="Theme: ${look || "as the system"}">${{ "": "◐", dark: "●", light: "○" }[look]}</button>
      <button class="quiet" onClick=${() => setHelp(true)} title="keys (?)" aria-label="Keys">?</button>
    </header>
    <main id="main" tabindex="-1" ref=${main}>${locked ? html`<${Locked} unlock=${() => { setLocked(false); reload(); }} />`
      : error ? html`<div class="problem" role="alert"><p><strong>This page has stumbled.</strong><br />${String(error.message || error)}</p><button onClick=${clear}>Try again</button></div>`
      : match ? match[1](match[0]) : html`<h1>Nothing here</h1><p>There is no page under this address. <${Link} to="/">To the runs</${Link}></p>`}</main>
    ${help && html`<${Help} close=${() => setHelp(false)} />`}`;
}

function Connection() {
  useLive();
  if (!live.heard) return null;
  const silent = (Date.now() - live.heard) / 1000;
  if (live.online && silent < 12) return html`<span class="connection" role="status"><i class="dot"></i><span class="wide">live</span></span>`;
  return html`<span class="connection lost" role="status"><i class="dot"></i>last heard ${duration(Math.round(silent))} ago</span>`;
}

function Locked({ unlock }) {
  const [text, set] = useState("");
  const [problem, setProblem] = useState("");
  const enter = async event => {
    event.preventDefault();
    keepToken(text.includes("token=") ? text.split("token=")[1] : text);
    try { await get("/api/hello"); unlock(); } catch (error) { setProblem(error.message); }
  };
  return html`<section class="narrow"><h1>The studio wants its token</h1>
    <p>Open the address that <code>counterplay studio</code> printed in the terminal, or paste it here.
    It keeps other people on this machine, and other web sites, out.</p>
    <form onSubmit=${enter}><label>Address or token <input type="password" autocomplete="off" value=${text} onInput=${e => set(e.target.value)} /></label>
    <button class="primary">Enter</button></form>${problem && html`<p role="alert">${problem}</p>`}</section>`;
}

function Help({ close }) {
  const dialog = useRef(null);
  useEffect(() => { dialog.current.showModal(); }, []);
  return html`<dialog ref=${dialog} class="help" onClose=${close} aria-labelledby="keys"><h2 id="keys">Keys</h2>
    <dl>${KEYS.map(([key, what]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}</dl>
    <form method="dialog"><button class="primary">Close</button></form></dialog>`;
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("themechange")));
takeToken();
// A token pasted into the address of an open page changes only the fragment: nothing is loaded.
addEventListener("hashchange", () => {
  if (takeToken()) location.reload();
});
const place = document.getElementById("app");
place.textContent = "";
render(html`<${App} />`, place);
start();
