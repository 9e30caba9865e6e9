// The catalogue: what can be solved and played, and one's own files.

import { post } from "./api.js";
import { html, Link, Command, Problem, Save, go, setQuery, useAddress, useAnswer, useState, gameTitle, quote } from "./ui.js";
import { Estimate, specOf } from "./new.js";

const FORM = /[a-z0-9_]+/;

export function Games() {
  const { query } = useAddress();
  const { data, error, reload } = useAnswer("/api/catalogue");
  const { data: offers, error: failed } = useAnswer("/api/offers");
  const text = (query.get("q") || "").toLowerCase();
  const found = (data?.games || []).filter(game => `${game.name} ${game.summary}`.toLowerCase().includes(text));
  return html`<div class="head"><h1>Games</h1><span class="grow"></span>
      <label class="search"><span class="hidden">Find games</span><input data-search type="search" placeholder="Find games" value=${query.get("q") || ""} onInput=${event => setQuery({ q: event.target.value }, { replace: true })} /></label></div>
    <${Problem} error=${error} retry=${reload} />
    ${!data && !error && html`<p class="muted" role="status">Looking up …</p>`}
    <${Drop} />
    ${data?.uploaded.length > 0 && html`<h2>Your files</h2><div class="cards">${data.uploaded.map(one => html`<article class="card" key=${one.name}><h3><${Link} to=${`/games/${encodeURIComponent(one.name)}`}>${one.title}</${Link}></h3><${Doors} spec=${one.name} /></article>`)}</div><h2>All games</h2>`}
    <div class="cards">${found.map(game => html`<article class="card" key=${game.name}><h3><${Link} to=${`/games/${game.name}`}>${gameTitle(game.name)}</${Link}></h3>
      <p>${game.summary || game.problem}</p>${offers || failed
        ? html`<${Doors} spec=${game.name} offer=${offers?.[game.name]} />`
        : html`<p class="muted small">Estimating its size …</p>`}</article>`)}</div>
    ${data && !found.length && html`<p class="muted">No game fits “${query.get("q")}”.</p>`}
    <${Command}>counterplay games</${Command}>`;
}

/**
 * Links to what can be done with a game, and in place of the others why not.
 * @param {{ spec: string, offer?: { fits: boolean, reason: string, incomplete?: boolean },
 *   button?: boolean }} props
 */
function Doors({ spec, offer, button }) {
  const shown = encodeURIComponent(spec);
  const style = button ? "button" : "";
  if (offer?.incomplete) {
    return html`<p class="muted small">${offer.reason}.</p>`;
  }
  const fits = offer ? offer.fits : true;
  return html`<p class="doors">
      ${fits &&
      html`<${Link} class=${`${style} ${button ? "primary" : ""}`} to=${`/explore?game=${shown}`}>
        Explore
      </${Link}>`}
      <${Link} class=${style} to=${`/new?game=${shown}${fits ? "" : "&arena=rules"}`}>
        ${fits ? "Solve" : "Solve by sampling"}
      </${Link}>
      <${Link} class=${style} to=${`/play?game=${shown}`}>Play</${Link}>
    </p>
    ${!fits && html`<p class="muted small">${offer.reason}: it cannot be explored.</p>`}`;
}

function Drop() {
  const [state, set] = useState({});
  const take = async file => {
    if (!file) return;
    if (file.size > 5e6) return set({ error: { message: "the file has more than 5 MB, which is too large for a page" } });
    set({ busy: true });
    try {
      const found = await post("/api/games/upload", { name: file.name, text: await file.text() });
      go(`/games/${encodeURIComponent(found.name)}`);
    } catch (error) { set({ error }); }
  };
  return html`<div class="drop ${state.over ? "over" : ""}" onDragOver=${event => { event.preventDefault(); set({ over: true }); }} onDragLeave=${() => set({})}
      onDrop=${event => { event.preventDefault(); take(event.dataTransfer.files[0]); }}>
    <p>Drop an <code>.efg</code>, <code>.nfg</code> or <code>.json</code> game here, or <label class="file">choose a file<input type="file" accept=".efg,.nfg,.json" onChange=${event => take(event.target.files[0])} /></label>. It stays on this machine.</p>
    ${state.busy && html`<p role="status">Reading …</p>`}<${Problem} error=${state.error} /></div>`;
}

