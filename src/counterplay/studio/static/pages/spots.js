// Hold'em spots after the flop: ranges, bet sizes, and the solution as a 13 x 13 grid.

import { CommandLineHint, ErrorMessage, ProgressMessage } from "../components/common.js";
import { HandGrid } from "../components/hand_grid.js";
import { post, requestUntilReady } from "../lib/api.js";
import { seriesColour } from "../lib/colours.js";
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatNumber,
  formatPercent,
} from "../lib/format.js";
import { debounceRequest, ignoreAfterAbort } from "../lib/hooks.js";
import { html, useEffect, useState } from "../lib/preact.js";
import { updateQuery, useLocation } from "../lib/router.js";

const EXAMPLE_SPOT = {
  board: "Td9d6hQc7s",
  ranges: [
    "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s",
    "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+",
  ],
  pot: 200,
  stacks: [900, 900],
  sizes: {
    river: [
      { bet: "50% a", raise: "60% a" },
      { bet: "50% a", raise: "60% a" },
    ],
  },
};

const DEFAULT_SIZES = { bet: "50% a", raise: "60% a" }; // as in counterplay.public.spot

const ESTIMATE_DELAY_MS = 300;

// Streets that are left to play, by the number of cards on the board.
const STREETS = { 3: ["flop", "turn", "river"], 4: ["turn", "river"], 5: ["river"] };

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

const isPair = (value, test) => Array.isArray(value) && value.length === 2 && value.every(test);

const isText = (value) => typeof value === "string";

const isAmount = (value) => ["string", "number"].includes(typeof value);

const areSizes = (value) => isObject(value) && Object.values(value).every(isText);

// Checks of the fields that an address may contain; the server checks the rest.
const SPOT_FIELD_CHECKS = {
  board: isText,
  ranges: (value) => isPair(value, isText),
  pot: isAmount,
  stacks: (value) => isPair(value, isAmount),
  sizes: (value) => isObject(value) && Object.values(value).every((both) => isPair(both, areSizes)),
};

/** Return the spot of an address, and its problem; invalid fields have example values. */
function spotFromQuery(query) {
  const text = query.get("s");
  if (!text) return { spot: EXAMPLE_SPOT, problem: "" };
  let fields;
  try {
    fields = JSON.parse(text);
  } catch {
    fields = null;
  }
  if (!isObject(fields)) {
    return {
      spot: EXAMPLE_SPOT,
      problem: "The address contains no valid spot; this is an example.",
    };
  }
  const invalidFields = Object.keys(SPOT_FIELD_CHECKS).filter(
    (key) => !SPOT_FIELD_CHECKS[key](fields[key] ?? EXAMPLE_SPOT[key]),
  );
  const missingFields = Object.keys(EXAMPLE_SPOT).filter(
    (key) => fields[key] === undefined && key !== "sizes",
  );
  const spot = { ...EXAMPLE_SPOT, sizes: {}, ...fields };
  for (const key of invalidFields) spot[key] = EXAMPLE_SPOT[key];
  const names = [...invalidFields, ...missingFields].join(", ");
  const problem = names && `The spot in the address has no usable ${names}; these are examples.`;
  return { spot, problem };
}

/** The page of hold'em spots: its form, or the solution. */
export function Spots() {
  const { query } = useLocation();
  const { spot, problem } = spotFromQuery(query);
  const solve = query.get("solve");
  if (!solve || problem) {
    return html`<${SpotSetup} key=${query.get("s")} initialSpot=${spot} problem=${problem} />`;
  }
  return html`
    <${SpotSolution} key=${`${query.get("s")} ${solve}`} spot=${spot} target=${Number(solve)} />
  `;
}

