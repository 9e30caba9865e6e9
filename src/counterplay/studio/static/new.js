// A new run: a form and its config side by side, checked as one types.

import { get, post, wait } from "./api.js";
import { html, Link, Command, Problem, go, useAddress, useAnswer, useEffect, useLive, useMemo, useRef, useState,
  bytes, count, duration, runLink, short } from "./ui.js";
import { useStart } from "./runs.js";

export const BLANK = { name: "leduc", algorithm: "cfr_plus", game: { name: "leduc_poker", params: {} }, spec: { max_steps: 10000 } };

// For games whose tree is too large: their rules are sampled, one episode at a time.
const SAMPLED = {
  ...BLANK,
  algorithm: "outcome_sampling",
  arena: "rules",
  spec: { max_steps: 100000, evaluate_every: 10000 },
};

// "0-4, 7" -> [0, 1, 2, 3, 4, 7]
export function seedsOf(text) {
  const found = [];
  for (const part of text.split(",").map(word => word.trim()).filter(Boolean)) {
    const [first, last = first] = part.split("-").map(Number);
    if (!Number.isInteger(first) || !Number.isInteger(last) || last < first || last - first > 99) return null;
    for (let seed = first; seed <= last; seed++) found.push(seed);
  }
  return found.length <= 100 ? found : null;
}

// Ask in a while, unless cancelled first; an answer that comes after the cancelling is of no interest any more.
export function soon(delay, ask, then, otherwise) {
  let cancelled = false;
  const unless = use => answer => cancelled || use(answer);
  const timer = setTimeout(() => ask().then(unless(then), unless(otherwise)), delay);
  return () => { cancelled = true; clearTimeout(timer); };
}

const parsed = text => { try { return JSON.parse(text); } catch { return text; } };
const gameOf = config => (typeof config.game === "string" ? { name: config.game, params: {} } : config.game || { name: "", params: {} });

