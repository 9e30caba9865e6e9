// The frame of every page: navigation, theme, shortcuts, and the page for the current address.

import { Link } from "./components/common.js";
import { get, loadToken, onUnauthorized, storeToken } from "./lib/api.js";
import { formatDuration } from "./lib/format.js";
import { useLiveRuns, useShortcuts } from "./lib/hooks.js";
import { reloadRuns, startLiveUpdates } from "./lib/live_runs.js";
import { html, render, useEffect, useErrorBoundary, useRef, useState } from "./lib/preact.js";
import { navigate, useLocation } from "./lib/router.js";
import { Compare } from "./pages/compare.js";
import { Explore } from "./pages/explore.js";
import { FlopReport } from "./pages/flop_report.js";
import { Game } from "./pages/game.js";
import { Games } from "./pages/games.js";
import { Matrix } from "./pages/matrix.js";
import { NewRun } from "./pages/new_run.js";
import { Play } from "./pages/play.js";
import { Review } from "./pages/review.js";
import { Run } from "./pages/run.js";
import { Runs } from "./pages/runs.js";
import { Spots } from "./pages/spots.js";
import { Trace } from "./pages/trace.js";
import { Trainer } from "./pages/trainer.js";

const THEME_STORAGE_KEY = "counterplay-theme";
const SECOND_KEY_MS = 1500; // time for the second key of "g r"
const SILENCE_SECONDS = 12; // without a message from the server before the page says so

const NAV_LINKS = [
  ["/", "Runs"],
  ["/compare", "Compare"],
  ["/games", "Games"],
  ["/matrix", "Matrix"],
  ["/trace", "Trace"],
  ["/spots", "Spots"],
  ["/train", "Trainer"],
  ["/review", "Review"],
];

const SHORTCUTS = [
  ["?", "this list"],
  ["/", "search on this page"],
  ["t", "theme: dark, light, or as the system"],
  ["g r", "runs"],
  ["g c", "compare"],
  ["g g", "games"],
  ["g m", "matrix"],
  ["g t", "trace: step through an algorithm"],
  ["g s", "hold'em spots"],
  ["g d", "drills of hold'em spots"],
  ["Esc", "close, leave a field"],
  ["j k", "next, previous run"],
  ["x", "select a run"],
  ["c", "compare the selected runs"],
  ["s", "stop the selected runs"],
  ["Enter", "open the run"],
  ["← →", "explore: parent, likeliest child"],
  ["↑ ↓", "explore: siblings"],
  ["1 … 9", "explore, play, spots, drills: take an action"],
  ["Home", "explore: the root"],
  ["← → Home", "trace: back, forward, first iteration"],
  ["i", "explore: next node of the infoset"],
  ["v", "explore: next mode of the grid"],
  ["h", "play: hint"],
  ["n", "play: next episode; drills: next question"],
];

const ROUTES = [
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
  [/^\/trace$/, () => html`<${Trace} />`],
  [/^\/report$/, () => html`<${FlopReport} />`],
  [/^\/train$/, () => html`<${Trainer} />`],
  [/^\/review$/, () => html`<${Review} />`],
];

const NEXT_THEME = { "": "dark", dark: "light", light: "" };
const THEME_SIGNS = { "": "◐", dark: "●", light: "○" };

const announceTheme = () => dispatchEvent(new Event("themechange"));

/** Apply and store a theme ("" is that of the system); without one, apply the stored theme. */
function applyTheme(newTheme) {
  let theme = newTheme || "";
  try {
    if (newTheme !== undefined) localStorage.setItem(THEME_STORAGE_KEY, newTheme);
    theme = localStorage.getItem(THEME_STORAGE_KEY) || "";
  } catch {
    // Storage is disabled: the theme is valid for this page only.
  }
  document.documentElement.dataset.theme = theme;
  announceTheme();
  return theme;
}

/** Return true if a navigation link leads to the section that a path belongs to. */
function isInSection(path, link) {
  if (link !== "/") return path.startsWith(link);
  return path === "/" || path.startsWith("/runs") || path === "/new";
}

/** Escape leaves the field in which the user types. */
function blurOnEscape(event) {
  const field = document.activeElement;
  if (event.key === "Escape" && field?.matches("input, textarea, select")) field.blur();
}

function useFrameShortcuts({ openHelp, closeHelp, changeTheme }) {
  const prefixTime = useRef(0); // when g was pressed
  const goTo = (path) => () => {
    if (Date.now() - prefixTime.current >= SECOND_KEY_MS) return false;
    prefixTime.current = 0;
    navigate(path);
    return true;
  };
  useShortcuts({
    "?": openHelp,
    t: () => goTo("/trace")() || changeTheme(),
    Escape: () => {
      closeHelp();
      prefixTime.current = 0;
    },
    "/": () => document.querySelector("[data-search]")?.focus(),
    g: () => {
      if (!goTo("/games")()) prefixTime.current = Date.now();
    },
    r: goTo("/"),
    c: goTo("/compare"),
    m: goTo("/matrix"),
    s: goTo("/spots"),
    d: goTo("/train"),
  });
  useEffect(() => {
    addEventListener("keydown", blurOnEscape);
    return () => removeEventListener("keydown", blurOnEscape);
  }, []);
}

