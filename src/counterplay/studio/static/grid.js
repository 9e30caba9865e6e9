// The policy at all infosets that stand in one table: as bars, or as one number each.

import { html, Tabs, Problem, setQuery, useAddress, useAnswer, count, hue, percent, short } from "./ui.js";
import { who } from "./explore.js";

export const MODES = [["policy", "policy"], ["value", "value"], ["loss", "leak"], ["reach", "reach"], ["difference", "difference"]];

export const gradient = (names, actions, policy) => {
  let at = 0;
  const stops = [];
  policy.forEach((p, n) => {
    if (p <= 0) return;
    const colour = hue(actions.indexOf(names[n]));
    stops.push(`${colour} ${(100 * at).toFixed(2)}% ${(100 * (at + p)).toFixed(2)}%`);
    at += p;
  });
  return `linear-gradient(90deg, ${stops.join(", ")})`;
};

// Cards by rank, numbers by size, the rest by length and letter.
const RANKS = "23456789TJQKA";
const weight = text => (/^([2-9TJQKA][shdc]?)+$/.test(text) ? [...text].map(c => String.fromCharCode(97 + (RANKS.indexOf(c) >= 0 ? RANKS.indexOf(c) : 20 + "shdc".indexOf(c)))).join("") : text);
const natural = (a, b) => a.length - b.length || (weight(a) < weight(b) ? -1 : 1);

const distance = cell => cell.policy.reduce((sum, p, n) => sum + Math.abs(p - (cell.versus?.[n] ?? p)), 0) / 2;
const top = cell => cell.policy.reduce((best, p, n) => (p > cell.policy[best] ? n : best), 0);
const told = cell => cell.names.map((name, n) => `${name} ${percent(cell.policy[n])}`).join(", ");

function face(cell, mode, actions, most) {
  if (mode === "policy") {
    const tall = cell.reach > 0 ? Math.max(22 * Math.sqrt(cell.reach / most.reach), 3) : 0;
    return {
      text: cell.reach > 0 ? `${cell.names[top(cell)]} ${percent(cell.policy[top(cell)])}` : "not reached",
      style: { backgroundImage: cell.reach > 0 ? gradient(cell.names, actions, cell.policy) : "none", backgroundSize: `100% ${tall}px` }, kind: cell.reach > 0 ? "strip" : "strip never",
    };
  }
  const [value, size] = { value: [cell.value, Math.abs(cell.value) / most.value], loss: [cell.loss, cell.loss / most.loss], reach: [cell.reach, cell.reach / most.reach], difference: [distance(cell), distance(cell)] }[mode];
  return { text: short(value), style: { "--part": Math.min(Math.max(size || 0, 0), 1) }, kind: `tint ${mode === "value" && value < 0 ? "minus" : ""}` };
}

export function Grid({ base, node, to, mode, view, versus }) {
  const { query } = useAddress();
  const start = Number(query.get("cells") || 0);
  const { data, error, reload } = useAnswer(`/api/explore/grid?${base}&node=${node}&start=${start}`);
  if (error) return html`<${Problem} error=${error} retry=${reload} />`;
  if (!data) return html`<p class="muted">…</p>`;
  if (!data.cells.length) return html`<p class="muted">Nobody decides anything from here on.</p>`;
  const shown = versus ? MODES : MODES.slice(0, -1);
  const kind = shown.some(([key]) => key === mode) ? mode : "policy";
  const most = {
    reach: Math.max(...data.cells.map(cell => cell.reach), 1e-300), loss: Math.max(...data.cells.map(cell => cell.loss), 1e-300), value: Math.max(...data.cells.map(cell => Math.abs(cell.value)), 1e-300),
  };
  const columns = [...new Set(data.cells.map(cell => cell.column))];
  columns.sort(natural);
  const flat = columns.length === 1 && columns[0] === "";
  const rows = [...new Set(data.cells.map(cell => cell.row))].sort(natural);
  const child = name => view.infoset?.number === data.here && view.children.find(one => one.name === name);
  const seen = data.actions.filter(name => data.mixture[name] > 0.0005).slice(0, 12);
  return html`<div class="grid-head"><p><b class="p${data.player}">${who(data.player)}</b>${data.panel ? html` after <code>${data.panel}</code>` : ""}${data.node !== node ? html` <small class="muted">the next decision from here</small>` : ""}</p>
      <${Tabs} label="Cells show" value=${kind} options=${shown} choose=${key => setQuery({ mode: key === "policy" ? "" : key })} /></div>
    <div class="mixture" role="group" aria-label="All of them together">${seen.map(name => html`<button key=${name} title="${name} ${percent(data.mixture[name])}" style=${{ flexGrow: data.mixture[name], background: hue(data.actions.indexOf(name)) }}
      disabled=${!child(name)} onClick=${() => to(child(name).node)} aria-label="${name} ${percent(data.mixture[name])}"></button>`)}</div>
    <p class="legend">${data.actions.slice(0, 14).map((name, n) => html`<span key=${name}><i style=${{ background: hue(n) }}></i>${name} <small>${percent(data.mixture[name])}</small></span>`)}${data.actions.length > 14 && html`<span>and ${data.actions.length - 14} more</span>`}
      <span class="muted">worth ${short(data.value)}, leaks ${short(data.loss)}</span></p>
    <div class="scroll">${flat ? html`<${List} data=${data} mode=${kind} most=${most} to=${to} />` : html`<${Cells} data=${data} rows=${rows} columns=${columns} mode=${kind} most=${most} to=${to} />`}</div>
    ${data.total > data.cells.length && html`<p class="pager">${start > 0 && html`<button onClick=${() => setQuery({ cells: Math.max(start - data.page, 0) || "" })}>before</button>`}<small class="muted">${count(data.start + 1)} to ${count(data.start + data.cells.length)} of ${count(data.total)} infosets</small>
      ${data.start + data.cells.length < data.total && html`<button onClick=${() => setQuery({ cells: data.start + data.cells.length })}>more</button>`}</p>`}`;
}

