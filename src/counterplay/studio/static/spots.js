// Hold'em spots: what is asked, solved here, and what every hand of a range does, as a 13 x 13 grid.

import { post, wait } from "./api.js";
import { html, Command, Problem, Working, setQuery, useAddress, useEffect, useState, bytes, count, duration, hue, percent, short } from "./ui.js";
import { gradient } from "./grid.js";
import { soon } from "./new.js";

const EXAMPLE = {
  board: "Td9d6hQc7s",
  ranges: ["66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s", "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+"],
  pot: 200, stacks: [900, 900],
  sizes: { river: [{ bet: "50% a", raise: "60% a" }, { bet: "50% a", raise: "60% a" }] },
};
const DEFAULT_SIZES = { bet: "50% a", raise: "60% a" }; // as in counterplay.public.spot
const STREETS = { 3: ["flop", "turn", "river"], 4: ["turn", "river"], 5: ["river"] };
const MODES = [["policy", "policy"], ["value", "EV"], ["weight", "range"]];

const isObject = value => typeof value === "object" && value !== null && !Array.isArray(value);
const isPair = (value, test) => Array.isArray(value) && value.length === 2 && value.every(test);
const isText = value => typeof value === "string";
const isAmount = value => ["string", "number"].includes(typeof value);
const isSize = value => isObject(value) && Object.values(value).every(isText);

// What an address may hold; the server checks the rest.
const SHAPE = {
  board: isText,
  ranges: value => isPair(value, isText),
  pot: isAmount,
  stacks: value => isPair(value, isAmount),
  sizes: value => isObject(value) && Object.values(value).every(both => isPair(both, isSize)),
};

/** The spot of an address, and what is wrong with it; fields that cannot be read are examples. */
function given(query) {
  const text = query.get("s");
  if (!text) return { spot: EXAMPLE, problem: "" };
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    found = null;
  }
  if (!isObject(found)) {
    return { spot: EXAMPLE, problem: "The address does not hold a spot; this is an example." };
  }
  const wrong = Object.keys(SHAPE).filter(key => !SHAPE[key](found[key] ?? EXAMPLE[key]));
  const missing = Object.keys(EXAMPLE).filter(key => found[key] === undefined && key !== "sizes");
  const spot = { ...EXAMPLE, sizes: {}, ...found };
  for (const key of wrong) spot[key] = EXAMPLE[key];
  const names = [...wrong, ...missing].join(", ");
  const problem = names && `The spot in the address has no usable ${names}; these are examples.`;
  return { spot, problem };
}

export function Spots() {
  const { query } = useAddress();
  const { spot, problem } = given(query);
  const solve = query.get("solve");
  if (!solve || problem) return html`<${Setup} key=${query.get("s")} spot=${spot} problem=${problem} />`;
  return html`<${Solution}
    key=${`${query.get("s")} ${solve}`}
    spot=${spot}
    target=${Number(solve)}
  />`;
}

