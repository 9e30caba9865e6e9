// One run: its curve as it grows, how it is doing, what it was told, and where to go from here.

import { get } from "./api.js";
import { html, Link, State, Command, Problem, Save, Tabs, Bar, setQuery, useAddress, useAction, useEffect, useLive, useRef,
  useState, ago, count, duration, gameTitle, hue, runLink, short, timeLeft, useAnswer, quote, percent } from "./ui.js";
import { Chart } from "./chart.js";
import { Population } from "./population.js";

const TOO_MANY = 8000;  // points on the page before they are thinned again

// The records of a run, followed as they come: nothing twice, nothing left out.
function useRecords(id, version, { x, logx, from, to }) {
  const [state, set] = useState({});
  const follow = useRef(null);
  useEffect(() => {
    let gone = false, asking = false, again = false;
    let have = {};
    const ask = async () => {
      const rest = have.rows && !from && have.columns[0].length < TOO_MANY ? `&after=${have.rows}&epoch=${have.epoch}` : "";
      const range = from ? `&from=${from}&to=${to}` : "";
      const found = await get(`/api/runs/${id}/metrics?x=${x}&scale=${logx ? "log" : "linear"}&points=2000${range}${rest}`);
      const more = rest && found.after === have.rows && found.epoch === have.epoch;
      const columns = more ? have.columns.map((values, i) => (found.data[i]?.length ? values.concat(found.data[i]) : values)) : found.data;
      have = { rows: found.rows, epoch: found.epoch, columns, names: found.columns, best: found.best };
    };
    follow.current = async () => {  // one question at a time: what is new meanwhile is in the next
      again = true;
      if (asking) return;
      asking = true;
      while (again && !gone) {
        again = false;
        try {
          await ask();
          if (!gone) set(have);
        } catch (error) {
          if (!gone) set(before => ({ ...before, error }));
        }
      }
      asking = false;
    };
    return () => { gone = true; };
  }, [id, x, logx, from, to]);
  useEffect(() => { follow.current(); }, [id, version, x, logx, from, to]);
  return state;
}

export function Run({ id }) {
  const { query } = useAddress();
  const { runs, loaded, online } = useLive();
  const run = runs.get(id);
  const x = query.get("x") === "seconds" ? "seconds" : "step";
  const logx = query.get("scale") !== "linear", logy = query.get("y") !== "linear";
  const from = query.get("from"), to = query.get("to");
  const records = useRecords(id, `${run?.version} ${online}`, { x, logx, from, to });
  const { data: detail } = useAnswer(run && `/api/runs/${id}?v=${run.state}`);
  if (!run) return html`<h1>${id}</h1><p>${loaded ? "This run is not there any more. It may have been moved or deleted." : "Looking …"} <${Link} to="/">All runs</${Link}></p>`;
  const names = (records.names || []).filter(name => !["step", "seconds"].includes(name));
  const along = records.names ? records.columns[records.names.indexOf(x)] : [];
  const series = names.map((name, n) => ({
    label: name.replace(/_/g, " "), x: along, y: records.columns[records.names.indexOf(name)], hue: hue(n), dash: name === "current" ? [4, 4] : undefined,
  }));
  const zoom = (low, high) => setQuery({ from: low, to: high }, { replace: true });
  return html`<div class="head"><h1>${run.name} <small class="muted">${id.split("/").slice(1).join("/")}</small></h1><${State} state=${run.state} />
      <span class="grow"></span><${Actions} run=${run} /></div>
    ${!run.damage && html`<p class="sub">${run.algorithm} on <${Link} to=${`/games/${encodeURIComponent(run.game)}`}>${gameTitle(run.game)}</${Link}>, seed ${run.seed}, began ${ago(run.began)}</p>`}
    <${Banner} run=${run} />
    <dl class="facts">
      <div><dt>Step</dt><dd>${count(run.step)} <small>of ${count(run.max_steps)}</small><${Bar} part=${run.max_steps ? run.step / run.max_steps : 0} label="${percent(run.max_steps ? run.step / run.max_steps : 0)} done" /></dd></div>
      <div><dt>${run.exact ? "Exploitability" : "Last"}</dt><dd title=${run.value}>${short(run.value)} <small>${run.policy.replace(/_/g, " ")}</small></dd></div>
      <div><dt>Best</dt><dd title=${run.best}>${short(run.best)}</dd></div>
      <div><dt>${run.state === "running" ? "Steps per second" : "In the algorithm"}</dt><dd>${run.state === "running" ? (run.rate ? short(run.rate) : "–") : duration(run.seconds)}</dd></div>
      <div><dt>Time left</dt><dd>${run.state === "running" ? duration(timeLeft(run)) : "–"}</dd></div></dl>
    <section class="card"><div class="head"><h2>${run.exact ? "Exploitability" : "What was met"}</h2><span class="grow"></span>
        <${Tabs} label="Along" value=${x} options=${[["step", "steps"], ["seconds", "seconds"]]} choose=${key => setQuery({ x: key === "step" ? "" : key, from: "", to: "" })} />
        <${Tabs} label="Horizontal" value=${logx ? "log" : "linear"} options=${[["log", "log x"], ["linear", "linear x"]]} choose=${key => setQuery({ scale: key === "log" ? "" : key })} />
        <${Tabs} label="Vertical" value=${logy ? "log" : "linear"} options=${[["log", "log y"], ["linear", "linear y"]]} choose=${key => setQuery({ y: key === "log" ? "" : key })} />
        ${from && html`<button onClick=${() => zoom("", "")}>All of it</button>`}
        <${Save} path=${`/api/runs/${id}/metrics.csv`} name=${`${run.name}.csv`}>CSV</${Save}></div>
      <${Problem} error=${records.error} />
      ${records.rows === 0 ? html`<p class="muted">No records yet: the first comes after the first step.</p>`
        : html`<${Chart} series=${series} xlabel=${x === "step" ? "steps" : "seconds"} ylabel=${run.exact ? "exploitability" : "count"} logx=${logx} logy=${logy} zoom=${zoom}
          label="Exploitability of ${run.name}: ${short(run.value)} at step ${count(run.step)}" />`}
      <p class="muted small">${count(records.rows || 0)} records. Drag to look closer, double click for all.</p></section>
    ${detail?.population && html`<${Population} id=${id} version=${run.checkpoint} />`}
    ${detail && html`<${Details} detail=${detail} run=${run} />`}
    <${Command}>${run.state === "running" || run.state === "finished" ? `counterplay plot ${quote(detail?.folder || id)} -o curve.png` : `counterplay resume ${quote(detail?.folder || id)}`}</${Command}>`;
}

