// All runs: true states, exploitability now and best, and what can be done with them.

import { html, Link, State, Command, Problem, go, setQuery, useAddress, useKeys, useLive, useState,
  useAction, ago, count, duration, gameTitle, runLink, short, timeLeft, useEffect, quote } from "./ui.js";
import { post, remove } from "./api.js";
import { Spark } from "./chart.js";

const PAGE = 50;
// key, title, what is sorted by, class; columns that a phone has no room for are "roomy"
const COLUMNS = [
  ["name", "Run", run => run.id],
  ["game", "Game", run => run.game, "roomy"],
  ["algorithm", "Algorithm", run => run.algorithm, "roomy"],
  ["seed", "Seed", run => run.seed, "num roomy"],
  ["state", "State", run => run.state],
  ["step", "Step", run => run.step, "num roomy"],
  ["value", "Exploitability", run => run.value ?? Infinity, "num"],
  ["best", "Best", run => run.best ?? Infinity, "num roomy"],
  ["", "", null, "roomy"],
  ["left", "Left", run => timeLeft(run) || Infinity, "num roomy"],
  ["began", "Began", run => -new Date(run.began || 0), "num roomy"],
];

export const EXAMPLES = [
  { title: "Solve Kuhn poker", text: "Three cards, one bet. CFR+ is done before you have read this.", name: "kuhn",
    config: { name: "kuhn", algorithm: "cfr_plus", game: "kuhn_poker", spec: { max_steps: 20000, evaluate_every: 50 } } },
  { title: "Solve Leduc poker", text: "Six cards, two rounds, 936 infosets: the standard benchmark.", name: "leduc",
    config: { name: "leduc", algorithm: "cfr_plus", game: "leduc_poker", spec: { max_steps: 10000, evaluate_every: 25 } } },
  { title: "Sample liar's dice", text: "External sampling on 294,883 nodes, one episode at a time.", name: "dice",
    config: { name: "dice", algorithm: "external_sampling", game: "liars_dice", spec: { max_steps: 100000, evaluate_every: 1000 } } },
];

function fits(run, text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean).every(word => {
    const [key, value] = word.includes(":") ? word.split(/:(.*)/s) : ["", word];
    const field = { game: run.game, state: run.state, algorithm: run.algorithm, algo: run.algorithm, seed: String(run.seed), name: run.id }[key];
    if (field !== undefined) return key === "seed" ? field === value : field.toLowerCase().includes(value);
    return `${run.id} ${run.game} ${run.algorithm} ${run.state}`.toLowerCase().includes(word);
  });
}

