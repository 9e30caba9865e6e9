// All hands of a decision as a table: sorted by any column, filtered by made hand, draw and cards.

import { seriesColour } from "../lib/colours.js";
import { formatNumber, formatPercent } from "../lib/format.js";
import { html, useState } from "../lib/preact.js";
import { SortableHead, sortRows } from "./sortable_head.js";

const PAGE_ROWS = 30;

const RANK_ORDER = "23456789TJQKA";
const handOrder = (hand) => 13 * RANK_ORDER.indexOf(hand[0]) + RANK_ORDER.indexOf(hand[2]);

/** Return true if a hand holds one of the cards or ranks of a text such as "Ah", "K" or "Ah Kd". */
function holdsCard(hand, text) {
  const words = text.match(/[2-9TJQKA][cdhs]?/gi) || [];
  return words.some((word) => {
    const card = word[0].toUpperCase() + (word[1] || "").toLowerCase();
    return card.length === 2 ? hand.includes(card) : hand[0] === card || hand[2] === card;
  });
}

const countValues = (rows, valuesOf) => {
  const counts = new Map();
  for (const row of rows) {
    for (const value of valuesOf(row)) counts.set(value, (counts.get(value) || 0) + row.weight);
  }
  return counts;
};

function FilterSelect({ label, counts, value, choose }) {
  return html`
    <label class="inline">
      <span>${label}</span>
      <select value=${value} onChange=${(event) => choose(event.target.value)}>
        <option value="">all</option>
        ${[...counts].map(
          ([name, combos]) => html`
            <option key=${name} value=${name}>${name} (${formatNumber(combos)})</option>
          `,
        )}
      </select>
    </label>
  `;
}

/**
 * The table of hands.
 * @param {{ data: object, cell: string }} props `cell` restricts the hands to one of the grid
 */
export function HandTable({ data, cell }) {
  const [filter, setFilter] = useState({ made: "", draw: "", holds: "", blocks: "" });
  const [sort, setSort] = useState({ key: "value", isAscending: false });
  const [numRows, setNumRows] = useState(PAGE_ROWS);
  const inCell = data.hands.filter((row) => !cell || row.cell === cell);
  const update = (patch) => {
    setFilter({ ...filter, ...patch });
    setNumRows(PAGE_ROWS);
  };
  const rows = inCell.filter(
    (row) =>
      (!filter.made || row.made === filter.made) &&
      (!filter.draw || row.draws.includes(filter.draw)) &&
      (!filter.holds.trim() || holdsCard(row.hand, filter.holds)) &&
      (!filter.blocks.trim() || !holdsCard(row.hand, filter.blocks)),
  );
  const versus = data.versus?.hands;
  const columns = [
    { key: "hand", name: "hand", value: (row) => handOrder(row.hand) },
    { key: "made", name: "made hand", value: (row) => row.made },
    { key: "draws", name: "draws", value: (row) => row.draws.join(", ") },
    { key: "weight", name: "combos", value: (row) => row.weight, text: (x) => formatNumber(x) },
    { key: "value", name: "EV", value: (row) => row.value, text: (x) => formatNumber(x) },
    ...(versus
      ? [
          {
            key: "change",
            name: "EV change",
            value: (row) => versus[row.hand],
            text: (x) => formatNumber(x),
          },
        ]
      : []),
    { key: "equity", name: "equity", value: (row) => row.equity, text: formatPercent },
    {
      key: "eqr",
      name: "EQR",
      value: (row) => row.eqr,
      text: (x) => (x === null ? "–" : formatPercent(x)),
    },
    { key: "regret", name: "regret", value: (row) => row.regret, text: (x) => formatNumber(x) },
    ...data.actions.map((action, index) => ({
      key: `action ${index}`,
      name: action.name,
      value: (row) => row.policy[index],
      text: (x, row) => html`${formatPercent(x)} <small>${formatNumber(row.values[index])}</small>`,
      colour: seriesColour(index),
    })),
  ];
  const sorted = sortRows(rows, columns, sort);
  const combos = rows.reduce((sum, row) => sum + row.weight, 0);
  const total = rows.reduce((sum, row) => sum + row.share, 0);
  const meanOf = (key) =>
    total > 0 ? rows.reduce((sum, row) => sum + row.share * row[key], 0) / total : NaN;
  return html`
    <div class="toolbar">
      <${FilterSelect}
        label="made hand"
        counts=${countValues(inCell, (row) => [row.made])}
        value=${filter.made}
        choose=${(made) => update({ made })}
      />
      <${FilterSelect}
        label="draw"
        counts=${countValues(inCell, (row) => row.draws)}
        value=${filter.draw}
        choose=${(draw) => update({ draw })}
      />
      <label class="inline">
        <span>holds</span>
        <input
          value=${filter.holds}
          placeholder="Ah or K"
          onInput=${(event) => update({ holds: event.target.value })}
        />
      </label>
      <label class="inline">
        <span>does not hold</span>
        <input
          value=${filter.blocks}
          placeholder="blocker"
          onInput=${(event) => update({ blocks: event.target.value })}
        />
      </label>
      <span class="muted small" role="status">
        ${formatNumber(combos, 4)} combos, EV ${formatNumber(meanOf("value"))}, equity${" "}
        ${total > 0 ? formatPercent(meanOf("equity")) : "–"}
      </span>
    </div>
    <div class="scroll">
      <table class="hand-table">
        <thead>
          <tr>
            <${SortableHead} columns=${columns} sort=${sort} setSort=${setSort} />
          </tr>
        </thead>
        <tbody>
          ${sorted.slice(0, numRows).map(
            (row) => html`
              <tr key=${row.hand}>
                ${columns.map(({ key, value, text }) =>
                  key === "hand"
                    ? html`<th key=${key} scope="row"><code>${row.hand}</code></th>`
                    : html`
                        <td key=${key} class=${text ? "num" : ""} title=${text ? value(row) : ""}>
                          ${text ? text(value(row), row) : value(row)}
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
      !rows.length &&
      html`<p class="muted">${inCell.length ? "No hand matches." : "Not in the range here."}</p>`
    }
    ${
      rows.length > numRows &&
      html`
        <button class="quiet" onClick=${() => setNumRows(numRows + PAGE_ROWS)}>
          Show ${Math.min(PAGE_ROWS, rows.length - numRows)} more of ${rows.length}
        </button>
      `
    }
  `;
}
