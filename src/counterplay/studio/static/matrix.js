// Games in normal form: a table to edit, dominance, and equilibria of every kind.

import { post } from "./api.js";
import { Learners } from "./learners.js";
import { html, Command, Problem, setQuery, useAddress, useEffect, useRef, useState, quote, short, percent, gameTitle } from "./ui.js";

const KNOWN = ["chicken", "prisoners_dilemma", "battle_of_the_sexes", "matching_pennies", "rock_paper_scissors", "shapleys_game", "king_ace_poker", "kuhn_poker"];
const tidy = v => short(Math.abs(v) < 1e-12 ? 0 : v);  // what rounding leaves is nothing
const LARGE = 14;  // rows or columns beyond which cells are not for editing

export function Matrix() {
  const { query } = useAddress();
  const game = query.get("game") || "chicken";
  const text = query.get("m");
  const [state, set] = useState({});
  const control = useRef(null);
  const ask = body => {
    control.current?.abort();
    control.current = new AbortController();
    set(before => ({ ...before, busy: true, error: null }));
    const { signal } = control.current;
    post("/api/matrix", body, { signal }).then(data => signal.aborted || set({ data }), error => signal.aborted || set({ error }));
  };
  let own = null;
  try { own = text && JSON.parse(text); } catch { own = null; }
  const body = own ? { utility: own.u, names: own.n } : { game };
  useEffect(() => {
    ask(body);
    return () => control.current?.abort();
  }, [game, text]);
  const { data, error, busy } = state;
  const edit = (utility, names) => setQuery({ m: JSON.stringify({ u: utility, n: names }) }, { replace: true });
  return html`<div class="head"><h1>Matrix</h1><span class="grow"></span>
      <label class="inline">game <select value=${KNOWN.includes(game) && !text ? game : ""} onChange=${event => event.target.value && setQuery({ game: event.target.value, m: "" })}>
        <option value="">${text ? "edited" : game}</option>${KNOWN.map(name => html`<option key=${name} value=${name}>${gameTitle(name)}</option>`)}</select></label>
      ${data && html`<button onClick=${() => edit([[[1, 0], [0, 1]], [[1, 0], [0, 1]]], [["up", "down"], ["left", "right"]])}>New</button>`}</div>
    <${Problem} error=${error} retry=${() => ask(body)} />
    ${busy && html`<div class="working" role="status"><p>Solving …</p><progress aria-label="solving"></progress><button onClick=${() => { control.current?.abort(); set({}); }}>Cancel</button></div>`}
    ${data && html`<p class="sub">${data.players} players, ${data.actions.join(" × ")} actions, ${data.sum}-sum</p>
      ${data.players === 2 ? html`<${Table} data=${data} edit=${edit} />` : html`<p class="muted">A table needs two players; the equilibria are below.</p>`}
      <${Findings} data=${data} /><${Learners} body=${body} data=${data} />`}
    <${Command}>${`counterplay matrix ${quote(game)}${query.get("learner") ? ` --learner ${query.get("learner")}` : ""}`}</${Command}>`;
}

