// A game's tree with a policy on it: outline, infoset, and in the middle grid, leaks or a drawing.

import { get, post, remove, wait, query as queryOf } from "./api.js";
import { html, Link, Command, Problem, Save, Working, Tabs, Bar, setQuery, useAddress, useAnswer, useEffect, useKeys, useLive, useState,
  count, gameTitle, hue, percent, quote, short } from "./ui.js";
import { Grid, MODES } from "./grid.js";
import { Leaks } from "./leaks.js";
import { Drawing, Overview } from "./drawing.js";

const MIDDLE = [["grid", "Grid"], ["leaks", "Leaks"], ["drawing", "Drawing"], ["overview", "Overview"]];

export const who = player => (player === -1 ? "chance" : player === -2 ? "the end" : `player ${player}`);

export function Explore() {
  const { query } = useAddress();
  const { runs, loaded } = useLive();
  const game = query.get("game") || "", policy = query.get("policy") || (game ? "uniform" : "");
  const run = runs.get(policy.replace(/^run:/, "").split("@")[0]);
  const node = Number(query.get("node") || 0), start = Number(query.get("start") || 0);
  const versus = query.get("vs") || "", tab = query.get("tab") || "grid", mode = query.get("mode") || "policy";
  const lock = query.get("lock") || "";
  const base = queryOf({ game, policy, vs: versus, lock });
  const ready = game || policy;
  const infoset = query.get("infoset");
  const path = ready && infoset === null ? `/api/explore/view?${base}&node=${node}&start=${start}${run ? `&at=${run.checkpoint}` : ""}` : "";
  const { data, error, progress, loading, reload } = useAnswer(path);
  const [looking, setLooking] = useState(null);
  const spec = game || run?.game || data?.facts.spec || "";

  useEffect(() => {  // a link to an infoset: go to its likeliest node
    if (infoset === null || !ready) return undefined;
    const control = new AbortController();
    const unless = use => found => control.signal.aborted || use(found);
    wait("GET", `/api/explore/infoset?${base}&infoset=${infoset}`, { signal: control.signal, progress: unless(setLooking) })
      .then(unless(found => setQuery({ infoset: "", node: found.members[0].node }, { replace: true })), unless(() => setQuery({ infoset: "" }, { replace: true })));
    return () => control.abort();
  }, [infoset, ready, base.toString()]);

  const to = target => setQuery({ node: target || "", start: "" });
  const shown = data?.node === node ? data : null;  // keys wait for the node they are meant for
  const parent = shown && (shown.path.length > 1 ? shown.path.at(-2).node : 0);
  const children = shown?.children || [];
  const modes = MODES.map(([key]) => key);
  useKeys({
    ArrowLeft: () => (shown?.path.length ? to(parent) : false),
    ArrowRight: () => (children.length ? to([...children].sort((a, b) => b.probability - a.probability)[0].node) : false),
    ArrowDown: () => sibling(shown, 1, to, base), ArrowUp: () => sibling(shown, -1, to, base),
    Home: () => to(0), v: () => setQuery({ mode: modes[(modes.indexOf(mode) + 1) % modes.length] }),
    i: () => {
      const members = shown?.infoset?.members || [];
      const here = members.findIndex(one => one.node === node);
      return members.length ? to(members[(here + 1) % members.length].node) : false;
    },
    ...Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 9].map(n => [String(n), () => (children[n - 1] ? to(children[n - 1].node) : false)])),
  });

  if (!ready) return html`<h1>Explore</h1><p>Choose a <${Link} to="/games">game</${Link}> or a <${Link} to="/">run</${Link}> to look into.</p>`;
  const cancel = () => { remove(`/api/desk?${base}`).catch(() => {}); history.back(); };
  const none = error?.message.includes("no checkpoint yet");
  return html`<div class="head explore-head"><h1>${gameTitle(spec)}</h1><span class="grow"></span><${Source} game=${spec} policy=${policy} versus=${versus} facts=${data?.facts} /></div>
    ${none ? html`<${NoCheckpoint} run=${run} reload=${reload} />` : html`<${Problem} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Working} progress=${progress || looking} cancel=${cancel} />`}
    ${data && html`<${Facts} facts=${data.facts} run=${run} />${lock && html`<${Locked} facts=${data.facts} lock=${lock} />`}
      ${progress && loading && html`<${Working} progress=${progress} />`}
      <div class="explore"><${Outline} data=${data} to=${to} base=${base} />
        <section class="middle" aria-label="What is shown"><${Tabs} label="What is shown" value=${tab} options=${MIDDLE} choose=${key => setQuery({ tab: key === "grid" ? "" : key })} />
          ${tab === "leaks" ? html`<${Leaks} base=${base} to=${to} facts=${data.facts} />`
            : tab === "drawing" ? html`<${Drawing} base=${base} node=${node} to=${to} />`
            : tab === "overview" ? html`<${Overview} base=${base} to=${to} node=${node} />`
            : html`<${Grid} base=${base} node=${node} to=${to} mode=${mode} view=${data} versus=${versus} />`}</section>
        <${Infoset} data=${data} to=${to} versus=${versus} base=${base} policy=${policy} game=${spec} lock=${lock} /></div>`}
    <${Command}>${run ? `counterplay show runs/${policy.replace(/^run:/, "")}` : `counterplay inspect ${quote(spec)}`}</${Command}>`;
}

