// A person against a policy or a searcher: what one knows, what one may do, and what mistakes cost.

import { get, post, wait, remove, query as queryOf } from "./api.js";
import { html, Link, Command, Problem, Working, setQuery, useAddress, useAnswer, useEffect, useKeys, useLive, useState,
  gameTitle, percent, quote, short, signed } from "./ui.js";

export function Play() {
  const { query } = useAddress();
  const play = query.get("play");
  return play ? html`<${Episode} key=${play} play=${play} />` : html`<${Setup} />`;
}

const SEARCHED = ["tic_tac_toe", "connect_four"];

function opponents(game, runs, fits) {
  const solved = [...runs.values()].filter(run => run.game === game && run.exact && run.checkpoint)
    .map(run => [`run:${run.id}@${run.policy}`, `${run.name} (${run.algorithm}, ${short(run.value)})`]);
  const searched = SEARCHED.includes(game.split("(")[0]) ? [["search:alpha_beta", "alpha-beta search"], ["search:mcts(max_seconds=1)", "Monte Carlo tree search"]] : [];
  const uniform = ["uniform", "uniform: any action, equally often"];
  const tree = searched.length || !fits ? [] : [["solve:cfr_plus@1000", "CFR+, 1,000 iterations, solved now"]];
  return [...solved, ...searched, ...tree, uniform];
}

function Setup() {
  const { query } = useAddress();
  const { runs } = useLive();
  const { data, error: broken } = useAnswer("/api/catalogue");
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const policy = query.get("policy") || "";
  const run = runs.get(policy.replace(/^run:/, "").split("@")[0]);
  const game = query.get("game") || run?.game || "kuhn_poker";
  const { data: offers } = useAnswer("/api/offers");
  const fits = offers?.[game]?.fits ?? true;
  const choices = opponents(game, runs, fits);
  const opponent = choices.some(([key]) => key === policy) || policy ? policy : choices[0]?.[0] || "uniform";
  const seat = Number(query.get("seat") || 0);
  const known = [...(data?.games || []).map(one => [one.name, gameTitle(one.name)]), ...(data?.uploaded || []).map(one => [one.name, one.title])];
  const start = async event => {
    event.preventDefault();
    setBusy(true);
    try {
      const found = await post("/api/play", { game, policy: opponent, seat });
      setQuery({ play: found.play, game, policy: opponent, seat: seat || "" });
    } catch (problem) { setError(problem); setBusy(false); }
  };
  return html`<section class="narrow"><h1>Play</h1>
    <p>Sit down against a policy. ${fits
      ? "Every decision is judged exactly: what it gives away against this opponent, whatever the cards do."
      : `${offers[game].reason}: decisions are not judged.`}</p>
    <${Problem} error=${broken || error} />
    <form class="card form" onSubmit=${start}>
      <label><span>game</span><select value=${game} onChange=${event => setQuery({ game: event.target.value, policy: "" })}>
        ${!known.some(([key]) => key === game) && html`<option value=${game}>${gameTitle(game)}</option>`}${known.map(([key, name]) => html`<option key=${key} value=${key}>${name}</option>`)}</select></label>
      <label><span>opponent</span><select value=${opponent} onChange=${event => setQuery({ policy: event.target.value })}>
        ${!choices.some(([key]) => key === opponent) && html`<option value=${opponent}>${opponent}</option>`}${choices.map(([key, name]) => html`<option key=${key} value=${key}>${name}</option>`)}</select></label>
      <label><span>your seat</span><input type="number" min="0" max="9" value=${seat} onInput=${event => setQuery({ seat: event.target.value })} /></label>
      <button class="primary large" disabled=${busy}>Play</button></form>
    <${Command}>${`counterplay play ${quote(game)}${seat ? ` --player ${seat}` : ""}`}</${Command}></section>`;
}

const placeOf = state => `${state.number} ${state.move}`;