function Setup({ spot: first, problem }) {
  const [spot, setSpot] = useState(first);
  const [target, setTarget] = useState("0.5");
  const [state, set] = useState({});
  const text = JSON.stringify(spot);
  useEffect(() => soon(300, () => post("/api/spot", { spot, estimate: true }), data => set(data.problem ? { error: { message: data.problem } } : { data }), error => set({ error })), [text]);
  const cards = spot.board.replace(/\s/g, "").length / 2;
  const streets = STREETS[cards] || [];
  const change = patch => setSpot({ ...spot, ...patch });
  const pair = (name, player, value) => change({ [name]: spot[name].map((old, p) => (p === player ? value : old)) });
  const size = (street, player, kind, value) => {
    const both = spot.sizes?.[street] || [DEFAULT_SIZES, DEFAULT_SIZES];
    change({ sizes: { ...spot.sizes, [street]: both.map((one, p) => (p === player ? { ...one, [kind]: value } : one)) } });
  };
  const { data, error } = state;
  const start = event => {
    event.preventDefault();
    const kept = { ...spot, sizes: Object.fromEntries(Object.entries(spot.sizes || {}).filter(([street]) => streets.includes(street))) };
    setQuery({ s: JSON.stringify(kept), solve: target, record: "", cell: "" });
  };
  const field = (label, value, set, more) => html`<label key=${label}><span>${label}</span><input value=${value} onInput=${event => set(event.target.value)} ...${more} /></label>`;
  const number = set => value => set(value === "" || Number.isNaN(Number(value)) ? value : Number(value));
  return html`<div class="head"><h1>Hold'em spots</h1></div>
    <p>Two players after the flop, the turn or the river: what do their hands do? Player 0 is out of position and acts first. Exploitability is exact.</p>
    ${problem && html`<${Problem} error=${{ message: problem }} />`}
    <form class="card form" onSubmit=${start}>
      ${field("board", spot.board, board => change({ board }), { spellcheck: false })}
      ${[0, 1].map(p => html`<label key=${p}><span>range of player ${p}</span><textarea class="code" rows="3" spellcheck="false" value=${spot.ranges[p]} onInput=${event => pair("ranges", p, event.target.value)}></textarea></label>`)}
      ${field("pot", spot.pot, number(pot => change({ pot })), { inputmode: "numeric" })}
      ${field("stack", spot.stacks[0], number(chips => change({ stacks: [chips, chips] })), { inputmode: "numeric" })}
      ${streets.map(street => html`<fieldset key=${street}><legend>Bets on the ${street}</legend>${[0, 1].map(p => ["bet", "raise"].map(kind => field(`player ${p}, ${kind === "bet" ? "bets" : "raises"}`, (spot.sizes?.[street] ? spot.sizes[street][p]?.[kind] : DEFAULT_SIZES[kind]) || "", value => size(street, p, kind, value), { spellcheck: false })))}</fieldset>`)}
      <p class="muted small">Sizes are words: 50% of the pot, 2.5x the bet, 100c chips, e geometric, a all-in.</p>
      ${field("until, % of the pot", target, setTarget, { inputmode: "decimal" })}
      <${Problem} error=${error} />
      ${data && html`<p class=${data.fits ? "muted small" : "problem"}>${data.hands.map((n, p) => `${count(n)} hands of player ${p}`).join(", ")}; ${count(data.infosets)} infosets; takes ${bytes(data.bytes)} of ${bytes(data.free)} that are free, and about ${duration(data.seconds)} of one core for each of some hundred iterations.${data.fits ? "" : " Give fewer bet sizes, or narrower ranges."}</p>`}
      ${data?.notes.map(note => html`<p key=${note} class="muted small">Note: ${note}.</p>`)}
      ${!data && !error && html`<p class="muted small" role="status">How much will it take? …</p>`}
      <button class="primary large" disabled=${!data?.fits}>Solve</button></form>
    <${Command}>counterplay spot solve spot.json --target ${target}% --save spot.cps</${Command}>`;
}