async function sibling(data, by, to, base) {
  if (!data?.path.length) return;
  const above = data.path.length > 1 ? data.path.at(-2).node : 0;
  const found = await get(`/api/explore/view?${base}&node=${above}`).catch(() => null);
  const place = found ? found.children.findIndex(child => child.node === data.node) : -1;
  const now = Number(new URLSearchParams(location.search).get("node") || 0);
  if (place >= 0 && now === data.node && found.children[place + by]) to(found.children[place + by].node);
}

function Source({ game, policy, versus, facts }) {
  const { runs } = useLive();
  const others = [...runs.values()].filter(run => run.game === game && run.exact && run.checkpoint).slice(0, 60);
  const [, id, name] = policy.match(/^run:(.*)@(.*)$/) || [];
  const names = facts?.policies?.length ? facts.policies : name ? [name] : [];
  const made = [["uniform", "uniform"], ["solve:cfr_plus@1000", "CFR+, 1,000 iterations"]];
  if (!facts || (facts.players === 2 && facts.zero_sum)) made.push(["solve:sequence_form_lp@1", "equilibrium, by linear programming"]);
  const listed = [...made, ...others.map(run => [`run:${run.id}@${run.id === id ? name : run.policy}`, `${run.name}, ${run.algorithm}, seed ${run.seed}`])];
  const known = listed.some(([key]) => key === policy);
  const choose = value => setQuery({ policy: value, game, node: new URLSearchParams(location.search).get("node") });
  const best = facts?.perfect_recall ? [...Array(facts.players).keys()].map(p => [`best:${p}`, `best response of player ${p}`]) : [];
  return html`<div class="sources"><label class="inline">policy <select value=${policy} onChange=${event => choose(event.target.value)}>
      ${!known && html`<option value=${policy}>${policy}</option>`}${listed.map(([key, text]) => html`<option key=${key} value=${key}>${text}</option>`)}</select></label>
    ${names.length > 1 && html`<label class="inline">of it <select value=${name} onChange=${event => choose(`run:${id}@${event.target.value}`)}>${names.map(one => html`<option key=${one}>${one}</option>`)}</select></label>`}
    <label class="inline">against <select value=${versus} onChange=${event => setQuery({ vs: event.target.value, mode: event.target.value ? "difference" : "" })}><option value="">nothing</option>
      ${[...best, ...listed].filter(([key]) => key !== policy).map(([key, text]) => html`<option key=${key} value=${key}>${text}</option>`)}</select></label></div>`;
}

function Facts({ facts, run }) {
  return html`<dl class="facts compact"><div><dt>Exploitability</dt><dd title=${facts.exploitability}>${short(facts.exploitability)}</dd></div>
    ${facts.values.map((value, p) => html`<div key=${p}><dt>Value to player ${p}</dt><dd title=${value}>${short(value)}</dd></div>`)}
    <div><dt>Nodes</dt><dd>${count(facts.nodes)}</dd></div><div><dt>Infosets</dt><dd>${count(facts.infosets)}</dd></div>
    ${facts.step !== null && html`<div><dt>At step</dt><dd>${count(facts.step)}${run?.state === "running" ? html` <small>of a run that goes on</small>` : ""}</dd></div>`}</dl>`;
}