function SpotSetup({ initialSpot, problem }) {
  const [spot, setSpot] = useState(initialSpot);
  const [target, setTarget] = useState("0.5");
  const [state, setState] = useState({});
  const spotText = JSON.stringify(spot);
  useEffect(() => {
    const send = (signal) => post("/api/spot", { spot, estimate: true }, { signal });
    const onData = (data) =>
      setState(data.problem ? { error: { message: data.problem } } : { data });
    return debounceRequest(ESTIMATE_DELAY_MS, send, onData, (error) => setState({ error }));
  }, [spotText]);
  const numCards = spot.board.replace(/\s/g, "").length / 2;
  const streets = STREETS[numCards] || [];
  const updateSpot = (patch) => setSpot({ ...spot, ...patch });
  const updatePlayer = (name, player, value) =>
    updateSpot({ [name]: spot[name].with(player, value) });
  const updateSize = (street, player, kind, value) => {
    const playerSizes = spot.sizes?.[street] || [DEFAULT_SIZES, DEFAULT_SIZES];
    const newSizes = playerSizes.with(player, { ...playerSizes[player], [kind]: value });
    updateSpot({ sizes: { ...spot.sizes, [street]: newSizes } });
  };
  const sizeText = (street, player, kind) =>
    (spot.sizes?.[street] ? spot.sizes[street][player]?.[kind] : DEFAULT_SIZES[kind]) || "";
  const { data, error } = state;
  const start = (event) => {
    event.preventDefault();
    const solvableSpot = {
      ...spot,
      sizes: Object.fromEntries(
        Object.entries(spot.sizes || {}).filter(([street]) => streets.includes(street)),
      ),
    };
    updateQuery({ s: JSON.stringify(solvableSpot), solve: target, record: "", cell: "" });
  };
  const renderField = (label, value, onChange, attributes) => html`
    <label key=${label}>
      <span>${label}</span>
      <input value=${value} onInput=${(event) => onChange(event.target.value)} ...${attributes} />
    </label>
  `;
  const parseNumber = (onChange) => (text) =>
    onChange(text === "" || Number.isNaN(Number(text)) ? text : Number(text));
  return html`
    <div class="head"><h1>Hold'em spots</h1></div>
    <p>
      Two players on the flop, the turn or the river. Player 0 is out of position (OOP) and acts
      first. Exploitability is exact.
    </p>
    ${problem && html`<${ErrorMessage} error=${{ message: problem }} />`}
    <form class="card form" onSubmit=${start}>
      ${renderField("board", spot.board, (board) => updateSpot({ board }), { spellcheck: false })}
      ${[0, 1].map(
        (player) => html`
          <label key=${player}>
            <span>range of player ${player}</span>
            <textarea
              class="code"
              rows="3"
              spellcheck="false"
              value=${spot.ranges[player]}
              onInput=${(event) => updatePlayer("ranges", player, event.target.value)}
            ></textarea>
          </label>
        `,
      )}
      ${renderField(
        "pot",
        spot.pot,
        parseNumber((pot) => updateSpot({ pot })),
        { inputmode: "numeric" },
      )}
      ${renderField(
        "stack",
        spot.stacks[0],
        parseNumber((chips) => updateSpot({ stacks: [chips, chips] })),
        { inputmode: "numeric" },
      )}
      ${streets.map(
        (street) => html`
          <fieldset key=${street}>
            <legend>Bets on the ${street}</legend>
            ${[0, 1].map((player) =>
              ["bet", "raise"].map((kind) =>
                renderField(
                  `player ${player}, ${kind}s`,
                  sizeText(street, player, kind),
                  (value) => updateSize(street, player, kind, value),
                  { spellcheck: false },
                ),
              ),
            )}
          </fieldset>
        `,
      )}
      <p class="muted small">
        Sizes: 50% of the pot, 2.5x the bet, 100c in chips, e geometric, a all-in.
      </p>
      ${renderField("target exploitability, % of the pot", target, setTarget, {
        inputmode: "decimal",
      })}
      <${ErrorMessage} error=${error} />
      ${
        data &&
        html`
          <p class=${data.fits ? "muted small" : "problem"}>
            ${data.hands
              .map((numHands, player) => `${formatCount(numHands)} hands of player ${player}`)
              .join(
                ", ",
              )}; ${formatCount(data.infosets)} infosets; needs ${formatBytes(data.bytes)} of
            ${" "}${formatBytes(data.free)} free memory, and about${" "}
            ${formatDuration(data.seconds)} of one core per iteration for a few hundred
            iterations.${data.fits ? "" : " Use fewer bet sizes or narrower ranges."}
          </p>
        `
      }
      ${data?.notes.map((note) => html`<p key=${note} class="muted small">Note: ${note}.</p>`)}
      ${
        !data &&
        !error &&
        html`<p class="muted small" role="status">Estimating memory and time …</p>`
      }
      <button class="primary large" disabled=${!data?.fits}>Solve</button>
    </form>
    <${CommandLineHint}>
      counterplay spot solve spot.json --target ${target}% --save spot.cps
    </${CommandLineHint}>
  `;
}