function Banner({ run }) {
  const [act, { busy, error }] = useAction();
  const resume = () => act("POST", `/api/runs/${run.id}/resume`, {});
  const text = {
    killed: `It ended without a word at about step ${count(run.step)}. Resume goes on from its last checkpoint, with the same numbers as if nothing had happened.`,
    aborted: "It was ended before it could write a checkpoint. Resume goes on from the last one.",
    lost: "It runs, or ran, on another machine, which has not been heard of for a while.",
    failed: run.problem, damaged: run.problem,
  }[run.state];
  if (!text) return null;
  return html`<div class="problem" role="alert"><p>${text}</p>${["killed", "aborted"].includes(run.state) && html`<button class="primary" disabled=${busy} onClick=${resume}>Resume</button>`}<${Problem} error=${error} /></div>`;
}

function Actions({ run }) {
  const [act, { busy, error }, clear] = useAction();
  const [stopping, setStopping] = useState(0);
  const [longer, setLonger] = useState(null);
  useEffect(() => { if (run.state !== "running") setStopping(0); }, [run.state]);
  const stop = async () => { if (await act("POST", `/api/runs/${run.id}/stop`, {})) setStopping(Date.now()); };
  const where = `policy=${encodeURIComponent(`run:${run.id}@${run.policy || "average"}`)}`;
  const late = stopping && Date.now() - stopping > 8000;
  return html`<div class="actions">
    ${run.state === "running" && html`<button onClick=${stop} disabled=${busy || stopping}>${stopping ? "Stopping …" : "Stop"}</button>`}
    ${run.state === "running" && late && html`<button class="danger" onClick=${() => act("POST", `/api/runs/${run.id}/kill`, {})}>Kill</button>`}
    ${["stopped", "killed", "aborted", "failed", "ended", "new"].includes(run.state) && run.step < run.max_steps && html`<button class="primary" disabled=${busy} onClick=${() => act("POST", `/api/runs/${run.id}/resume`, {})}>Resume</button>`}
    ${run.state === "finished" && longer === null && html`<button onClick=${() => setLonger(2 * run.max_steps)}>Run longer</button>`}
    ${longer !== null && html`<form onSubmit=${async event => { event.preventDefault(); if (await act("POST", `/api/runs/${run.id}/resume`, { steps: Number(longer) })) setLonger(null); }}>
      <label>to step <input type="number" min=${run.step + 1} value=${longer} onInput=${event => setLonger(event.target.value)} /></label><button class="primary">Go on</button></form>`}
    ${run.exact && !run.damage && html`<${Link} class="button primary" to=${`/explore?${where}`}>Explore</${Link}><${Link} class="button" to=${`/play?${where}`}>Play</${Link}>`}
    <${Link} class="button" to=${`/compare?r=${encodeURIComponent(run.id)}`}>Compare</${Link}>
    <${Link} class="button" to=${`/new?from=${encodeURIComponent(run.id)}`}>Copy</${Link}>
    ${error && html`<div onClick=${clear}><${Problem} error=${error} /></div>`}</div>`;
}

function Details({ detail, run }) {
  const { data: log, reload } = useAnswer(`/api/runs/${run.id}/log`);
  const spec = { ...detail.config.networks, ...detail.config.spec };
  let env = {};
  try { env = JSON.parse(detail.env); } catch { env = {}; }
  const facts = [["commit", env.commit?.slice(0, 12)], ...Object.entries(env.versions || {}), ["processors", env.platform?.processors]].filter(([, v]) => v);
  return html`<div class="two"><section class="card"><h2>Config</h2><table class="plain"><tbody>
      <tr><th scope="row">game</th><td>${run.game}</td></tr><tr><th scope="row">algorithm</th><td>${run.algorithm}</td></tr>
      ${Object.entries(spec).map(([key, value]) => html`<tr key=${key}><th scope="row">${key}</th><td>${JSON.stringify(value)}</td></tr>`)}</tbody></table></section>
    <section class="card"><h2>Made with</h2><table class="plain"><tbody>${facts.map(([key, value]) => html`<tr key=${key}><th scope="row">${key}</th><td>${value}</td></tr>`)}
      <tr><th scope="row">folder</th><td class="break">${detail.folder}</td></tr></tbody></table></section></div>
    ${log?.there && html`<details class="card"><summary>What it printed</summary><pre class="log" tabindex="0">${log.log}</pre><button onClick=${reload}>Again</button></details>`}`;
}

