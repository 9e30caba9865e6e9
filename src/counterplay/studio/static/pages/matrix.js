// Games in normal form: an editable payoff table, dominance and equilibria.

import { CommandLineHint, ErrorMessage, Tabs } from "../components/common.js";
import { LearnerPaths } from "../components/learner_paths.js";
import { post } from "../lib/api.js";
import { adjacentCell } from "../lib/focus.js";
import { formatNumber, formatPercent, gameTitle, quoteForShell } from "../lib/format.js";
import { ignoreAfterAbort } from "../lib/hooks.js";
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { updateQuery, useLocation } from "../lib/router.js";

const EXAMPLE_GAMES = [
  "chicken",
  "prisoners_dilemma",
  "battle_of_the_sexes",
  "matching_pennies",
  "rock_paper_scissors",
  "shapleys_game",
  "king_ace_poker",
  "kuhn_poker",
];

// Rounding errors count as 0.
const formatPayoff = (payoff) => formatNumber(Math.abs(payoff) < 1e-12 ? 0 : payoff);

// A game to start from: each player gets 1 or 0.
const NEW_GAME = {
  utility: [
    [
      [1, 0],
      [0, 1],
    ],
    [
      [1, 0],
      [0, 1],
    ],
  ],
  names: [
    ["up", "down"],
    ["left", "right"],
  ],
};

const MAX_EDITABLE_SIZE = 14; // larger tables are read-only

/** Return the edited game in an address, { u: utility, n: names }; null if there is none. */
function parseMatrix(text) {
  try {
    return text && JSON.parse(text);
  } catch {
    return null;
  }
}

/** The page of normal-form games. */
export function Matrix() {
  const { query } = useLocation();
  const game = query.get("game") || "chicken";
  const matrixText = query.get("m");
  const learner = query.get("learner");
  const [state, setState] = useState({});
  const controller = useRef(null);
  const solveGame = (body) => {
    controller.current?.abort();
    controller.current = new AbortController();
    setState((previous) => ({ ...previous, busy: true, error: null }));
    const { signal } = controller.current;
    post("/api/matrix", body, { signal }).then(
      ignoreAfterAbort(signal, (data) => setState({ data })),
      ignoreAfterAbort(signal, (error) => setState({ error })),
    );
  };
  const editedGame = parseMatrix(matrixText);
  const body = editedGame ? { utility: editedGame.u, names: editedGame.n } : { game };
  useEffect(() => {
    solveGame(body);
    return () => controller.current?.abort();
  }, [game, matrixText]);
  const { data, error, busy } = state;
  const chooseGame = (name) => name && updateQuery({ game: name, m: "" });
  const edit = (utility, names) =>
    updateQuery({ m: JSON.stringify({ u: utility, n: names }) }, { replace: true });
  return html`
    <div class="head">
      <h1>Matrix</h1>
      <span class="grow"></span>
      <label class="inline">
        game${" "}
        <select
          value=${EXAMPLE_GAMES.includes(game) && !matrixText ? game : ""}
          onChange=${(event) => chooseGame(event.target.value)}
        >
          <option value="">${matrixText ? "edited" : game}</option>
          ${EXAMPLE_GAMES.map(
            (name) => html`<option key=${name} value=${name}>${gameTitle(name)}</option>`,
          )}
        </select>
      </label>
      ${
        data &&
        html`
          <button
            onClick=${() => edit(NEW_GAME.utility, NEW_GAME.names)}
          >
            New
          </button>
        `
      }
    </div>
    <${ErrorMessage} error=${error} retry=${() => solveGame(body)} />
    ${
      busy &&
      html`
        <div class="working" role="status">
          <p>Solving …</p>
          <progress aria-label="solving"></progress>
          <button
            onClick=${() => {
              controller.current?.abort();
              setState({});
            }}
          >
            Cancel
          </button>
        </div>
      `
    }
    ${
      data &&
      html`
        <p class="subtitle">
          ${data.players} players, ${data.actions.join(" × ")} actions, ${data.sum}-sum
        </p>
        ${
          data.players === 2
            ? html`<${PayoffTable} data=${data} edit=${edit} />`
            : html`<p class="muted">The payoff table is shown for two players only.</p>`
        }
        <${EquilibriumTables} data=${data} />
        <${LearnerPaths} body=${body} data=${data} />
      `
    }
    <${CommandLineHint}>
      counterplay matrix ${quoteForShell(game)}${learner ? ` --learner ${learner}` : ""}
    </${CommandLineHint}>
  `;
}

