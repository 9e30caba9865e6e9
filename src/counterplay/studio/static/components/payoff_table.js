// The payoff table of a game of two players, which can be edited.

import { adjacentCell } from "../lib/focus.js";
import { formatNumber, formatPercent } from "../lib/format.js";
import { html } from "../lib/preact.js";

/** Rows or columns; larger tables are read-only. */
export const MAX_EDITABLE_SIZE = 14;

/**
 * The table, with best responses, dominated actions and the first equilibrium.
 * @param {{ data: object, edit: (utility: number[][][], names: string[][]) => void }} props `data`
 *   of the game, as the server sends it
 */
export function PayoffTable({ data, edit }) {
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
  const setPayoff = (player, i, j) => (event) => {
    const text = event.target.value;
    const number = Number(text);
    if (text === "" || !Number.isFinite(number)) return;
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
                                    onChange=${setPayoff(player, i, j)}
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