function List({ data, mode, most, to }) {
  return html`<table class="grid flat"><thead><tr><th scope="col">infoset</th><th scope="col">${mode}</th><th scope="col" class="num">reach</th><th scope="col" class="num">value</th><th scope="col" class="num">leak</th></tr></thead>
    <tbody>${data.cells.map(cell => {
      const { text, style, kind } = face(cell, mode, data.actions, most);
      return html`<tr key=${cell.infoset} class=${cell.infoset === data.here ? "here" : ""}><th scope="row"><button class="quiet" onClick=${() => to(cell.node)}>${cell.row || cell.key || "(nothing)"}</button></th>
        <td class="cell ${kind}" style=${style} title=${told(cell)} onClick=${() => to(cell.node)}>${text}</td><td class="num">${short(cell.reach)}</td><td class="num">${short(cell.value)}</td><td class="num">${short(cell.loss)}</td></tr>`;
    })}</tbody></table>`;
}

// One tabulator stop; arrows walk from cell to cell.
function walk(event, to, cell) {
  const place = event.target.cellIndex, row = event.target.parentElement;
  const next = { ArrowLeft: () => event.target.previousElementSibling, ArrowRight: () => event.target.nextElementSibling,
    ArrowUp: () => row.previousElementSibling?.children[place], ArrowDown: () => row.nextElementSibling?.children[place] }[event.key]?.();
  if (event.key === "Enter" || event.key === " ") { event.preventDefault(); to(cell.node); return; }
  if (!next) return;
  event.preventDefault();
  event.stopPropagation();
  if (next.tabIndex !== undefined && next.tagName === "TD") next.focus();
}

function Cells({ data, rows, columns, mode, most, to }) {
  const found = new Map(data.cells.map(cell => [`${cell.row}\n${cell.column}`, cell]));
  let first = true;
  return html`<table class="grid" role="grid" aria-label="Infosets by what they are"><thead><tr><td></td>${columns.map(name => html`<th key=${name} scope="col">${name || "–"}</th>`)}</tr></thead>
    <tbody>${rows.map(row => html`<tr key=${row}><th scope="row">${row || "–"}</th>${columns.map(column => {
      const cell = found.get(`${row}\n${column}`);
      if (!cell) return html`<td key=${column} class="cell none"></td>`;
      const { text, style, kind } = face(cell, mode, data.actions, most);
      const here = cell.infoset === data.here;
      const stop = here || (first && !data.cells.some(one => one.infoset === data.here));
      first = false;
      return html`<td key=${column} class="cell ${kind} ${here ? "here" : ""}" style=${style} title="${cell.key}: ${told(cell)}" tabindex=${stop ? 0 : -1}
        aria-selected=${here} aria-label="${cell.key}: ${told(cell)}" onClick=${() => to(cell.node)} onKeyDown=${event => walk(event, to, cell)}>${text}</td>`;
    })}</tr>`)}</tbody></table>`;
}