function Solution({ spot, target }) {
  const { query } = useAddress();
  const record = query.get("record") || "", cell = query.get("cell") || "", mode = query.get("mode") || "policy";
  const [state, set] = useState({});
  useEffect(() => {
    const control = new AbortController();
    const unless = use => found => control.signal.aborted || use(found);
    wait("POST", "/api/spot", { body: { spot, target, record, cell }, signal: control.signal, progress: unless(progress => set(before => ({ ...before, progress }))) })
      .then(unless(data => set({ data })), unless(error => set({ error })));
    return () => control.abort();
  }, [record, cell]);
  const { data, error, progress } = state;
  const back = () => setQuery({ solve: "", record: "", cell: "" });
  const cancel = () => { post("/api/spot/end", { spot }).catch(() => {}); back(); };
  const to = next => setQuery({ record: next });
  const head = html`<div class="head"><h1>${spot.board}</h1><span class="muted">pot ${short(spot.pot)}, stacks ${spot.stacks.map(s => short(s)).join(" and ")}</span><span class="grow"></span><button onClick=${back}>Change the spot</button></div>`;
  if (error) return html`${head}<${Problem} error=${error} retry=${record ? () => to("") : back} />`;
  if (!data) return html`${head}<${Working} progress=${progress} cancel=${cancel} />`;
  const { facts } = data;
  return html`${head}
    <dl class="facts compact"><div><dt>Exploitability</dt><dd title=${facts.exploitability}>${short(facts.percent)} % <small>of the pot</small></dd></div>
      ${facts.values.map((value, p) => html`<div key=${p}><dt>EV of player ${p}</dt><dd title=${value}>${short(value, 4)}</dd></div>`)}
      <div><dt>Solved in</dt><dd>${duration(facts.seconds)} <small>${count(facts.iterations)} iterations</small></dd></div></dl>
    ${facts.notes.map(note => html`<p key=${note} class="muted small">Note: ${note}.</p>`)}
    <div class="two wide-left"><section class="card"><${Way} data=${data} to=${to} />
        ${data.kind === "act" ? html`<${Hands} data=${data} mode=${mode} cell=${cell} />` : data.kind === "deal" ? html`<${Deal} data=${data} to=${to} />`
          : html`<p>${data.kind === "fold" ? "Somebody has folded: the hand is over." : "The cards are shown: the better hand takes the pot."}</p>`}</section>
      <section class="card">${data.kind === "act" ? html`<${Side} data=${data} to=${to} cell=${cell} />` : html`<p class="muted">Nobody acts here.</p>`}</section></div>
    <${Command}>counterplay spot show spot.cps ${record ? `"${record}"` : ""}</${Command}>`;
}

const joined = (record, word) => (record ? `${record},${word}` : word);

function Way({ data, to }) {
  return html`<nav aria-label="What has happened"><ol class="way"><li><button class="quiet" aria-current=${data.record === "" ? "step" : undefined} onClick=${() => to("")}>start</button></li>
    ${data.steps.map(step => html`<li key=${step.record}><button class="quiet p${step.player}" aria-current=${step.record === data.record ? "step" : undefined} onClick=${() => to(step.record)}>${step.player < 0 ? html`<code>${step.name}</code>` : step.name}</button></li>`)}</ol></nav>
    <p><b>${data.board}</b>, pot ${count(data.pot)}${data.kind === "act" ? html`, <b class="p${data.player}">player ${data.player}</b> acts` : ""}${data.kind === "act" && !data.reached ? html`<span class="muted">; never reached, so what the policy says here is arbitrary</span>` : ""}</p>`;
}

function Deal({ data, to }) {
  const suits = "shdc", ranks = "AKQJT98765432";
  return html`<p>The next card is dealt. Choose one:</p><div class="scroll"><table class="deck"><tbody>${[...suits].map(suit => html`<tr key=${suit}><th scope="row">${{ s: "spades", h: "hearts", d: "diamonds", c: "clubs" }[suit]}</th>${[...ranks].map(rank => html`<td key=${rank}>
    <button disabled=${!data.cards.includes(rank + suit)} onClick=${() => to(`${data.record}|${rank}${suit}`)}>${rank}${suit}</button></td>`)}</tr>`)}</tbody></table></div>`;
}

