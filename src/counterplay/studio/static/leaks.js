// Where the exploitability is: infosets by what the policy gives away there.

import { html, Problem, Tabs, setQuery, useAddress, useAnswer, count, hue, percent, short } from "./ui.js";

export function Leaks({ base, to, facts }) {
  const { query } = useAddress();
  const player = query.get("player") || "", start = Number(query.get("from") || 0);
  const { data, error, reload } = useAnswer(`/api/explore/leaks?${base}&start=${start}${player ? `&player=${player}` : ""}`);
  if (error) return html`<${Problem} error=${error} retry=${reload} />`;
  if (!data) return html`<p class="muted">…</p>`;
  const largest = data.leaks[0]?.loss || 1;
  return html`<div class="grid-head"><p>The terms of the exploitability: together <b title=${data.nash_conv}>${short(data.nash_conv)}</b>, divided by ${facts.players} players <b>${short(data.exploitability)}</b></p>
      <${Tabs} label="Whose" value=${player} options=${[["", "all"], ...data.by_player.map((_, p) => [String(p), `player ${p}`])]} choose=${key => setQuery({ player: key, from: "" })} /></div>
    ${!data.leaks.length ? html`<p>Nothing leaks: no best response gains anything.</p>` : html`<div class="scroll"><table class="leaks"><thead><tr><th scope="col">infoset</th><th scope="col" class="num">loses</th><th scope="col">share</th><th scope="col" class="num">sum</th><th scope="col" class="num">comes up</th><th scope="col">plays</th><th scope="col">better</th></tr></thead>
      <tbody>${data.leaks.slice(0, 100).map(one => html`<tr key=${one.infoset}><th scope="row"><button class="quiet" onClick=${() => to(one.node)}><code>${one.key || "(nothing)"}</code></button> <small class="p${one.player}">player ${one.player}</small></th>
        <td class="num" title=${one.loss}>${short(one.loss)}</td><td><span class="bar" style=${{ "--part": `${100 * one.loss / largest}%` }}></span></td><td class="num">${percent(one.sum)}</td><td class="num">${short(one.probability)}</td>
        <td class="strip small" title=${one.names.map((name, n) => `${name} ${percent(one.policy[n])}`).join(", ")} style=${{ backgroundImage: bars(one.policy) }}><span class="hidden">${one.names.map((name, n) => `${name} ${percent(one.policy[n])}`).join(", ")}</span></td><td>${one.best}</td></tr>`)}</tbody></table></div>
    ${data.total > start + 100 && html`<p class="pager"><button onClick=${() => setQuery({ from: start + 100 })}>${count(data.total - start - 100)} more</button></p>`}`}
    <p class="muted small">At each infoset: what its player gives away per episode by its actions there, if it played the best from there on. None is negative, and they add up exactly.</p>`;
}

function bars(policy) {
  let at = 0;
  return `linear-gradient(90deg, ${policy.map((p, n) => { const stop = `${hue(n)} ${100 * at}% ${100 * (at + p)}%`; at += p; return stop; }).join(", ")})`;
}