function NoCheckpoint({ run, reload }) {
  const [asked, ask] = useState(false);
  useEffect(() => { if (asked && run?.checkpoint) reload(); }, [run?.checkpoint]);
  const request = async () => { try { await post(`/api/runs/${run.id}/checkpoint`); ask(true); } catch { reload(); } };
  return html`<div class="problem"><p>This run has not written a checkpoint yet, so there is no policy to look at.</p>
    ${run?.state === "running" && html`<button class="primary" disabled=${asked} onClick=${request}>${asked ? "Asked …" : "Ask it for one now"}</button>`}</div>`;
}

function Outline({ data, to, base }) {
  const [text, set] = useState("");
  const { data: found } = useAnswer(text ? `/api/explore/find?${base}&text=${encodeURIComponent(text)}` : "");
  const more = data.total - data.start - data.children.length;
  const seen = data.children.reduce((sum, child) => sum + child.reach, 0);
  const link = (target, extra) => `?${new URLSearchParams([...new URLSearchParams(location.search)].filter(([k]) => !["node", "start"].includes(k)).concat([["node", target], ...Object.entries(extra || {})]))}`;
  return html`<nav class="outline" aria-label="Where in the tree"><label class="search"><span class="hidden">Find an infoset by its key</span>
      <input data-search type="search" placeholder="Find infoset" value=${text} onInput=${event => set(event.target.value)} /></label>
    ${text && html`<ul class="found">${(found || []).slice(0, 50).map(one => html`<li key=${one.infoset}><button class="quiet" onClick=${() => { to(one.node); set(""); }}><code>${one.key || "(nothing)"}</code> <small>player ${one.player}</small></button></li>`)}
      ${found && !found.length && html`<li class="muted">No infoset has “${text}” in its key.</li>`}</ul>`}
    <ol class="path"><li><${Link} to=${`/explore${link(0)}`} aria-current=${data.node === 0 ? "step" : undefined}>root</${Link}></li>
      ${data.path.map(step => html`<li key=${step.node}><small class="p${step.player}">${who(step.player)}</small> <${Link} to=${`/explore${link(step.node)}`} aria-current=${step.node === data.node ? "step" : undefined}>${step.name}</${Link}></li>`)}</ol>
    ${data.children.length === 0 ? html`<p class="muted">The game is over here: ${data.value.map((v, p) => `player ${p} ${short(v)}`).join(", ")}.</p>`
      : html`<p class="turn"><b class="p${data.player}">${who(data.player)}</b> ${data.player === -1 ? "deals" : "acts"}</p>
      <ul class="children">${data.children.map((child, n) => html`<li key=${child.node}><${Link} to=${`/explore${link(child.node)}`} title="reach ${short(child.reach)}, ${count(child.size)} nodes">
        <span>${data.total <= 9 && html`<kbd>${n + 1}</kbd> `}${child.words}</span><${Bar} part=${child.probability} /><small>${percent(child.probability)}</small></${Link}></li>`)}</ul>
      ${(more > 0 || data.start > 0) && html`<p class="pager">${data.start > 0 && html`<button onClick=${() => setQuery({ start: Math.max(data.start - 100, 0) || "" })}>before</button>`}
        ${more > 0 && html`<button onClick=${() => setQuery({ start: data.start + data.children.length })}>${count(more)} more</button><small class="muted">reach ${short(Math.max(data.reach - seen, 0))}</small>`}</p>`}`}
    <p class="muted small">${count(data.size)} nodes from here, reach ${short(data.reach)}${data.reach === 0 ? ": never reached, so what the policy says here is arbitrary" : ""}</p></nav>`;
}

// "17:0,1;20:0.5,0.5" as a map, and back.
const locksOf = text => new Map(text.split(";").filter(Boolean).map(part => part.split(":")));
const written = locks => [...locks].map(([infoset, row]) => `${infoset}:${row}`).join(";");

function Locked({ facts, lock }) {
  const release = infoset => { const locks = locksOf(lock); locks.delete(String(infoset)); setQuery({ lock: written(locks) }); };
  return html`<p class="notice" role="status">Locked, and all the rest solved anew around it: ${facts.locked.map(one => html`<button key=${one.infoset} class="quiet" onClick=${() => release(one.infoset)} title="release"><code>${one.key || "(nothing)"}</code> ✕</button>`)}
    The exploitability counts what the locks give away too.</p>`;
}