function PayoffTable({ data, edit }) {
  const [rows, columns] = data.action_names;
  const [rowPayoffs, columnPayoffs] = data.utility;
  const isEditable = rows.length <= MAX_EDITABLE_SIZE && columns.length <= MAX_EDITABLE_SIZE;
  const eliminationSteps = (player) =>
    new Map(
      (data.elimination || [])
        .map((entry, index) => [entry, index])
        .filter(([entry]) => entry.player === player)
        .map(([entry, index]) => [entry.action, index + 1]),
    );
  const dominatedRows = eliminationSteps(0);
  const dominatedColumns = eliminationSteps(1);
  const isDominated = (row, column) => dominatedRows.has(row) || dominatedColumns.has(column);
  const describeStep = (step) => (step ? `dominated, step ${step}` : undefined);
  const isBest = (player, i, j) =>
    player === 0
      ? rowPayoffs[i][j] === bestRowPayoffs[j]
      : columnPayoffs[i][j] === bestColumnPayoffs[i];
  const bestRowPayoffs = columns.map((_, j) => Math.max(...rows.map((_, i) => rowPayoffs[i][j])));
  const bestColumnPayoffs = rows.map((_, i) => Math.max(...columnPayoffs[i]));
  const equilibrium = data.nash?.equilibria?.[0]?.policies;
  const setPayoff = (player, i, j, value) => {
    const number = Number(value);
    if (value === "" || !Number.isFinite(number)) return;
    const utility = data.utility.map((table) => table.map((row) => [...row]));
    utility[player][i][j] = number;
    edit(utility, data.action_names);
  };
  const paste = (player, i, j) => (event) => {
    const lines = event.clipboardData
      .getData("text")
      .trim()
      .split(/\r?\n/)
      .map((line) => line.split(/[\t,;]/).map(Number));
    if (lines.length === 1 && lines[0].length === 1) return;
    event.preventDefault();
    const utility = data.utility.map((table) => table.map((row) => [...row]));
    lines.forEach((line, y) =>
      line.forEach((payoff, x) => {
        if (Number.isFinite(payoff) && utility[player][i + y]?.[j + x] !== undefined) {
          utility[player][i + y][j + x] = payoff;
        }
      }),
    );
    edit(utility, data.action_names);
  };
  const onKeyDown = (event) => {
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    const cell = event.target.closest("td");
    const player = [...cell.querySelectorAll("input")].indexOf(event.target);
    adjacentCell(cell, event.key)?.querySelectorAll("input")[player]?.focus();
    event.preventDefault();
  };
  const resize = (player, isLarger) => {
    const utility = data.utility.map((table) =>
      player === 0
        ? isLarger
          ? [...table, table[0].map(() => 0)]
          : table.slice(0, -1)
        : table.map((row) => (isLarger ? [...row, 0] : row.slice(0, -1))),
    );
    const names = data.action_names.map((list, listPlayer) =>
      listPlayer !== player
        ? list
        : isLarger
          ? [...list, `${player ? "c" : "r"}${list.length}`]
          : list.slice(0, -1),
    );
    if (names[player].length) edit(utility, names);
  };
  return html`
    <section class="card">
      <div class="scroll">
        <table class="matrix">
          <thead>
            <tr>
              <td></td>
              ${columns.map(
                (name, j) => html`
                  <th
                    scope="col"
                    key=${j}
                    class=${dominatedColumns.has(name) ? "dominated" : ""}
                    title=${describeStep(dominatedColumns.get(name))}
                  >
                    ${name}${
                      equilibrium && html`<small>${formatPercent(equilibrium[1][j])}</small>`
                    }
                  </th>
                `,
              )}
            </tr>
          </thead>
          <tbody>
            ${rows.map(
              (name, i) => html`
                <tr key=${i}>
                  <th
                    scope="row"
                    class=${dominatedRows.has(name) ? "dominated" : ""}
                    title=${describeStep(dominatedRows.get(name))}
                  >
                    ${name}${
                      equilibrium && html`<small>${formatPercent(equilibrium[0][i])}</small>`
                    }
                  </th>
                  ${columns.map(
                    (other, j) => html`
                      <td
                        key=${j}
                        class=${isDominated(name, other) ? "dominated" : ""}
                      >
                        ${
                          isEditable
                            ? [rowPayoffs, columnPayoffs].map(
                                (table, player) => html`
                                  <input
                                    key=${player}
                                    inputmode="decimal"
                                    class=${isBest(player, i, j) ? "best" : ""}
                                    value=${table[i][j]}
                                    aria-label="Player ${player}, ${name}, ${other}"
                                    onChange=${(event) => setPayoff(player, i, j, event.target.value)}
                                    onPaste=${paste(player, i, j)}
                                    onKeyDown=${onKeyDown}
                                  />
                                `,
                              )
                            : html`
                                <span class=${isBest(0, i, j) ? "best" : ""}>
                                  ${formatNumber(rowPayoffs[i][j])}</span
                                >,${" "}
                                <span class=${isBest(1, i, j) ? "best" : ""}>
                                  ${formatNumber(columnPayoffs[i][j])}
                                </span>
                              `
                        }
                      </td>
                    `,
                  )}
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
      ${
        isEditable &&
        html`
          <p class="actions">
            <button onClick=${() => resize(0, true)}>Add row</button>
            <button onClick=${() => resize(0, false)}>Remove row</button>
            <button onClick=${() => resize(1, true)}>Add column</button>
            <button onClick=${() => resize(1, false)}>Remove column</button>
          </p>
        `
      }
      <p class="muted small">
        Underlined: best responses. Struck through: dominated actions. Below the names: the first
        equilibrium. Cells can be edited, and accept pasted tables.
      </p>
    </section>
  `;
}

const CORRELATED_KINDS = [
  ["correlated", "correlated"],
  ["coarse_correlated", "coarse"],
];

function EquilibriumTables({ data }) {
  const [kind, setKind] = useState("correlated");
  const formatMixture = (names, weights) =>
    weights
      .map((probability, index) => [probability, names[index]])
      .filter(([probability]) => probability > 0)
      .map(([probability, name]) => `${name} ${formatPercent(probability)}`)
      .join(", ");
  const welfareMaximum = data[kind]?.[0];
  return html`
    <section class="card">
      <h2>Nash equilibria</h2>
      <p class="muted small">${data.nash.method.replace(/_/g, " ")}: ${data.nash.note}</p>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              ${data.action_names.map(
                (_, player) => html`<th scope="col" key=${player}>player ${player}</th>`,
              )}
              <th scope="col" class="num">values</th>
            </tr>
          </thead>
          <tbody>
            ${data.nash.equilibria.slice(0, 40).map(
              (entry, index) => html`
                <tr key=${index}>
                  ${entry.policies.map(
                    (weights, player) => html`<td key=${player}>
                      ${formatMixture(data.action_names[player], weights)}
                    </td>`,
                  )}
                  <td class="num">${entry.values.map(formatPayoff).join(", ")}</td>
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
    </section>
    ${
      data.elimination?.length > 0 &&
      html`
        <section class="card">
          <h2>Dominated actions</h2>
          <ol>
            ${data.elimination.map(
              (entry, index) => html`
                <li key=${index}>
                  player ${entry.player}: <b>${entry.action}</b> by ${Object.entries(entry.by)
                    .map(([name, probability]) =>
                      probability > 0.9995 ? name : `${name} ${formatPercent(probability)}`,
                    )
                    .join(" and ")}
                </li>
              `,
            )}
          </ol>
        </section>
      `
    }
    ${
      welfareMaximum &&
      html`
        <section class="card">
          <div class="head">
            <h2>Correlated equilibria</h2>
            <span class="grow"></span>
            <${Tabs} label="Kind" value=${kind} options=${CORRELATED_KINDS} choose=${setKind} />
          </div>
          <div class="scroll">
            <table>
              <thead>
                <tr>
                  <th scope="col">objective</th>
                  <th scope="col">values</th>
                </tr>
              </thead>
              <tbody>
                ${data[kind].map(
                  (entry) => html`
                    <tr key=${entry.objective}>
                      <td>${entry.objective}</td>
                      <td>${entry.values.map(formatPayoff).join(", ")}</td>
                    </tr>
                  `,
                )}
              </tbody>
            </table>
          </div>
          ${
            data.players === 2 &&
            data.action_names[0].length <= MAX_EDITABLE_SIZE &&
            data.action_names[1].length <= MAX_EDITABLE_SIZE &&
            html`
              <h3>Joint distribution of the equilibrium with maximal welfare</h3>
              <div class="scroll">
                <table class="joint-table">
                  <tbody>
                    ${welfareMaximum.joint.map(
                      (row, i) => html`
                        <tr key=${i}>
                          <th scope="row">${data.action_names[0][i]}</th>
                          ${row.map(
                            (probability, j) => html`
                              <td
                                key=${j}
                                style=${{ "--part": probability }}
                                title="${data.action_names[0][i]}, ${data.action_names[1][j]}"
                              >
                                ${probability > 0 ? formatPercent(probability) : ""}
                              </td>
                            `,
                          )}
                        </tr>
                      `,
                    )}
                  </tbody>
                </table>
              </div>
            `
          }
        </section>
      `
    }
    ${data.skipped?.length > 0 && html`<p class="notice">${data.skipped.join("; ")}</p>`}
  `;
}