function Table({ data, edit }) {
  const [[rows, columns], [a, b]] = [data.action_names, data.utility];
  const small = rows.length <= LARGE && columns.length <= LARGE;
  const gone = player => new Map((data.elimination || []).map((one, n) => [one, n]).filter(([one]) => one.player === player).map(([one, n]) => [one.action, n + 1]));
  const [deadRows, deadColumns] = [gone(0), gone(1)];
  const bestA = columns.map((_, j) => Math.max(...rows.map((_, i) => a[i][j])));
  const bestB = rows.map((_, i) => Math.max(...b[i]));
  const weights = data.nash?.equilibria?.[0]?.policies;
  const change = (player, i, j, value) => {
    const number = Number(value);
    if (value === "" || !Number.isFinite(number)) return;
    const next = data.utility.map(table => table.map(row => [...row]));
    next[player][i][j] = number;
    edit(next, data.action_names);
  };
  const paste = (player, i, j) => event => {
    const lines = event.clipboardData.getData("text").trim().split(/\r?\n/).map(line => line.split(/[\t,;]/).map(Number));
    if (lines.length === 1 && lines[0].length === 1) return;
    event.preventDefault();
    const next = data.utility.map(table => table.map(row => [...row]));
    lines.forEach((line, y) => line.forEach((v, x) => { if (Number.isFinite(v) && next[player][i + y]?.[j + x] !== undefined) next[player][i + y][j + x] = v; }));
    edit(next, data.action_names);
  };
  const walk = event => {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!by) return;
    const cell = event.target.closest("td"), row = cell.parentElement;
    const next = (event.key === "ArrowUp" ? row.previousElementSibling : row.nextElementSibling)?.children[cell.cellIndex];
    const place = [...cell.querySelectorAll("input")].indexOf(event.target);
    next?.querySelectorAll("input")[place]?.focus();
    event.preventDefault();
  };
  const resize = (player, by) => {
    const next = data.utility.map(table => (player === 0
      ? by > 0 ? [...table, table[0].map(() => 0)] : table.slice(0, -1)
      : table.map(row => (by > 0 ? [...row, 0] : row.slice(0, -1)))));
    const names = data.action_names.map((list, p) => (p !== player ? list : by > 0 ? [...list, `${p ? "c" : "r"}${list.length}`] : list.slice(0, -1)));
    if (names[player].length) edit(next, names);
  };
  return html`<section class="card"><div class="scroll"><table class="matrix"><thead><tr><td></td>${columns.map((name, j) => html`<th scope="col" key=${j} class=${deadColumns.has(name) ? "gone" : ""} title=${deadColumns.has(name) ? `dominated, step ${deadColumns.get(name)}` : undefined}>${name}${weights && html`<small>${percent(weights[1][j])}</small>`}</th>`)}</tr></thead>
    <tbody>${rows.map((name, i) => html`<tr key=${i}><th scope="row" class=${deadRows.has(name) ? "gone" : ""} title=${deadRows.has(name) ? `dominated, step ${deadRows.get(name)}` : undefined}>${name}${weights && html`<small>${percent(weights[0][i])}</small>`}</th>
      ${columns.map((other, j) => html`<td key=${j} class=${deadRows.has(name) || deadColumns.has(other) ? "gone" : ""}>
        ${small ? [a, b].map((table, player) => html`<input key=${player} inputmode="decimal" class=${table[i][j] === (player ? bestB[i] : bestA[j]) ? "best" : ""} value=${table[i][j]} aria-label="Player ${player}, ${name}, ${other}"
          onChange=${event => change(player, i, j, event.target.value)} onPaste=${paste(player, i, j)} onKeyDown=${walk} />`)
          : html`<span class=${a[i][j] === bestA[j] ? "best" : ""}>${short(a[i][j])}</span>, <span class=${b[i][j] === bestB[i] ? "best" : ""}>${short(b[i][j])}</span>`}</td>`)}</tr>`)}</tbody></table></div>
    ${small && html`<p class="actions"><button onClick=${() => resize(0, 1)}>Add row</button><button onClick=${() => resize(0, -1)}>Remove row</button><button onClick=${() => resize(1, 1)}>Add column</button><button onClick=${() => resize(1, -1)}>Remove column</button></p>`}
    <p class="muted small">Underlined: a best response. Struck: dominated, in the order of elimination. Beside the names: the first equilibrium. Cells can be edited and pasted into.</p></section>`;
}

function Findings({ data }) {
  const [shown, show] = useState("correlated");
  const mixture = (names, weights) => weights.map((p, n) => [p, names[n]]).filter(([p]) => p > 0).map(([p, name]) => `${name} ${percent(p)}`).join(", ");
  const joint = data[shown]?.[0];
  return html`<section class="card"><h2>Nash equilibria</h2><p class="muted small">${data.nash.method.replace(/_/g, " ")}: ${data.nash.note}</p>
      <div class="scroll"><table><thead><tr>${data.action_names.map((_, p) => html`<th scope="col" key=${p}>player ${p}</th>`)}<th scope="col" class="num">values</th></tr></thead>
      <tbody>${data.nash.equilibria.slice(0, 40).map((one, n) => html`<tr key=${n}>${one.policies.map((weights, p) => html`<td key=${p}>${mixture(data.action_names[p], weights)}</td>`)}<td class="num">${one.values.map(tidy).join(", ")}</td></tr>`)}</tbody></table></div></section>
    ${data.elimination?.length > 0 && html`<section class="card"><h2>Dominated</h2><ol>${data.elimination.map((one, n) => html`<li key=${n}>player ${one.player}: <b>${one.action}</b> by ${Object.entries(one.by).map(([name, p]) => (p > 0.9995 ? name : `${name} ${percent(p)}`)).join(" and ")}</li>`)}</ol></section>`}
    ${joint && html`<section class="card"><div class="head"><h2>Correlated equilibria</h2><span class="grow"></span>
      <div class="tabs" role="group" aria-label="Kind">${[["correlated", "correlated"], ["coarse_correlated", "coarse"]].map(([key, name]) => html`<button key=${key} class=${key === shown ? "on" : ""} aria-pressed=${key === shown} onClick=${() => show(key)}>${name}</button>`)}</div></div>
      <div class="scroll"><table><thead><tr><th scope="col">best for</th><th scope="col">values</th></tr></thead><tbody>${data[shown].map(one => html`<tr key=${one.objective}><td>${one.objective}</td><td>${one.values.map(tidy).join(", ")}</td></tr>`)}</tbody></table></div>
      ${data.players === 2 && data.action_names[0].length <= LARGE && data.action_names[1].length <= LARGE && html`<h3>Where the one of most welfare plays</h3><div class="scroll"><table class="heat"><tbody>${joint.joint.map((row, i) => html`<tr key=${i}><th scope="row">${data.action_names[0][i]}</th>${row.map((p, j) => html`<td key=${j} style=${{ "--part": p }} title="${data.action_names[0][i]}, ${data.action_names[1][j]}">${p > 0 ? percent(p) : ""}</td>`)}</tr>`)}</tbody></table></div>`}</section>`}
    ${data.skipped?.length > 0 && html`<p class="notice">${data.skipped.join("; ")}</p>`}`;
}