export function Runs() {
  const { query } = useAddress();
  const { runs, queue, loaded, problem } = useLive();
  const [selected, select] = useState(new Set());
  const [row, setRow] = useState(-1);
  const [undo, setUndo] = useState(null);
  const [error, setError] = useState(null);
  const [wanted, want] = useState(null);  // the example that was started from the empty page
  useEffect(() => { if (wanted && runs.size) go(runLink([...runs.keys()][0])); }, [runs.size, wanted]);
  const text = query.get("q") || "";
  const sort = query.get("sort") || "began";
  const down = query.get("down") === "1";
  const page = Number(query.get("page") || 0);
  const value = (COLUMNS.find(([key]) => key === sort) || COLUMNS.at(-1))[2];
  const found = [...runs.values()].filter(run => fits(run, text)).sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    return (x < y ? -1 : x > y ? 1 : a.id < b.id ? 1 : -1) * (down ? -1 : 1);
  });
  const shown = found.slice(page * PAGE, (page + 1) * PAGE);
  const chosen = [...selected].filter(id => runs.has(id));
  const toggle = id => select(before => {
    const after = new Set(before);
    if (!after.delete(id)) after.add(id);
    return after;
  });
  const each = async (ids, act) => {
    setError(null);
    for (const id of ids) try { await act(id); } catch (problem) { setError(problem); }
  };
  const compare = () => go(`/compare?${chosen.map(id => `r=${encodeURIComponent(id)}`).join("&")}`);
  const stop = () => each(chosen.filter(id => runs.get(id).state === "running"), id => post(`/api/runs/${id}/stop`));
  const resume = () => each(chosen, id => post(`/api/runs/${id}/resume`));
  const trash = () => each(chosen, async id => {
    const { ticket } = await post(`/api/runs/${id}/trash`);
    setUndo(before => [...(before || []), ticket]);
    select(new Set());
  });
  const restore = async () => { await each(undo, ticket => post("/api/restore", { ticket })); setUndo(null); };
  const move = by => () => {
    const next = Math.min(Math.max(row + by, 0), shown.length - 1);
    setRow(next);
    document.querySelectorAll("tbody.runs tr")[next]?.querySelector("a")?.focus();
  };
  useKeys({
    j: move(1), k: move(-1), x: () => shown[row] && toggle(shown[row].id),
    c: () => (chosen.length ? compare() : false), s: () => (chosen.length ? stop() : false),
  });

  if (!loaded) return html`<h1>Runs</h1>${problem ? html`<${Problem} error=${{ message: problem }} />` : html`<p class="muted">Looking …</p>`}`;
  if (!runs.size && (wanted ? !queue.some(one => one.state === "failed") : !queue.length)) {
    return html`<${Empty} problem=${problem} undo=${undo} restore=${restore} wanted=${wanted} want=${want} />`;
  }
  return html`<div class="head"><h1>Runs</h1><span class="muted">${found.length === runs.size ? count(runs.size) : `${count(found.length)} of ${count(runs.size)}`}</span>
      <span class="grow"></span>
      <label class="search"><span class="hidden">Filter runs</span><input data-search type="search" placeholder="Filter: leduc state:running" value=${text}
        onInput=${event => { setQuery({ q: event.target.value, page: "" }, { replace: true }); setRow(-1); }} /></label>
      <${Link} class="button primary" to="/new">New run</${Link}></div>
    ${problem && html`<${Problem} error=${{ message: problem }} />`}
    <${Problem} error=${error} />
    ${undo && html`<p class="notice" role="status">${undo.length === 1 ? "One run is" : `${undo.length} runs are`} in the trash. <button onClick=${restore}>Undo</button></p>`}
    ${chosen.length > 0 && html`<div class="toolbar" role="toolbar" aria-label="Selected runs"><span>${chosen.length} selected</span>
      <button class="primary" onClick=${compare}>Compare</button><button onClick=${stop}>Stop</button><button onClick=${resume}>Resume</button>
      <button onClick=${trash}>Trash</button><button class="quiet" onClick=${() => select(new Set())}>None</button></div>`}
    ${queue.length > 0 && html`<${Queue} queue=${queue} />`}
    <div class="scroll"><table class="list"><thead><tr><th><span class="hidden">Select</span></th>
      ${COLUMNS.map(([key, name, , kind]) => html`<th key=${key} scope="col" class=${kind} aria-sort=${key && key === sort ? (down ? "descending" : "ascending") : undefined}>
        ${key ? html`<button class="sort" onClick=${() => setQuery({ sort: key, down: sort === key && !down ? "1" : "" })}>${name}${key === sort ? (down ? " ↓" : " ↑") : ""}</button>` : html`<span class="hidden">Course</span>`}</th>`)}
      </tr></thead>
      <tbody class="runs">${shown.map((run, n) => html`<${Row} key=${run.id} run=${run} on=${selected.has(run.id)} here=${n === row} toggle=${() => toggle(run.id)} />`)}</tbody></table></div>
    ${!found.length && html`<p class="muted">No run fits “${text}”. <button class="quiet" onClick=${() => setQuery({ q: "" })}>Show all</button></p>`}
    ${found.length > PAGE && html`<nav class="pager" aria-label="Pages of runs">
      <button disabled=${page === 0} onClick=${() => setQuery({ page: page - 1 || "" })}>Newer</button>
      <span>${page * PAGE + 1} to ${Math.min((page + 1) * PAGE, found.length)}</span>
      <button disabled=${(page + 1) * PAGE >= found.length} onClick=${() => setQuery({ page: page + 1 })}>Older</button></nav>`}
    <${Command}>counterplay compare runs</${Command}>`;
}

