// Runs side by side: seeds of one method are one curve with a band.

import { html, Link, Command, Problem, Tabs, State, setQuery, go, useAddress, useAnswer, useEffect, useLive, useRef, useState,
  count, duration, gameTitle, hue, runLink, short } from "./ui.js";
import { Chart } from "./chart.js";

export function Compare() {
  const { query } = useAddress();
  const { runs, loaded } = useLive();
  const chosen = query.getAll("r");
  const x = query.get("x") === "seconds" ? "seconds" : "step";
  const target = Number(query.get("target") || 1e-3);
  const stamp = chosen.map(id => runs.get(id)?.step || 0).join();
  const slow = useSlowly(stamp, 1500);
  const path = chosen.length ? `/api/compare?${chosen.map(id => `r=${encodeURIComponent(id)}`).join("&")}&v=${slow}` : "";
  const { data, error, reload } = useAnswer(path);
  const choose = ids => go(`/compare?${[...ids.map(id => ["r", id]), ...[...query].filter(([k]) => k !== "r")].map(([k, v]) => `${k}=${encodeURIComponent(v)}`).join("&")}`);
  const games = [...new Set((data?.groups || []).map(group => group.game))];
  return html`<div class="head"><h1>Compare</h1><span class="grow"></span>
      <${Tabs} label="Along" value=${x} options=${[["step", "steps"], ["seconds", "seconds"]]} choose=${key => setQuery({ x: key === "step" ? "" : key })} /></div>
    <${Problem} error=${error} retry=${reload} />
    ${data?.gone?.length > 0 && html`<p class="notice">Not there any more: ${data.gone.join(", ")}</p>`}
    ${data?.empty?.length > 0 && html`<p class="notice">Without records yet: ${data.empty.join(", ")}</p>`}
    ${data?.damaged?.map(
      ({ id, problem }) => html`<p key=${id} class="notice">
        <b>${id}</b> is left out: ${problem}
      </p>`,
    )}
    ${chosen.length === 0 && loaded && html`<p>Choose runs below, or select them on the page of <${Link} to="/">runs</${Link}>. Runs that differ only in their seed become one curve: the median, with the range around it.</p>`}
    ${games.map(game => {
      const groups = data.groups.filter(group => group.game === game);
      const exact = groups.filter(group => group.exact);
      const sampled = groups.filter(group => !group.exact);
      return html`${exact.length > 0 && html`<${Panel} key=${game} game=${game} groups=${exact} x=${x} target=${target} />`}
        ${sampled.length > 0 && html`<${CountsTable} key=${`${game} on rules`} game=${game} groups=${sampled} />`}`;
    })}
    ${data?.groups?.length > 0 && html`<label class="inline">Exploitability to reach <input type="number" step="any" min="0" value=${target} onChange=${event => setQuery({ target: event.target.value })} /></label>`}
    ${data?.differing?.length > 0 && html`<section class="card"><h2>What differs</h2><div class="scroll"><table><thead><tr><th scope="col">key</th>${chosen.map(id => html`<th scope="col" key=${id}>${id}</th>`)}</tr></thead>
      <tbody>${data.differing.map(({ key, values }) => html`<tr key=${key}><th scope="row">${key}</th>${chosen.map(id => html`<td key=${id}>${JSON.stringify(values[id])}</td>`)}</tr>`)}</tbody></table></div></section>`}
    <${Picker} runs=${runs} chosen=${chosen} choose=${choose} />
    <${Command}>${chosen.length ? `counterplay compare ${chosen.map(id => `runs/${id}`).join(" ")}` : "counterplay compare runs"}</${Command}>`;
}

// The value, at most every so many milliseconds: a curve that is drawn again and again is no help.
function useSlowly(value, pause) {
  const [shown, set] = useState(value);
  const latest = useRef(value);
  latest.current = value;
  useEffect(() => {
    if (shown === value) return undefined;
    const timer = setTimeout(() => set(latest.current), pause);
    return () => clearTimeout(timer);
  }, [shown === value]);
  return shown;
}

/** Median of an interval, with its ends if they differ. */
function span(interval) {
  if (!interval) return "–";
  const ends = html`<small> ${short(interval.low)} to ${short(interval.high)}</small>`;
  return html`${short(interval.median)}${interval.low !== interval.high && ends}`;
}