export function Game({ spec }) {
  const { data, error } = useAnswer("/api/catalogue");
  const name = spec.match(FORM)?.[0];
  const entry = data?.games.find(game => game.name === spec.split("(")[0]);
  const file = data?.uploaded.find(game => game.name === spec);
  const [params, setParams] = useState(() => given(spec));
  const [offer, setOffer] = useState(null);  // until the size is known
  const game = { name: entry ? entry.name : spec, params: entry ? params : {} };
  const whole = specOf(game);
  const parse = text => { try { return JSON.parse(text); } catch { return text; } };
  const shown = encodeURIComponent(whole);
  const matrix = entry && /Matrix|Chicken|Pennies|Scissors|Dilemma|Sexes|Shapley/i.test(entry.doc + entry.name);
  return html`<div class="head"><h1>${file ? file.title : gameTitle(spec)}</h1><span class="grow"></span><div class="actions">
      ${offer && html`<${Doors} spec=${whole} offer=${offer} button=${true} />`}
      ${(matrix || file) && offer?.fits && html`<${Link} class="button" to=${`/matrix?game=${shown}`}>Matrix</${Link}>`}</div></div>
    <${Problem} error=${error} />
    ${data && !entry && !file && !spec.startsWith("openspiel:") && html`<p>There is no game of this name here. <${Link} to="/games">All games</${Link}></p>`}
    <div class="two">
      <section class="card"><h2>Parameters</h2>
        ${entry?.fields.length ? html`<form class="form" onSubmit=${event => event.preventDefault()}>${entry.fields.map(field => html`<label key=${field.name}><span>${field.name.replace(/_/g, " ")}</span>
          <input value=${params[field.name] === undefined ? "" : JSON.stringify(params[field.name]).replace(/^"|"$/g, "")} placeholder=${JSON.stringify(field.default)}
            onInput=${event => setParams({ ...params, [field.name]: event.target.value === "" ? undefined : parse(event.target.value) })} /></label>`)}</form>` : html`<p class="muted">It has none.</p>`}
        ${data && html`<${Estimate} game=${game} tell=${setOffer} />`}</section>
      ${entry && html`<section class="card"><h2>Rules</h2><${Doc} text=${entry.doc} /></section>`}</div>
    ${offer?.fits && html`<p class="actions"><${Save} path=${`/api/explore/game_file?game=${shown}`} name=${`${game.name.replace(/\W.*/, "") || "game"}.efg`}>Save as .efg</${Save}></p>`}
    <${Command}>${`counterplay inspect ${quote(file ? file.title : whole)}`}</${Command}>`;
}

// Paragraphs flow; what is indented, such as counts, stays as it is.
const Doc = ({ text }) => text.split(/\n\s*\n/).map((part, n) => (part.split("\n").slice(1).some(line => line.startsWith("  "))
  ? html`<pre key=${n} class="doc">${part}</pre>` : html`<p key=${n}>${part.replace(/`/g, "").replace(/\s*\n\s*/g, " ")}</p>`));

// The parameters in "kuhn_poker(players=3)".
function given(spec) {
  const inside = spec.match(/\((.*)\)$/s)?.[1] || "";
  const found = {};
  for (const [, key, value] of inside.matchAll(/(\w+)=("[^"]*"|'[^']*'|\([^)]*\)|[^,]+)/g)) {
    const text = value.replace(/'/g, '"').replace(/^\((.*?),?\)$/s, "[$1]").replace(/\bTrue\b/g, "true").replace(/\bFalse\b/g, "false");
    try { found[key] = JSON.parse(text); } catch { found[key] = value; }
  }
  return found;
}