function Row({ run, on, here, toggle }) {
  const part = run.max_steps ? run.step / run.max_steps : 0;
  const running = run.state === "running";
  return html`<tr class=${here ? "here" : ""} aria-selected=${on}>
    <td>
      <input type="checkbox" checked=${on} onChange=${toggle} aria-label="Select ${run.id}" />
    </td>
    <td class="name">
      <${Link} to=${runLink(run.id)}>${run.name}</${Link}>
      <small>${run.id.split("/").slice(1).join("/")}</small>
      <small class="phone">
        ${[gameTitle(run.game), run.algorithm].filter(Boolean).join(", ")}
      </small>
      ${run.damage && html`<small class="phone">${run.damage}</small>`}
    </td>
    <td class="roomy">${gameTitle(run.game)}</td>
    <td class="roomy">${run.algorithm}</td>
    <td class="num roomy">${run.seed}</td>
    <td><${State} state=${run.state} /></td>
    <td class="num roomy" title="${count(run.step)} of ${count(run.max_steps)}">
      ${count(run.step)}
      ${running && html`<span class="bar" style=${{ "--part": `${100 * part}%` }}></span>`}
    </td>
    ${run.damage
      ? html`<td colspan="5" class="muted roomy">${run.damage}</td>`
      : html`<td class="num" title=${run.value}>${run.exact ? short(run.value) : "–"}</td>
          <td class="num roomy" title=${run.best}>${short(run.best)}</td>
          <td class="roomy"><${Spark} points=${run.exact ? run.sketch : []} running=${running} /></td>
          <td class="num roomy">${running ? duration(timeLeft(run)) : ""}</td>
          <td class="num muted roomy">${ago(run.began)}</td>`}
  </tr>`;
}

function Queue({ queue }) {
  const [error, setError] = useState(null);
  const forget = async ticket => { try { await remove(`/api/queue/${ticket}`); } catch (problem) { setError(problem); } };
  const approve = async one => {
    setError(null);
    try { await post(`/api/queue/${one.ticket}/approve`, { digest: one.digest }); } catch (problem) { setError(problem); }
  };
  return html`<section class="card queue" aria-label="Waiting"><h2>About to run</h2><${Problem} error=${error} />
    <ul>${queue.slice(0, 20).map(one => html`<li key=${one.ticket}><${State} state=${one.state} /> <b>${one.config.name}</b>
      <span class="muted">${one.config.algorithm}, seed ${one.config.spec?.seed ?? 0}</span> ${one.problem}
      ${one.state === "held" && html`<span>was not queued by you. ${one.code ? html`It runs the code of <code>${one.code}</code>.` : "It runs no code of its own."}</span>
        <button onClick=${() => approve(one)} aria-label="Run ${one.config.name}">${one.code ? "Trust this code and run" : "Run"}</button>`}
      ${one.state !== "starting" && html`<button class="quiet" onClick=${() => forget(one.ticket)} aria-label="Remove ${one.config.name}">Remove</button>`}</li>`)}</ul>
    ${queue.length > 20 && html`<p class="muted">and ${queue.length - 20} more</p>`}</section>`;
}

export function useStart() {
  const [act, state] = useAction();
  const begin = async (config, seeds) => {
    const done = await act("POST", "/api/runs", { config, seeds }, { key: crypto.randomUUID?.() || String(Math.random()) });
    return done !== null;
  };
  return [begin, state];
}

function Empty({ problem, undo, restore, wanted, want }) {
  const [begin, { busy, error }] = useStart();
  return html`<section class="empty"><h1>No runs yet</h1>
    <p>A run is one algorithm, one game and one seed, kept in a folder. Start one here and watch its exploitability fall; then look at what it plays, and play against it.</p>
    ${problem && html`<${Problem} error=${{ message: problem }} />`}
    ${undo && html`<p class="notice" role="status">In the trash. <button onClick=${restore}>Undo</button></p>`}
    <${Problem} error=${error} />
    <div class="cards">${EXAMPLES.map(example => html`<article class="card" key=${example.name}><h2>${example.title}</h2><p>${example.text}</p>
      <button class="primary" disabled=${busy || wanted} onClick=${async () => { if (await begin(example.config)) want(example.name); }}>${wanted === example.name ? "Starting …" : "Start"}</button></article>`)}</div>
    <p>Or <${Link} to="/games">choose a game</${Link}>, bring an <code>.efg</code> file, or <${Link} to="/new">write a config</${Link}>.</p></section>
    <${Command}>counterplay run config.json</${Command}>`;
}

