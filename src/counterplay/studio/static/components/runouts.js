// The next card: a deck coloured by EV or betting frequency, and the same numbers as a table.

import { requestUntilReady } from "../lib/api.js";
import { formatNumber, formatPercent } from "../lib/format.js";
import { ignoreAfterAbort } from "../lib/hooks.js";
import { html, useEffect, useState } from "../lib/preact.js";
import { POSITIONS } from "../lib/spots.js";
import { Deck } from "./board_picker.js";
import { ProgressMessage, Tabs } from "./common.js";
import { SortableHead, sortRows } from "./sortable_head.js";

const METRICS = [
  { key: "oop_ev", name: "OOP EV", value: (runout) => runout.values?.[0], text: formatNumber },
  { key: "ip_ev", name: "IP EV", value: (runout) => runout.values?.[1], text: formatNumber },
  {
    key: "oop_equity",
    name: "OOP equity",
    value: (runout) => runout.equities[0],
    text: formatPercent,
  },
  {
    key: "oop_bet",
    name: "OOP bets",
    value: (runout) => runout.oop_bet_frequency,
    text: formatPercent,
  },
  {
    key: "ip_bet",
    name: "IP bets after check",
    value: (runout) => runout.ip_bet_frequency,
    text: formatPercent,
  },
];

/**
 * The cards that can come after a line, with what the solution does on each.
 * @param {{ source: object, data: object, goToLine: (line: string) => void }} props
 */
export function Runouts({ source, data, goToLine }) {
  const [metricKey, setMetricKey] = useState("oop_ev");
  const [sort, setSort] = useState({ key: "oop_ev", isAscending: false });
  const [state, setState] = useState({});
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    setState({});
    requestUntilReady("POST", "/api/spot/runouts", {
      body: { ...source, record: data.record },
      signal,
      onProgress: ignoreAfterAbort(signal, (progress) => setState({ progress })),
    }).then(
      ignoreAfterAbort(signal, ({ runouts }) => setState({ runouts })),
      ignoreAfterAbort(signal, (error) => setState({ error })),
    );
    return () => controller.abort();
  }, [data.record, JSON.stringify(source)]);
  const { runouts, progress, error } = state;
  const metric = METRICS.find(({ key }) => key === metricKey);
  const byCard = new Map((runouts || []).map((runout) => [runout.card, runout]));
  const numbers = (runouts || []).map(metric.value).filter((x) => x !== undefined && x !== null);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const describe = (card) => {
    const runout = byCard.get(card);
    const value = runout && metric.value(runout);
    if (value === undefined || value === null) return {};
    const part = high > low ? (value - low) / (high - low) : 0.5;
    return {
      style: { "--part": part },
      text: metric.text(value),
      title: `${metric.name} ${metric.text(value)}`,
    };
  };
  const sorted = sortRows(runouts || [], METRICS, sort);
  return html`
    <h2>Next card</h2>
    ${
      runouts &&
      html`
        <${Tabs}
          label="Cards show"
          value=${metricKey}
          options=${METRICS.map(({ key, name }) => [key, name])}
          choose=${setMetricKey}
        />
      `
    }
    <${Deck}
      isDisabled=${(card) => !data.cards.includes(card)}
      choose=${(card) => goToLine(`${data.record}|${card}`)}
      describe=${describe}
    />
    ${!runouts && !error && html`<${ProgressMessage} progress=${progress} />`}
    ${error && html`<p class="muted small">${error.message}</p>`}
    ${
      runouts &&
      html`
        <details>
          <summary>All ${runouts.length} cards as a table</summary>
          <div class="scroll">
            <table class="hand-table">
              <thead>
                <tr>
                  <th scope="col">card</th>
                  <${SortableHead} columns=${METRICS} sort=${sort} setSort=${setSort} />
                </tr>
              </thead>
              <tbody>
                ${sorted.map(
                  (runout) => html`
                    <tr key=${runout.card}>
                      <th scope="row"><code>${runout.card}</code></th>
                      ${METRICS.map(({ key, value, text }) => {
                        const number = value(runout);
                        return html`
                          <td key=${key} class="num">
                            ${number === undefined || number === null ? "–" : text(number)}
                          </td>
                        `;
                      })}
                    </tr>
                  `,
                )}
              </tbody>
            </table>
          </div>
        </details>
      `
    }
    <p class="muted small">
      Darker cards are better for the number shown; ${POSITIONS[0]} acts first after the card.
    </p>
  `;
}
