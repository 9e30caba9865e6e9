// What the searches of an opponent have computed, decision by decision.

import { formatNumber, formatPercent, playerName } from "../lib/format.js";
import { html } from "../lib/preact.js";

const formatCell = (column, value) => {
  if (value === null) return "–";
  if (column === "visits") return value.toLocaleString("en");
  return /probability|policy|blueprint$/.test(column) ? formatPercent(value) : formatNumber(value);
};

/**
 * Tables of visits, values and ranges for each decision of an opponent that searched.
 * @param {{ history: any[], seat: number }} props the steps of a finished episode
 */
export function SearchDetails({ history, seat }) {
  const decisions = history.filter((step) => step.search);
  if (!decisions.length) return null;
  return html`
    <section class="search-details">
      <h2>The opponent's searches</h2>
      ${decisions.map(
        (step, index) => html`
          <details key=${index} open=${index === 0}>
            <summary>
              ${playerName(step.player)}: <b>${step.name}</b>${" "}
              <small class="muted">
                ${Object.entries(step.search.facts)
                  .map(([name, value]) => `${name} ${value}`)
                  .join(", ")}
              </small>
            </summary>
            <${ActionTable} search=${step.search} taken=${step.name} />
            <div class="search-ranges">
              ${step.search.ranges.map(
                (range) => html`<${RangeTable} key=${range.player} range=${range} seat=${seat} />`,
              )}
            </div>
          </details>
        `,
      )}
    </section>
  `;
}

function ActionTable({ search, taken }) {
  return html`
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">action</th>
            ${search.columns.map((column) => html`<th scope="col" class="num">${column}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${search.rows.map(
            ([name, numbers], index) => html`
              <tr key=${index}>
                <th scope="row">${name === taken ? html`<b>${name}</b>` : name}</th>
                ${numbers.map(
                  (value, column) => html`
                    <td class="num" title=${value}>
                      ${formatCell(search.columns[column], value)}
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

function RangeTable({ range, seat }) {
  const owner = range.player === seat ? "your range" : `range of ${playerName(range.player)}`;
  return html`
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">${owner}</th>
            <th scope="col" class="num">probability</th>
            ${range.value && html`<th scope="col" class="num">${range.value}</th>`}
          </tr>
        </thead>
        <tbody>
          ${range.rows.map(
            ([key, probability, value], index) => html`
              <tr key=${index}>
                <th scope="row"><code>${key || "(nothing yet)"}</code></th>
                <td class="num" title=${probability}>
                  <meter min="0" max="1" value=${probability} aria-hidden="true"></meter>${" "}
                  ${formatPercent(probability)}
                </td>
                ${range.value && html`<td class="num">${formatCell("value", value)}</td>`}
              </tr>
            `,
          )}
        </tbody>
      </table>
      ${range.rest > 0 && html`<p class="muted small">${range.rest} less likely ones</p>`}
    </div>
  `;
}