function SpotSolution({ spot, target }) {
  const { query } = useLocation();
  const line = query.get("record") || "";
  const cell = query.get("cell") || "";
  const mode = query.get("mode") || "policy";
  const [state, setState] = useState({});
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    requestUntilReady("POST", "/api/spot", {
      body: { spot, target, record: line, cell },
      signal,
      onProgress: ignoreAfterAbort(signal, (progress) =>
        setState((previous) => ({ ...previous, progress })),
      ),
    }).then(
      ignoreAfterAbort(signal, (data) => setState({ data })),
      ignoreAfterAbort(signal, (error) => setState({ error })),
    );
    return () => controller.abort();
  }, [line, cell]);
  const { data, error, progress } = state;
  const back = () => updateQuery({ solve: "", record: "", cell: "" });
  const cancel = () => {
    post("/api/spot/end", { spot }).catch(() => {});
    back();
  };
  const goToLine = (next) => updateQuery({ record: next });
  const heading = html`
    <div class="head">
      <h1>${spot.board}</h1>
      <span class="muted">
        pot ${formatNumber(spot.pot)}, stacks${" "}
        ${spot.stacks.map((stack) => formatNumber(stack)).join(" and ")}
      </span>
      <span class="grow"></span>
      <button onClick=${back}>Edit spot</button>
    </div>
  `;
  if (error) {
    return html`
      ${heading}
      <${ErrorMessage} error=${error} retry=${line ? () => goToLine("") : back} />
    `;
  }
  if (!data) {
    return html`
      ${heading}
      <${ProgressMessage} progress=${progress} cancel=${cancel} />
    `;
  }
  const { facts } = data;
  return html`
    ${heading}
    <dl class="facts compact">
      <div>
        <dt>Exploitability</dt>
        <dd title=${facts.exploitability}>
          ${formatNumber(facts.percent)} % <small>of the pot</small>
        </dd>
      </div>
      ${facts.values.map(
        (value, player) => html`
          <div key=${player}>
            <dt>EV of player ${player}</dt>
            <dd title=${value}>${formatNumber(value, 4)}</dd>
          </div>
        `,
      )}
      <div>
        <dt>Solved in</dt>
        <dd>
          ${formatDuration(facts.seconds)}${" "}
          <small>${formatCount(facts.iterations)} iterations</small>
        </dd>
      </div>
    </dl>
    ${facts.notes.map((note) => html`<p key=${note} class="muted small">Note: ${note}.</p>`)}
    <div class="two wide-left">
      <section class="card">
        <${HistoryPath} data=${data} goToLine=${goToLine} />
        ${
          data.kind === "act"
            ? html`<${HandGrid} data=${data} mode=${mode} cell=${cell} />`
            : data.kind === "deal"
              ? html`<${CardPicker} data=${data} goToLine=${goToLine} />`
              : html`
                  <p>
                    ${TERMINAL_TEXTS[data.kind] || TERMINAL_TEXTS.showdown}
                  </p>
                `
        }
      </section>
      <section class="card">
        ${
          data.kind === "act"
            ? html`<${ActionTable} data=${data} goToLine=${goToLine} cell=${cell} />`
            : html`<p class="muted">No decision here.</p>`
        }
      </section>
    </div>
    <${CommandLineHint}>
      counterplay spot show spot.cps ${line ? `"${line}"` : ""}
    </${CommandLineHint}>
  `;
}

const TERMINAL_TEXTS = {
  fold: "A player folded: the hand is over.",
  showdown: "Showdown: the better hand wins the pot.",
};

const appendAction = (line, action) => (line ? `${line},${action}` : action);

