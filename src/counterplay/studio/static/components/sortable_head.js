// The head of a table that is sorted by the column whose name is clicked.

import { html } from "../lib/preact.js";

/**
 * Return rows in the order of one column; missing numbers count as the smallest.
 * @param {object[]} rows
 * @param {{ key: string, value: (row: object) => string | number }[]} columns
 * @param {{ key: string, isAscending: boolean }} sort the first column is used for unknown keys
 */
export function sortRows(rows, columns, sort) {
  const { value } = columns.find(({ key }) => key === sort.key) || columns[0];
  return rows.toSorted((first, second) => {
    const [a, b] = [value(first), value(second)];
    const order = typeof a === "string" ? a.localeCompare(b) : (a ?? -Infinity) - (b ?? -Infinity);
    return sort.isAscending ? order : -order;
  });
}

/**
 * The cells of a head. A column with `text` holds numbers; one with `colour` has a swatch.
 * @param {{ columns: object[], sort: { key: string, isAscending: boolean },
 *   setSort: (sort: object) => void }} props
 */
export function SortableHead({ columns, sort, setSort }) {
  const direction = sort.isAscending ? "ascending" : "descending";
  return columns.map(({ key, name, text, colour }) => {
    const isSorted = sort.key === key;
    return html`
      <th
        key=${key}
        scope="col"
        class=${text ? "num" : ""}
        aria-sort=${isSorted ? direction : "none"}
      >
        <button
          class="quiet"
          onClick=${() => setSort({ key, isAscending: isSorted && !sort.isAscending })}
        >
          ${colour && html`<i class="swatch" style=${{ background: colour }}></i>`}
          ${name}${isSorted ? (sort.isAscending ? " ↑" : " ↓") : ""}
        </button>
      </th>
    `;
  });
}