function App() {
  const { path } = useLocation();
  const [needsToken, setNeedsToken] = useState(false);
  const [showsHelp, setShowsHelp] = useState(false);
  const [theme, setTheme] = useState(applyTheme());
  const [error, clearError] = useErrorBoundary((problem) => console.error(problem));
  const main = useRef(null);
  const shownPath = useRef(path);
  useEffect(() => onUnauthorized(() => setNeedsToken(true)), []);
  useEffect(() => {
    if (shownPath.current !== path) clearError(); // it was the error of another page
    shownPath.current = path;
    main.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [path]);
  const openHelp = () => setShowsHelp(true);
  const closeHelp = () => setShowsHelp(false);
  const changeTheme = () => setTheme(applyTheme(NEXT_THEME[theme]));
  useFrameShortcuts({ openHelp, closeHelp, changeTheme });
  const enter = () => {
    setNeedsToken(false);
    reloadRuns();
  };
  return html`<a class="skip" href="#main">Skip to content</a>
    <header class="top">
      <${Link} to="/" class="brand">
        <img src="/static/icon.svg" alt="" width="24" height="24" />${" "}Counterplay
      </${Link}>
      <nav aria-label="Pages">
        ${NAV_LINKS.map(
          ([to, name]) => html`<${Link}
            key=${to}
            to=${to}
            aria-current=${isInSection(path, to) ? "page" : undefined}
          >
            ${name}
          </${Link}>`,
        )}
      </nav>
      <span class="grow"></span>
      <${ConnectionStatus} />
      <button
        class="quiet"
        onClick=${changeTheme}
        title="theme: dark, light, or as the system (t)"
        aria-label="Theme: ${theme || "as the system"}"
      >
        ${THEME_SIGNS[theme]}
      </button>
      <button class="quiet" onClick=${openHelp} title="keyboard shortcuts (?)" aria-label="Keys">
        ?
      </button>
    </header>
    <main id="main" tabindex="-1" ref=${main}>
      ${
        needsToken
          ? html`<${TokenForm} enter=${enter} />`
          : error
            ? html`<${PageError} error=${error} retry=${clearError} />`
            : html`<${Page} path=${path} />`
      }
    </main>
    ${showsHelp && html`<${Help} close=${closeHelp} />`}`;
}

function Page({ path }) {
  for (const [pattern, renderPage] of ROUTES) {
    const match = path.match(pattern);
    if (match) return renderPage(match);
  }
  return html`<h1>Page not found</h1>
    <p>There is no page at this address. <${Link} to="/">All runs</${Link}></p>`;
}

function PageError({ error, retry }) {
  return html`<div class="problem" role="alert">
    <p>
      <strong>This page failed to render.</strong><br />
      ${String(error.message || error)}
    </p>
    <button onClick=${retry}>Try again</button>
  </div>`;
}

function ConnectionStatus() {
  const { lastHeardTime, online } = useLiveRuns();
  if (!lastHeardTime) return null;
  const silence = (Date.now() - lastHeardTime) / 1000;
  if (online && silence < SILENCE_SECONDS) {
    return html`<span class="connection" role="status">
      <i class="dot"></i><span class="wide">live</span>
    </span>`;
  }
  return html`<span class="connection lost" role="status">
    <i class="dot"></i>last heard ${formatDuration(Math.round(silence))} ago
  </span>`;
}

function TokenForm({ enter }) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const submit = async (event) => {
    event.preventDefault();
    storeToken(text.includes("token=") ? text.split("token=")[1] : text);
    try {
      await get("/api/hello");
      enter();
    } catch (error) {
      setProblem(error.message);
    }
  };
  return html`<section class="narrow">
    <h1>Enter the token of this studio</h1>
    <p>
      Open the address that <code>counterplay studio</code> printed in the terminal, or paste it
      here. The token protects the studio from other users of this machine and from web sites.
    </p>
    <form onSubmit=${submit}>
      <label>
        Address or token${" "}
        <input
          type="password"
          autocomplete="off"
          value=${text}
          onInput=${(event) => setText(event.target.value)}
        />
      </label>
      <button class="primary">Enter</button>
    </form>
    ${problem && html`<p role="alert">${problem}</p>`}
  </section>`;
}

function Help({ close }) {
  const dialog = useRef(null);
  useEffect(() => {
    dialog.current.showModal();
  }, []);
  return html`<dialog ref=${dialog} class="help" onClose=${close} aria-labelledby="shortcuts">
    <h2 id="shortcuts">Keyboard shortcuts</h2>
    <dl>
      ${SHORTCUTS.map(
        ([key, effect]) =>
          html`<div key=${key}>
            <dt><kbd>${key}</kbd></dt>
            <dd>${effect}</dd>
          </div>`,
      )}
    </dl>
    <form method="dialog"><button class="primary">Close</button></form>
  </dialog>`;
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", announceTheme);
loadToken();
// A token pasted into the address of an open page changes only the fragment: nothing is loaded.
addEventListener("hashchange", () => {
  if (loadToken()) location.reload();
});
const root = document.getElementById("app");
root.textContent = "";
render(html`<${App} />`, root);
startLiveUpdates();