function HistoryPath({ data, goToLine }) {
  return html`
    <nav aria-label="History">
      <ol class="history-path">
        <li>
          <button
            class="quiet"
            aria-current=${data.record === "" ? "step" : undefined}
            onClick=${() => goToLine("")}
          >
            start
          </button>
        </li>
        ${data.steps.map(
          (step) => html`
            <li key=${step.record}>
              <button
                class="quiet p${step.player}"
                aria-current=${step.record === data.record ? "step" : undefined}
                onClick=${() => goToLine(step.record)}
              >
                ${step.player < 0 ? html`<code>${step.name}</code>` : step.name}
              </button>
            </li>
          `,
        )}
      </ol>
    </nav>
    <p>
      <b>${data.board}</b>, pot ${formatCount(data.pot)}${
        data.kind === "act" ? html`, <b class="p${data.player}">player ${data.player}</b> acts` : ""
      }${
        data.kind === "act" && !data.reached
          ? html`
              <span class="muted">; never reached, so the policy here is arbitrary</span>
            `
          : ""
      }
    </p>
  `;
}

function CardPicker({ data, goToLine }) {
  const suits = "shdc";
  const ranks = "AKQJT98765432";
  return html`
    <p>Choose the next card:</p>
    <div class="scroll">
      <table class="deck">
        <tbody>
          ${[...suits].map(
            (suit) => html`
              <tr key=${suit}>
                <th scope="row">
                  ${{ s: "spades", h: "hearts", d: "diamonds", c: "clubs" }[suit]}
                </th>
                ${[...ranks].map(
                  (rank) => html`
                    <td key=${rank}>
                      <button
                        disabled=${!data.cards.includes(rank + suit)}
                        onClick=${() => goToLine(`${data.record}|${rank}${suit}`)}
                      >
                        ${rank}${suit}
                      </button>
                    </td>
                  `,
                )}
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}

function ActionTable({ data, goToLine, cell }) {
  return html`
    <h2>Actions</h2>
    <table>
      <thead>
        <tr>
          <th scope="col">action</th>
          <th scope="col" class="num">frequency</th>
        </tr>
      </thead>
      <tbody>
        ${data.actions.map(
          (action, index) => html`
            <tr key=${index}>
              <th scope="row">
                <i class="swatch" style=${{ background: seriesColour(index) }}></i>
                <button
                  class="quiet"
                  onClick=${() => goToLine(appendAction(data.record, action.name))}
                >
                  ${action.name}
                </button>
              </th>
              <td class="num" title=${action.frequency}>${formatPercent(action.frequency)}</td>
            </tr>
          `,
        )}
      </tbody>
    </table>
    <p class="small">
      Player ${data.player} has EV <b title=${data.value}>${formatNumber(data.value, 4)}</b>
      ${" "}at this decision (a fold has EV 0) in a pot of ${formatCount(data.pot)}, and${" "}
      ${formatPercent(data.equity)} equity.
    </p>
    <h2>${cell || "Combos"}</h2>
    ${
      !cell
        ? html`<p class="muted">Click a cell of the grid.</p>`
        : !data.hands.length
          ? html`<p class="muted">Not in the range here.</p>`
          : html`
              <div class="scroll">
                <table>
                  <thead>
                    <tr>
                      <th scope="col">combo</th>
                      <th scope="col">policy</th>
                      <th scope="col" class="num">EV</th>
                      <th scope="col" class="num">equity</th>
                      <th scope="col" class="num">regret</th>
                    </tr>
                  </thead>
                  <tbody>
                    ${data.hands.map(
                      (row) => html`
                        <tr key=${row.hand}>
                          <th scope="row"><code>${row.hand}</code></th>
                          <td>
                            ${data.actions
                              .map(({ name }) => [name, row[name]])
                              .filter(([, probability]) => probability > 0.0005)
                              .map(([name, probability]) => `${name} ${formatPercent(probability)}`)
                              .join(", ")}
                          </td>
                          <td class="num" title=${row.value}>${formatNumber(row.value)}</td>
                          <td class="num">${formatPercent(row.equity)}</td>
                          <td class="num" title=${row.regret}>${formatNumber(row.regret)}</td>
                        </tr>
                      `,
                    )}
                  </tbody>
                </table>
              </div>
            `
    }
  `;
}