function Episode({ play }) {
  const { query } = useAddress();
  const [state, set] = useState(null);
  const [error, setError] = useState(null);
  const [progress, setProgress] = useState(null);
  const [given, setHint] = useState(null);
  const [busy, setBusy] = useState(false);
  const settle = promise => {
    setBusy(true);
    return promise.then(found => { set(found); setError(null); setProgress(null); setBusy(false); }, problem => {
      setBusy(false);
      if (problem.status === 202) return look();  // the action is taken; the answer takes a while
      if (problem.code === "stale") return look();
      setProgress(null);
      setError(problem);
      return null;
    });
  };
  const look = () => settle(wait("GET", `/api/play/${play}`, { progress: setProgress }));
  useEffect(() => { look(); }, [play]);
  const act = n => { if (!state || state.over || busy || n >= state.actions.length) return false; setHint(null); return settle(post(`/api/play/${play}/act`, { action: n, move: state.move, number: state.number })); };
  const next = () => { if (!state?.over || busy) return false; setHint(null); return settle(post(`/api/play/${play}/next`, { number: state.number })); };
  const help = async () => {
    if (state?.over) return;
    try {
      const found = await get(`/api/play/${play}?hint=1`);
      setHint({ ...found, at: placeOf(found) });  // of no use once the episode has gone on
    } catch (problem) { if (problem.status !== 202) setError(problem); }
  };
  useKeys({
    ...Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 9].map(n => [String(n), () => act(n - 1)])), h: help, n: next, Enter: event => (event.target === document.body || event.target.id === "main" ? next() : false),
  });
  const hint = state && given?.at === placeOf(state) ? given.hint : null;
  const leave = () => setQuery({ play: "" });
  if (error) return html`<h1>Play</h1><${Problem} error=${error} retry=${error.status === 404 ? leave : look} />`;
  if (!state) return html`<h1>Play</h1><${Working} progress=${progress} cancel=${() => { remove(`/api/desk?${queryOf({ game: query.get("game"), policy: query.get("policy") })}`).catch(() => {}); leave(); }} />`;
  const where = queryOf({ game: query.get("game"), policy: state.policy });
  const lost = state.lost + (state.over ? 0 : state.decisions.reduce((sum, one) => sum + (one.loss || 0), 0));
  return html`<div class="head"><h1>${gameTitle(state.game)}</h1><span class="muted">you are player ${state.seat} of ${state.players}; episode ${state.number + 1}</span><span class="grow"></span>
      <${Link} class="button" to=${`/explore?${where}`}>Explore</${Link}><button onClick=${leave}>Leave</button></div>
    <dl class="facts"><div><dt>Score</dt><dd>${signed(state.score)} <small>in ${state.episodes} episode${state.episodes === 1 ? "" : "s"}</small></dd></div>
      <div><dt>Lost to mistakes</dt><dd class="lost" title=${lost}>${short(lost)}</dd></div>
      <div><dt>Per episode</dt><dd>${state.episodes ? short(state.score / state.episodes) : "–"}</dd></div></dl>
    <div class="two wide-left"><section class="card table" aria-live="polite">
      ${state.board && html`<pre class="board">${state.board}</pre>`}
      ${state.over ? html`<${Result} state=${state} next=${next} busy=${busy} />` : html`<p class="situation">${state.words}</p>
        <div class="choices">${state.actions.map((action, n) => html`<button key=${n} class="choice" disabled=${busy} onClick=${() => act(n)}>
          ${n < 9 && html`<kbd>${n + 1}</kbd>`}<span>${action.words}</span>${hint && html`<small>${percent(hint[n].probability)}${hint[n].value !== undefined ? `, worth ${short(hint[n].value)}` : ""}</small>`}</button>`)}</div>
        <p><button class="quiet" onClick=${help}>Hint <kbd>h</kbd></button>${hint && html`<span class="muted small"> what the opponent would do in your place, and what each is worth against it</span>`}</p>`}</section>
    <section class="card"><h2>Your decisions</h2>${state.decisions.length === 0 ? html`<p class="muted">None yet in this episode.</p>` : html`<ol class="decisions">
      ${state.decisions.map((one, n) => html`<li key=${n}><p>${one.words}</p><p><b>${one.action}</b> <${Loss} one=${one} /> ${one.infoset !== undefined && html`<${Link} to=${`/explore?${where}&infoset=${one.infoset}`}>look</${Link}>`}</p></li>`)}</ol>`}
      <p class="muted small">The loss is what an action gives away on average against this opponent, if you play the best afterwards. Luck has no part in it.</p></section></div>
    <${Command}>${`counterplay play ${quote(query.get("game") || state.game)} --player ${state.seat}${opponent(state.policy)} --losses`}</${Command}>`;
}

const opponent = policy => (policy.startsWith("run:") ? ` --policy runs/${policy.slice(4)}` : policy.startsWith("search:") ? ` --opponent ${quote(policy.slice(7))}`
  : policy === "uniform" ? " --opponent uniform" : "");

function Loss({ one }) {
  if (one.loss === null) return html`<span class="muted">not judged</span>`;
  if (one.loss < 1e-9) return html`<span class="good">nothing lost</span>`;
  return html`<span class=${one.loss < 1e-3 ? "muted" : "lost"} title=${one.loss}>lost ${short(one.loss)}; ${one.best} was better</span>`;
}

function Result({ state, next, busy }) {
  const gain = state.utilities[state.seat];
  return html`<p class="situation">${gain > 0 ? "You win" : gain < 0 ? "You lose" : "Nobody wins"} <b class=${gain < 0 ? "lost" : "good"}>${signed(gain)}</b></p>
    <div class="scroll"><table><thead><tr><th scope="col">who</th><th scope="col">did</th><th scope="col">and might have</th></tr></thead><tbody>
    ${state.history.map((step, n) => html`<tr key=${n}><td>${step.player < 0 ? "chance" : step.player === state.seat ? "you" : `player ${step.player}`}</td><td><b>${step.name}</b></td>
      <td class="muted">${step.odds.map(([name, p]) => `${name} ${percent(p)}`).join(", ")}</td></tr>`)}</tbody></table></div>
    <p><button class="primary large" disabled=${busy} onClick=${next}>Next <kbd>n</kbd></button> <small class="muted">seed ${state.seed}</small></p>`;
}