// What the player must do here; everything else is solved anew around it.
function Lock({ set, lock }) {
  const now = locksOf(lock).get(String(set.number))?.split(",").map(Number) || set.actions.map(action => action.probability);
  const [values, change] = useState(now.map(p => String(Number((100 * p).toFixed(2)))));
  const numbers = values.map(Number), good = numbers.every(v => v >= 0) && numbers.some(v => v > 0);
  const apply = event => {
    event.preventDefault();
    const total = numbers.reduce((a, b) => a + b);
    setQuery({ lock: written(locksOf(lock).set(String(set.number), numbers.map(v => Number((v / total).toFixed(6))).join(","))) });
  };
  return html`<details class="lock"><summary>Lock what is played here</summary><form class="form" onSubmit=${apply}>${set.actions.map((action, n) => html`<label key=${n}><span>${action.name}, %</span>
      <input inputmode="decimal" value=${values[n]} onInput=${event => change(values.map((old, k) => (k === n ? event.target.value : old)))} /></label>`)}
    <button class="primary" disabled=${!good}>Lock and solve again</button></form></details>`;
}

function Infoset({ data, to, versus, base, policy, game, lock }) {
  const set = data.infoset;
  return html`<aside class="infoset" aria-label="What is known here">${data.board && html`<pre class="board">${data.board}</pre>`}
    ${!set ? html`<p class="muted">${data.player === -1 ? "Chance acts here; nobody decides." : "Nobody acts any more."}</p>
      <table class="plain"><tbody>${data.value.map((v, p) => html`<tr key=${p}><th scope="row">player ${p}</th><td class="num" title=${v}>${short(v)}</td></tr>`)}</tbody></table>` : html`
    <h2><span class="p${set.player}">Player ${set.player}</span> <code>${set.key || "(nothing)"}</code></h2><p>${data.words}</p>
    <div class="scroll"><table class="actions-table"><thead><tr><th scope="col">action</th><th scope="col" class="num">plays</th>${versus && html`<th scope="col" class="num">other</th>`}<th scope="col" class="num">value</th><th scope="col" class="num">loses</th></tr></thead>
      <tbody>${set.actions.map((action, n) => html`<tr key=${n}><th scope="row"><i class="swatch" style=${{ background: hue(n) }}></i><${Link} to=${`/explore?${merged({ node: data.children[n]?.node })}`}>${data.children[n]?.words || action.name}</${Link}></th>
        <td class="num" title=${action.probability}>${percent(action.probability)}</td>${versus && html`<td class="num">${percent(action.versus)}</td>`}<td class="num" title=${action.value}>${short(action.value)}</td><td class="num" title=${action.loss}>${set.cf_reach > 0 ? short(action.loss) : "–"}</td></tr>`)}</tbody></table></div>
    <dl class="small-facts"><div><dt>Comes up</dt><dd>${short(set.probability)}</dd></div><div><dt>Worth</dt><dd>${short(set.value)}</dd></div><div><dt>Leaks</dt><dd title=${set.loss}>${short(set.loss)}</dd></div><div><dt>Histories</dt><dd>${count(set.size)}</dd></div></dl>
    ${set.cf_reach === 0 && html`<p class="notice">The others never let play come here: values are not defined.</p>`}
    ${set.size > 1 && html`<details><summary>What may have happened (${count(set.size)})</summary><ul class="members">${set.members.map(one => html`<li key=${one.node}><button class="quiet" aria-current=${one.node === data.node ? "true" : undefined} onClick=${() => to(one.node)}>node ${count(one.node)}</button> <small>reach ${short(one.reach)}</small></li>`)}</ul></details>`}`}
    ${set && html`<${Lock} key=${`${set.number} ${lock}`} set=${set} lock=${lock} />`}
    <p class="actions">${!lock && html`<${Link} class="button" to=${`/play?${queryOf({ game, policy })}`}>Play against it</${Link}>`}
      <${Save} path=${`/api/explore/export?${base}&form=csv`} name="policy.csv">CSV</${Save}>
      <${Save} path=${`/api/explore/game_file?${base}`} name=${`${game.split("(")[0]}.efg`}>.efg</${Save}></p></aside>`;
}

function merged(patch) {
  const now = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(patch)) if (value !== undefined) now.set(key, value);
  now.delete("start");
  return now.toString();
}

