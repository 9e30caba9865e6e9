// How learners move: what everybody plays, iteration by iteration, as a path and as curves.

import { post } from "./api.js";
import { html, Problem, Tabs, setQuery, useAddress, useEffect, useState, hue, percent, short } from "./ui.js";
import { Chart } from "./chart.js";

const LEARNERS = [["regret_matching", "regret matching"], ["regret_matching_plus", "regret matching+"], ["fictitious_play", "fictitious play"], ["replicator_dynamics", "replicator dynamics"], ["hedge", "hedge"]];
const MOST = 8;  // actions with a curve each

export function Learners({ body, data }) {
  const { query } = useAddress();
  const learner = query.get("learner") || "", kind = query.get("mix") || "average";
  const [state, set] = useState({});
  useEffect(() => {
    if (!learner) return set({});
    const control = new AbortController();
    const unless = use => found => control.signal.aborted || use(found);
    set(before => ({ data: before.data }));
    post("/api/matrix", { ...body, learner }, { signal: control.signal }).then(unless(found => set({ data: found })), unless(error => set({ error })));
    return () => control.abort();
  }, [learner, JSON.stringify(body)]);
  const found = state.data;
  return html`<section class="card"><div class="head"><h2>Learners</h2><span class="grow"></span>
      <label class="inline">learner <select value=${learner} onChange=${event => setQuery({ learner: event.target.value })}><option value="">choose one</option>${LEARNERS.map(([key, name]) => html`<option key=${key} value=${key}>${name}</option>`)}</select></label>
      ${found && html`<${Tabs} label="Mixtures" value=${kind} options=${[["average", "average"], ["current", "current"]]} choose=${key => setQuery({ mix: key === "average" ? "" : key })} />`}</div>
    ${!learner && html`<p class="muted">How do players move who adapt to each other? Everybody starts a little off uniform play.</p>`}
    <${Problem} error=${state.error} />
    ${learner && !found && !state.error && html`<p class="muted" role="status">Learning …</p>`}
    ${learner && found && html`<${Paths} found=${found} kind=${kind} names=${data.action_names} />
      <p class="muted small">After ${found.path.at(-1).iteration.toLocaleString("en")} iterations a player could still gain ${short(found.path.at(-1).gain)} by leaving the averages.</p>`}</section>`;
}

function Paths({ found, kind, names }) {
  return html`<div class="paths">${names.map((actions, player) => {
    const path = found.path.map(step => step[kind][player]);
    return html`<figure key=${player} class="chart"><figcaption>Player ${player}</figcaption>
      ${actions.length === 3 ? html`<${Simplex} path=${path} actions=${actions} player=${player} />` : null}
      ${actions.length > MOST ? html`<p class="muted small">The first ${MOST} of ${actions.length} actions.</p>` : null}
      <${Chart} series=${actions.slice(0, MOST).map((name, a) => ({ label: name, x: found.path.map(step => step.iteration), y: path.map(mixture => mixture[a]), hue: hue(a) }))}
        xlabel="iterations" ylabel="probability" logy=${false} height=${220} label="Probabilities of player ${player}'s actions" /></figure>`;
  })}</div>`;
}

// Three actions: every mixture is a point of a triangle, and learning a path through it.
function Simplex({ path, actions, player }) {
  const at = ([a, b, c]) => [20 + 200 * (b + c / 2), 195 - 173 * c];
  const points = path.map(mixture => at(mixture).map(v => v.toFixed(1)).join(","));
  const [x, y] = at(path.at(-1));
  return html`<svg class="simplex" viewBox="0 0 240 215" role="img" aria-label="From ${path[0].map(percent).join(", ")} to ${path.at(-1).map(percent).join(", ")} of ${actions.join(", ")}">
    <path class="edge" d="M20 195L220 195L120 22Z" /><polyline points=${points.join(" ")} fill="none" stroke=${hue(player)} stroke-width="1.6" stroke-linejoin="round" />
    <circle cx=${x} cy=${y} r="4.5" fill=${hue(player)} />
    <text x="20" y="210" text-anchor="start">${actions[0]}</text><text x="220" y="210" text-anchor="end">${actions[1]}</text><text x="120" y="14" text-anchor="middle">${actions[2]}</text></svg>`;
}