export function NewRun() {
  const { query } = useAddress();
  const { data: catalogue, error, progress } = useAnswer("/api/catalogue");
  const { runs } = useLive();
  const [text, setText] = useState(null);  // until it is known what to begin with
  const [missing, setMissing] = useState(null);
  const [seeds, setSeeds] = useState("0");
  const [verdict, setVerdict] = useState({});
  const [begin, { busy, error: refused }] = useStart();
  const before = useRef(null);
  const [waiting, setWaiting] = useState(false);
  const from = query.get("from");

  useEffect(() => {
    const game = query.get("game");
    if (from) return soon(0, () => get(`/api/runs/${from}`), ({ config, run }) => {
      setSeeds(String(config.spec?.seed ?? 0));
      setText(JSON.stringify({ ...config, game: { ...config.game, name: run.game.split("(")[0] } }, null, 2));
    }, problem => { setText(JSON.stringify(BLANK, null, 2)); setMissing(problem); });
    const start = query.get("arena") === "rules" ? SAMPLED : BLANK;
    const name = game?.split(/[(:]/)[0].replace(/\W/g, "_") || "run";
    setText(JSON.stringify(game ? { ...start, name, game } : BLANK, null, 2));
  }, [from]);

  const config = useMemo(() => { try { return JSON.parse(text); } catch { return null; } }, [text]);
  useEffect(() => {
    if (text === null) return undefined;
    if (!config) { setVerdict({ problem: "this is not JSON yet" }); return undefined; }
    return soon(350, () => post("/api/check", { config }), setVerdict, problem => setVerdict({ problem: problem.message, field: problem.field }));
  }, [text]);

  const list = seedsOf(seeds);
  const change = patch => setText(JSON.stringify({ ...config, ...patch }, null, 2));
  const game = config ? gameOf(config) : { name: "", params: {} };
  const algorithm = catalogue?.algorithms.find(one => one.name === config?.algorithm?.split?.("(")[0]);
  const rules = catalogue?.games.find(one => one.name === game.name?.split?.("(")[0]);
  const start = async () => {
    before.current = new Set(runs.keys());
    if (await begin(config, list)) setWaiting(true);
  };
  useEffect(() => {
    if (!waiting) return;
    const fresh = [...runs.keys()].find(id => !before.current.has(id));
    if (fresh) go(list.length > 1 ? "/" : runLink(fresh));
  }, [waiting, runs.size]);

  if (error) return html`<h1>New run</h1><${Problem} error=${error} />`;
  if (!catalogue || text === null) return html`<h1>New run</h1><p class="muted" role="status">Looking up games and algorithms … ${progress && ""}</p>`;
  const field = (path, spec, value, set) => {
    const wrong = verdict.problem && verdict.field === path;
    return html`<label key=${path} class=${wrong ? "wrong" : ""}><span>${spec.name.replace(/_/g, " ")}${spec.required ? "" : html` <small>${JSON.stringify(spec.default)}</small>`}</span>
      <input value=${value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value)} placeholder=${spec.required ? "needed" : JSON.stringify(spec.default)}
        aria-invalid=${wrong ? "true" : undefined} onInput=${event => set(event.target.value === "" ? undefined : parsed(event.target.value))} />
      ${wrong && html`<em>${verdict.problem}</em>`}</label>`;
  };
  const inSpec = name => value => change({ spec: { ...config.spec, [name]: value } });
  return html`<div class="head"><h1>New run</h1></div><${Problem} error=${missing} />
    <div class="two wide-left"><form class="card form" onSubmit=${event => { event.preventDefault(); start(); }}>
      ${!config ? html`<p>The config on the right is not JSON; mend it, or <button type="button" onClick=${() => setText(JSON.stringify(BLANK, null, 2))}>start afresh</button></p>` : html`
      <fieldset><legend>Game</legend>
        <label><span>game</span><select value=${game.name} onChange=${event => change({ game: { name: event.target.value, params: {} } })}>
          ${!rules && html`<option value=${game.name}>${game.name}</option>`}
          ${catalogue.games.filter(one => !one.problem).map(one => html`<option key=${one.name}>${one.name}</option>`)}
          ${catalogue.uploaded.map(one => html`<option key=${one.name} value=${one.name}>${one.title}</option>`)}</select></label>
        ${rules?.fields.map(one => field(`game.params.${one.name}`, one, game.params?.[one.name], value => change({ game: { ...game, params: { ...game.params, [one.name]: value } } })))}
        <${Estimate} game=${game} /></fieldset>
      <fieldset><legend>Algorithm</legend>
        <label><span>algorithm</span><select value=${config.algorithm} onChange=${event => change({ algorithm: event.target.value, networks: {}, spec: { max_steps: config.spec?.max_steps } })}>
          ${catalogue.algorithms.map(one => html`<option key=${one.name} value=${one.name} disabled=${!!one.problem}>${one.name}</option>`)}</select></label>
        <p class="muted small">${algorithm?.summary || algorithm?.problem}</p>
        ${algorithm?.fields.map(one => (one.network ? field(`networks.${one.name}`, one, config.networks?.[one.name], value => change({ networks: { ...config.networks, [one.name]: value } }))
          : field(`spec.${one.name}`, one, config.spec?.[one.name], inSpec(one.name))))}</fieldset>
      <fieldset><legend>Run</legend>
        <label class=${verdict.field === "name" ? "wrong" : ""}><span>name</span><input value=${config.name || ""} onInput=${event => change({ name: event.target.value })} />${verdict.field === "name" && html`<em>${verdict.problem}</em>`}</label>
        ${catalogue.run.filter(one => one.name !== "seed").map(one => field(`spec.${one.name}`, one, config.spec?.[one.name], inSpec(one.name)))}
        <label class=${list ? "" : "wrong"}><span>seeds <small>0-4 is five runs</small></span><input value=${seeds} onInput=${event => setSeeds(event.target.value)} />${!list && html`<em>write numbers, such as 0 or 0-4, 7</em>`}</label></fieldset>`}
      ${config && verdict.config && !verdict.problem && html`<${Time} config=${config} runs=${list?.length || 1} />`}
      ${verdict.problem && html`<p class="problem" role="status">${verdict.problem}</p>`}
      <${Problem} error=${refused} />
      <button class="primary large" disabled=${busy || waiting || !config || !list?.length || !!verdict.problem}>${waiting ? "Starting …" : list?.length > 1 ? `Start ${list.length} runs` : "Start"}</button>
      ${waiting && html`<p role="status">The run appears as soon as its tree is built. <${Link} to="/">To the runs</${Link}></p>`}</form>
    <section class="card"><h2>Config</h2><p class="muted small">The same as the form; what is left out has its default.</p>
      <label><span class="hidden">Config as JSON</span><textarea class="code" rows="26" spellcheck="false" value=${text} onInput=${event => setText(event.target.value)}></textarea></label></section></div>
    <${Command}>${`counterplay run config.json${list?.length === 1 && list[0] ? ` --seed ${list[0]}` : ""}`}</${Command}>`;
}

// How long it will take: the studio tries a few steps out.
function Time({ config, runs }) {
  const [state, set] = useState({});
  const text = JSON.stringify({ ...config, name: "", spec: { ...config.spec, seed: 0 } });
  useEffect(() => {
    const control = new AbortController();
    set({});
    const cancel = soon(900, () => wait("POST", "/api/estimate/run", { body: { config: { ...config, name: "trial" } }, signal: control.signal }), data => set({ data }), error => set({ error }));
    return () => { cancel(); control.abort(); };
  }, [text]);
  const { data, error } = state;
  if (error) return html`<p class="muted small">How long it takes cannot be said: ${error.message}.</p>`;
  if (!data) return html`<p class="muted small" role="status">How long will it take? Trying a few steps …</p>`;
  return html`<p class="muted small">About <b>${duration(Math.max(data.seconds, 0.1))}</b>${runs > 1 ? " for each run" : ""} on this machine${data.rate ? `: ${short(data.rate)} steps a second, ${duration(data.judging)} for each evaluation` : ""}.</p>`;
}

export function specOf(game) {
  const params = Object.entries(game.params || {}).filter(([, value]) => value !== undefined && value !== null);
  const literal = v => (Array.isArray(v) ? `(${v.map(x => `${literal(x)},`).join("")})` : typeof v === "boolean" ? (v ? "True" : "False") : JSON.stringify(v));
  return params.length ? `${game.name}(${params.map(([key, value]) => `${key}=${literal(value)}`).join(",")})` : game.name;
}

/**
 * How large the tree of a game is.
 * @param {{ game: { name: string, params: object }, tell?: (offer: object) => void }} props `tell`
 *   hears what can be done with the game
 */
export function Estimate({ game, tell }) {
  const spec = specOf(game);
  const [state, set] = useState({});
  useEffect(() => {
    if (!game.name) return undefined;
    const found = data => {
      set({ data });
      tell?.(data);
    };
    const failed = error => {
      set({ error });
      tell?.({ fits: false, reason: error.message, incomplete: true });
    };
    return soon(400, () => post("/api/estimate", { game: spec }), found, failed);
  }, [spec]);
  if (state.error) return html`<p class="muted small">${state.error.message}</p>`;
  if (!state.data) return html`<p class="muted small">How large is it? …</p>`;
  const { nodes, error, bytes: size, free, fits } = state.data;
  return html`<p class=${fits ? "muted small" : "problem"}>About ${count(nodes)} nodes${error > 0.005 * nodes ? ` ± ${short(error, 2)}` : ""}; its tree takes up to ${bytes(size)} of ${bytes(free)} that are free.${!fits && " Choose smaller parameters, or an algorithm that samples with \"arena\": \"rules\"."}</p>`;
}