/** Runs on rules: their records are counts, since exploitability is not known there. */
function CountsTable({ game, groups }) {
  const names = [...new Set(groups.flatMap(group => Object.keys(group.row.counts)))];
  const heads = ["runs", "step", ...names, "steps per second"];
  return html`<section class="card"><h2>${gameTitle(game)}, on rules</h2>
    <p class="muted">Exploitability is not known on rules; these are counts.</p>
    <div class="scroll"><table>
      <thead><tr><th scope="col">method</th>
        ${heads.map(name => html`<th key=${name} scope="col" class="num">${name}</th>`)}</tr></thead>
      <tbody>${groups.map(({ label, runs, row }) => html`<tr key=${label}><th scope="row">${label}</th>
        <td class="num">${runs.length}</td><td class="num">${span(row.step)}</td>
        ${names.map(name => html`<td key=${name} class="num">${span(row.counts[name])}</td>`)}
        <td class="num">${span(row.steps_per_second)}</td></tr>`)}</tbody></table></div></section>`;
}

function Panel({ game, groups, x, target }) {
  const series = groups.map((group, n) => ({
    label: `${group.label}${group.runs.length > 1 ? `, ${group.runs.length} runs` : ""}`, x: group.curve[x], y: group.curve.median, hue: hue(n),
    low: group.runs.length > 1 ? group.curve.low : undefined, high: group.runs.length > 1 ? group.curve.high : undefined,
  }));
  const reached = group => {
    const place = group.curve.median.findIndex(value => value <= target);
    return place < 0 ? "not yet" : x === "seconds" ? duration(group.curve.seconds[place]) : `${count(group.curve.step[place])} steps`;
  };
  return html`<section class="card"><h2>${gameTitle(game)}</h2>
    <${Chart} series=${series} xlabel=${x === "step" ? "steps" : "seconds"} ylabel="exploitability" />
    <div class="scroll"><table><thead><tr><th scope="col">method</th><th scope="col" class="num">runs</th><th scope="col" class="num">step</th><th scope="col" class="num">exploitability</th><th scope="col" class="num">best</th><th scope="col" class="num">current</th><th scope="col" class="num">steps per second</th><th scope="col" class="num">to ${short(target)}</th></tr></thead>
      <tbody>${groups.map((group, n) => html`<tr key=${group.label}><th scope="row"><i class="swatch" style=${{ background: hue(n) }}></i>${group.label}</th><td class="num">${group.runs.length}</td>
        <td class="num">${span(group.row.step)}</td><td class="num">${span(group.row.average)}</td><td class="num">${span(group.row.best)}</td><td class="num">${span(group.row.current)}</td><td class="num">${span(group.row.steps_per_second)}</td><td class="num">${reached(group)}</td></tr>`)}</tbody></table></div></section>`;
}

function Picker({ runs, chosen, choose }) {
  const [text, set] = useState("");
  const games = new Set(chosen.map(id => runs.get(id)?.game));
  const rest = [...runs.values()].filter(run => `${run.id} ${run.game} ${run.algorithm}`.toLowerCase().includes(text.toLowerCase()))
    .sort((a, b) => Number(games.has(b.game)) - Number(games.has(a.game)) || (a.id < b.id ? 1 : -1)).slice(0, 40);
  return html`<section class="card"><div class="head"><h2>Runs</h2><span class="muted">${chosen.length} chosen</span><span class="grow"></span>
      <label class="search"><span class="hidden">Find runs to compare</span><input data-search type="search" placeholder="Find runs" value=${text} onInput=${event => set(event.target.value)} /></label></div>
    ${runs.size === 0 && html`<p class="muted">There are no runs yet. <${Link} to="/new">Start one</${Link}></p>`}
    <ul class="picker">${rest.map(run => html`<li key=${run.id}><label><input type="checkbox" checked=${chosen.includes(run.id)} onChange=${event =>
      choose(event.target.checked ? [...chosen, run.id] : chosen.filter(id => id !== run.id))} /> <b>${run.name}</b>
      <span>${gameTitle(run.game)}, ${run.algorithm}, seed ${run.seed}</span> <span class="muted">${run.exact ? short(run.value) : "on rules"}</span></label> <${State} state=${run.state} /></li>`)}</ul></section>`;
}