function Hands({ data, mode, cell: chosen }) {
  const names = data.actions.map(action => action.name);
  const most = Math.max(...data.grid.flat().map(one => Math.abs(one.value)), 1e-300);
  const choose = name => setQuery({ cell: name === chosen ? "" : name }, { replace: true });
  const walk = event => {
    const here = event.target.closest("td"), row = here?.parentElement;
    const next = { ArrowLeft: () => here.previousElementSibling, ArrowRight: () => here.nextElementSibling,
      ArrowUp: () => row.previousElementSibling?.children[here.cellIndex], ArrowDown: () => row.nextElementSibling?.children[here.cellIndex] }[event.key]?.();
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(here.dataset.name); }
    if (next) { event.preventDefault(); next.focus(); }
  };
  const face = one => {
    if (one.weight <= 0) return { kind: "none", style: {}, text: "" };
    if (mode === "value") return { kind: "tint", style: { "--part": Math.abs(one.value) / most }, text: short(one.value) };
    if (mode === "weight") return { kind: "tint", style: { "--part": one.weight }, text: percent(one.weight) };
    return { kind: "strip", style: { backgroundImage: gradient(names, names, one.policy), backgroundSize: `100% ${(3 + 15 * Math.min(one.weight, 1)).toFixed(1)}px` }, text: "" };
  };
  const told = one => (one.weight > 0 ? `${one.name}: ${names.map((name, n) => `${name} ${percent(one.policy[n])}`).join(", ")}; EV ${short(one.value)}, ${percent(one.weight)} of it is here` : `${one.name}: not in the range here`);
  const first = chosen || data.grid.flat().find(one => one.weight > 0)?.name || "AA";
  return html`<div class="grid-head"><p class="legend">${data.actions.map((action, n) => html`<span key=${n}><i style=${{ background: hue(n) }}></i>${action.name} <small>${percent(action.frequency)}</small></span>`)}</p>
      <div class="tabs" role="group" aria-label="Cells show">${MODES.map(([key, name]) => html`<button key=${key} class=${key === mode ? "on" : ""} aria-pressed=${key === mode} onClick=${() => setQuery({ mode: key === "policy" ? "" : key })}>${name}</button>`)}</div></div>
    <div class="scroll"><table class="hands" role="grid" aria-label="Hands: suited above the diagonal, others below"><tbody>${data.grid.map((row, r) => html`<tr key=${r}>${row.map(one => {
      const { kind, style, text } = face(one);
      return html`<td key=${one.name} data-name=${one.name} class="hand ${kind} ${one.name === chosen ? "here" : ""}" style=${style} title=${told(one)} aria-label=${told(one)} aria-selected=${one.name === chosen} tabindex=${one.name === first ? 0 : -1}
        onClick=${() => choose(one.name)} onKeyDown=${walk}>${one.name}${text && html`<small>${text}</small>`}</td>`;
    })}</tr>`)}</tbody></table></div>
    <p class="muted small">As high as the hand is likely to be here. Suited hands stand above the diagonal. Click a cell for its hands.</p>`;
}

function Side({ data, to, cell }) {
  return html`<h2>Actions</h2><table><thead><tr><th scope="col">action</th><th scope="col" class="num">how often</th></tr></thead><tbody>${data.actions.map((action, n) => html`<tr key=${n}><th scope="row"><i class="swatch" style=${{ background: hue(n) }}></i>
      <button class="quiet" onClick=${() => to(joined(data.record, action.name))}>${action.name}</button></th><td class="num" title=${action.frequency}>${percent(action.frequency)}</td></tr>`)}</tbody></table>
    <p class="small">Player ${data.player} has EV <b title=${data.value}>${short(data.value, 4)}</b> from here on (a fold has EV 0) in a pot of ${count(data.pot)}, and ${percent(data.equity)} equity.</p>
    <h2>${cell || "Hands"}</h2>${!cell ? html`<p class="muted">Click a cell of the grid.</p>` : !data.hands.length ? html`<p class="muted">None of them is in the range here.</p>` : html`<div class="scroll"><table><thead><tr><th scope="col">hand</th><th scope="col">plays</th><th scope="col" class="num">EV</th><th scope="col" class="num">equity</th><th scope="col" class="num">loses</th></tr></thead>
      <tbody>${data.hands.map(row => html`<tr key=${row.hand}><th scope="row"><code>${row.hand}</code></th><td>${data.actions.map(({ name }) => [name, row[name]]).filter(([, p]) => p > 0.0005).map(([name, p]) => `${name} ${percent(p)}`).join(", ")}</td>
        <td class="num" title=${row.value}>${short(row.value)}</td><td class="num">${percent(row.equity)}</td><td class="num" title=${row.regret}>${short(row.regret)}</td></tr>`)}</tbody></table></div>`}`;
}
