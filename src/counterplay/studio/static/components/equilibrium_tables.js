// Nash and correlated equilibria of a normal-form game, and its dominated actions.

import { formatNumber, formatPercent } from "../lib/format.js";
import { html, useState } from "../lib/preact.js";
import { Tabs } from "./common.js";
import { MAX_EDITABLE_SIZE } from "./payoff_table.js";

const CORRELATED_KINDS = [
  ["correlated", "correlated"],
  ["coarse_correlated", "coarse"],
];

// Rounding errors count as 0.
const formatPayoff = (payoff) => formatNumber(Math.abs(payoff) < 1e-12 ? 0 : payoff);

/**
 * The tables of equilibria.
 * @param {{ data: object }} props `data` of the game, as the server sends it
 */
export function EquilibriumTables({ data }) {
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
