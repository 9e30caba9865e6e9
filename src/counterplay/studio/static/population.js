// What the policies of a population are worth to each other, and how every iteration mixed them.

import { html, Problem, useAnswer, percent, short } from "./ui.js";

const SPOKEN = 12;  // rows and columns up to which cells say their numbers
const MOST = 40;  // of either that are shown

export function Population({ id, version }) {
  const { data, error } = useAnswer(`/api/runs/${id}/population?v=${version}`);
  if (error) return html`<section class="card"><h2>Population</h2><${Problem} error=${error} /></section>`;
  if (!data) return html`<section class="card"><h2>Population</h2><p class="muted" role="status">Reading …</p></section>`;
  const rows = data.payoffs.length, columns = data.payoffs[0].length;
  const most = Math.max(...data.payoffs.flat().map(Math.abs), 1e-300);
  const last = data.mixtures.map(list => list.at(-1));
  const spoken = rows <= SPOKEN && columns <= SPOKEN;
  return html`<section class="card"><h2>Population</h2>
    <p>${rows} policies of player 0 against ${columns} of player 1${data.players > 2 ? ", the others as they were mixed last" : ""}: what each pair is worth to player 0. ${data.ending && `It ${data.ending}.`}</p>
    <div class="two"><div class="scroll" tabindex="0" role="group" aria-label="Payoffs"><table class="payoffs"><thead><tr><td></td>${data.payoffs[0].slice(0, MOST).map((_, j) => html`<th scope="col" key=${j}>${j}</th>`)}${!data.united && html`<th scope="col">mixed</th>`}</tr></thead>
      <tbody>${data.payoffs.slice(0, MOST).map((row, i) => html`<tr key=${i}><th scope="row">${i}</th>${row.slice(0, MOST).map((value, j) => html`<td key=${j} class=${value < 0 ? "minus" : ""} style=${{ "--part": Math.abs(value) / most }} title="policy ${i} against ${j}: ${value}">${spoken ? short(value, 2) : ""}</td>`)}${!data.united && html`<th scope="row" title=${last[0][i]}>${percent(last[0][i])}</th>`}</tr>`)}
        ${!data.united && html`<tr><th scope="row">mixed</th>${last[1].slice(0, MOST).map((p, j) => html`<th scope="col" key=${j} title=${p}>${columns <= SPOKEN ? percent(p) : p > 0.0005 ? "•" : ""}</th>`)}<td></td></tr>`}</tbody></table></div>
      <${Mixtures} mixtures=${data.mixtures} of=${data.united ? "action" : "policy"} /></div>
    ${(rows > MOST || columns > MOST) && html`<p class="muted small">The first ${MOST} of each.</p>`}
    <details class="twin"><summary>The payoffs as a table of numbers</summary><div class="scroll"><table><thead><tr><th scope="col">policy of player 0</th><th scope="col">of player 1</th><th scope="col" class="num">worth to player 0</th></tr></thead><tbody>${data.payoffs.slice(0, 12).flatMap((row, i) => row.slice(0, 12).map((value, j) => html`<tr key=${`${i} ${j}`}><td>${i}</td><td>${j}</td><td class="num">${value}</td></tr>`))}</tbody></table></div></details></section>`;
}

// One column per iteration, one row per policy, or per action of a tree: as dark as it was played.
function Mixtures({ mixtures, of }) {
  return html`<div>${mixtures.map((list, player) => {
    const shown = list.slice(-60), first = list.length - shown.length, size = Math.min(list.at(-1).length, MOST);
    return html`<figure key=${player} class="chart"><figcaption class="small">${of === "action" ? `How often player ${player} played its actions` : `How player ${player} mixed its policies`}, iteration by iteration${first ? `, from ${first + 1} on` : ""}</figcaption>
      <svg class="mixtures" viewBox="0 0 ${10 * shown.length} ${10 * size}" preserveAspectRatio="none" role="img" aria-label="The last mixture of player ${player}: ${list.at(-1).map((p, k) => [p, k]).filter(([p]) => p > 0.005).map(([p, k]) => `${of} ${k} ${percent(p)}`).slice(0, MOST).join(", ")}">
        ${shown.map((mixture, t) => html`<g key=${t}>${mixture.slice(0, MOST).map((p, k) => p > 0.005 && html`<rect key=${k} x=${10 * t} y=${10 * k} width="10" height="10" fill="var(--accent)" fill-opacity=${p.toFixed(3)} />`)}</g>`)}</svg></figure>`;
  })}</div>`;
}
