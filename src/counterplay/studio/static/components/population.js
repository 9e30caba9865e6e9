// The population of a run: payoffs between its policies, and the mixture at each iteration.

import { formatNumber, formatPercent } from "../lib/format.js";
import { useApi } from "../lib/hooks.js";
import { html } from "../lib/preact.js";
import { ErrorMessage } from "./common.js";

const MAX_LABELLED_CELLS = 12; // rows or columns; cells of larger tables have no text

const MAX_ITERATIONS = 60; // the last ones
const MIN_SHOWN_WEIGHT = 0.005;
const MAX_SHOWN = 40; // rows or columns

/**
 * Payoffs and mixtures of a population.
 * @param {{ id: string, version: number }} props `version` changes with every checkpoint
 */
export function Population({ id, version }) {
  const { data, error } = useApi(`/api/runs/${id}/population?v=${version}`);
  if (error) {
    return html`
      <section class="card">
        <h2>Population</h2>
        <${ErrorMessage} error=${error} />
      </section>
    `;
  }
  if (!data) {
    return html`
      <section class="card">
        <h2>Population</h2>
        <p class="muted" role="status">Loading …</p>
      </section>
    `;
  }
  const rows = data.payoffs.length;
  const columns = data.payoffs[0].length;
  const maxPayoff = Math.max(...data.payoffs.flat().map(Math.abs), 1e-300);
  const formatWeight = (probability) => {
    if (columns <= MAX_LABELLED_CELLS) return formatPercent(probability);
    return probability > 0.0005 ? "•" : "";
  };
  const lastMixtures = data.mixtures.map((list) => list.at(-1));
  const showsNumbers = rows <= MAX_LABELLED_CELLS && columns <= MAX_LABELLED_CELLS;
  return html`
    <section class="card">
      <h2>Population</h2>
      <p>
        ${rows} policies of player 0 against ${columns} of player
        1${data.players > 2 ? ", the others with their last mixture" : ""}: EV of player 0
        for each pair. ${data.ending && `It ${data.ending}.`}
      </p>
      <div class="two">
        <div class="scroll" tabindex="0" role="group" aria-label="Payoffs">
          <table class="payoffs">
            <thead>
              <tr>
                <td></td>
                ${data.payoffs[0]
                  .slice(0, MAX_SHOWN)
                  .map(
                    (_, j) => html`<th scope="col" key=${j}>${j}</th>`,
                  )}${!data.united && html`<th scope="col">mixture</th>`}
              </tr>
            </thead>
            <tbody>
              ${data.payoffs.slice(0, MAX_SHOWN).map(
                (row, i) => html`
                  <tr key=${i}>
                    <th scope="row">${i}</th>
                    ${row.slice(0, MAX_SHOWN).map(
                      (value, j) => html`
                        <td
                          key=${j}
                          class=${value < 0 ? "minus" : ""}
                          style=${{ "--part": Math.abs(value) / maxPayoff }}
                          title="policy ${i} against ${j}: ${value}"
                        >
                          ${showsNumbers ? formatNumber(value, 2) : ""}
                        </td>
                      `,
                    )}${
                      !data.united &&
                      html`
                        <th scope="row" title=${lastMixtures[0][i]}>
                          ${formatPercent(lastMixtures[0][i])}
                        </th>
                      `
                    }
                  </tr>
                `,
              )}
              ${
                !data.united &&
                html`
                  <tr>
                    <th scope="row">mixture</th>
                    ${lastMixtures[1].slice(0, MAX_SHOWN).map(
                      (probability, j) => html`
                        <th scope="col" key=${j} title=${probability}>
                          ${formatWeight(probability)}
                        </th>
                      `,
                    )}
                    <td></td>
                  </tr>
                `
              }
            </tbody>
          </table>
        </div>
        <${MixtureHistory} mixtures=${data.mixtures} unit=${data.united ? "action" : "policy"} />
      </div>
      ${
        (rows > MAX_SHOWN || columns > MAX_SHOWN) &&
        html`<p class="muted small">The first ${MAX_SHOWN} of each.</p>`
      }
      <details class="data-table">
        <summary>Payoffs as numbers</summary>
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">policy of player 0</th>
                <th scope="col">of player 1</th>
                <th scope="col" class="num">EV of player 0</th>
              </tr>
            </thead>
            <tbody>
              ${data.payoffs.slice(0, MAX_LABELLED_CELLS).flatMap((row, i) =>
                row.slice(0, MAX_LABELLED_CELLS).map(
                  (value, j) => html`
                    <tr key=${`${i} ${j}`}>
                      <td>${i}</td>
                      <td>${j}</td>
                      <td class="num">${value}</td>
                    </tr>
                  `,
                ),
              )}
            </tbody>
          </table>
        </div>
      </details>
    </section>
  `;
}

/** One column per iteration, one row per policy or action; darker cells have more weight. */
function MixtureHistory({ mixtures, unit }) {
  return html`
    <div>
      ${mixtures.map((history, player) => {
        const iterations = history.slice(-MAX_ITERATIONS);
        const offset = history.length - iterations.length;
        const numRows = Math.min(history.at(-1).length, MAX_SHOWN);
        return html`
          <figure key=${player} class="chart">
            <figcaption class="small">
              ${unit === "action" ? "Action frequencies" : "Mixture"} of player ${player} by
              iteration${offset ? `, from ${offset + 1}` : ""}
            </figcaption>
            <svg
              class="mixtures"
              viewBox="0 0 ${10 * iterations.length} ${10 * numRows}"
              preserveAspectRatio="none"
              role="img"
              aria-label="The last mixture of player ${player}: ${history
                .at(-1)
                .map((probability, index) => [probability, index])
                .filter(([probability]) => probability > MIN_SHOWN_WEIGHT)
                .map(([probability, index]) => `${unit} ${index} ${formatPercent(probability)}`)
                .slice(0, MAX_SHOWN)
                .join(", ")}"
            >
              ${iterations.map(
                (mixture, iteration) => html`
                  <g key=${iteration}>
                    ${mixture.slice(0, MAX_SHOWN).map(
                      (probability, index) =>
                        probability > MIN_SHOWN_WEIGHT &&
                        html`
                          <rect
                            key=${index}
                            x=${10 * iteration}
                            y=${10 * index}
                            width="10"
                            height="10"
                            fill="var(--accent)"
                            fill-opacity=${probability.toFixed(3)}
                          />
                        `,
                    )}
                  </g>
                `,
              )}
            </svg>
          </figure>
        `;
      })}
    </div>
  `;
}
