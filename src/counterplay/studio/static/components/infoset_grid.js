// The policy at the infosets of one public history, as bars or as numbers.

import { policyGradient, seriesColour } from "../lib/colours.js";
import { adjacentCell } from "../lib/focus.js";
import {
  describePolicy,
  formatCount,
  formatNumber,
  formatPercent,
  playerName,
} from "../lib/format.js";
import { useApi } from "../lib/hooks.js";
import { html } from "../lib/preact.js";
import { updateQuery, useLocation } from "../lib/router.js";
import { ErrorMessage, Tabs } from "./common.js";

/** What cells can show: key and name. */
export const CELL_MODES = [
  ["policy", "policy"],
  ["value", "EV"],
  ["loss", "regret"],
  ["reach", "reach"],
  ["difference", "difference"],
];

const CELL_MODE_NAMES = new Map(CELL_MODES);
const MAX_BAR_PIXELS = 22;
const MAX_LEGEND_ACTIONS = 14;
const MAX_MIXTURE_ACTIONS = 12;
const MIN_SHOWN_FREQUENCY = 0.0005;
const SMALLEST_MAXIMUM = 1e-300; // avoids a division by 0

// Cards are sorted by rank, numbers by size, other names by length and letter.
const CARD_RANKS = "23456789TJQKA";

function rankSortKey(text) {
  if (!/^([2-9TJQKA][shdc]?)+$/.test(text)) return text;
  const order = CARD_RANKS + "shdc";
  return [...text].map((symbol) => String.fromCharCode(97 + order.indexOf(symbol))).join("");
}

const compareNaturally = (a, b) =>
  a.length - b.length || (rankSortKey(a) < rankSortKey(b) ? -1 : 1);

/** Total variation distance between the policy of a cell and the other policy. */
const policyDistance = (cell) =>
  cell.policy.reduce(
    (sum, probability, index) =>
      sum + Math.abs(probability - (cell.versus?.[index] ?? probability)),
    0,
  ) / 2;

const likeliestAction = (cell) =>
  cell.policy.reduce(
    (best, probability, index) => (probability > cell.policy[best] ? index : best),
    0,
  );

/** Return text, style and class of a cell; `maxima` of the grid scale the bars and colours. */
function cellAppearance(cell, mode, actions, maxima) {
  if (mode === "policy" && cell.reach > 0) {
    const action = likeliestAction(cell);
    const barHeight = Math.max(MAX_BAR_PIXELS * Math.sqrt(cell.reach / maxima.reach), 3);
    return {
      text: `${cell.names[action]} ${formatPercent(cell.policy[action])}`,
      style: {
        backgroundImage: policyGradient(cell.names, actions, cell.policy),
        backgroundSize: `100% ${barHeight}px`,
      },
      className: "policy-bar",
    };
  }
  if (mode === "policy") {
    return { text: "not reached", style: {}, className: "policy-bar unreached" };
  }
  const [value, fraction] = {
    value: [cell.value, Math.abs(cell.value) / maxima.value],
    loss: [cell.loss, cell.loss / maxima.loss],
    reach: [cell.reach, cell.reach / maxima.reach],
    difference: [policyDistance(cell), policyDistance(cell)],
  }[mode];
  return {
    text: formatNumber(value),
    style: { "--part": Math.min(Math.max(fraction || 0, 0), 1) },
    className: `heat ${mode === "value" && value < 0 ? "minus" : ""}`,
  };
}

/**
 * The grid of the next decision at or below a node.
 * @param {{ policyQuery: URLSearchParams, node: number, goToNode: (node: number) => void,
 *   mode: string, view: object, otherPolicy: string }} props `mode` is a key of `CELL_MODES`
 */
export function InfosetGrid({ policyQuery, node, goToNode, mode, view, otherPolicy }) {
  const { query } = useLocation();
  const start = Number(query.get("cells") || 0);
  const { data, error, reload } = useApi(
    `/api/explore/grid?${policyQuery}&node=${node}&start=${start}`,
  );
  if (error) return html`<${ErrorMessage} error=${error} retry=${reload} />`;
  if (!data) return html`<p class="muted">…</p>`;
  if (!data.cells.length) return html`<p class="muted">There is no decision below this node.</p>`;
  const modes = otherPolicy ? CELL_MODES : CELL_MODES.slice(0, -1);
  const shownMode = modes.some(([key]) => key === mode) ? mode : "policy";
  const maxima = {
    reach: Math.max(...data.cells.map((cell) => cell.reach), SMALLEST_MAXIMUM),
    loss: Math.max(...data.cells.map((cell) => cell.loss), SMALLEST_MAXIMUM),
    value: Math.max(...data.cells.map((cell) => Math.abs(cell.value)), SMALLEST_MAXIMUM),
  };
  const columns = [...new Set(data.cells.map((cell) => cell.column))].sort(compareNaturally);
  const isList = columns.length === 1 && columns[0] === "";
  const rows = [...new Set(data.cells.map((cell) => cell.row))].sort(compareNaturally);
  const childForAction = (name) =>
    view.infoset?.number === data.here && view.children.find((child) => child.name === name);
  const frequentActions = data.actions
    .filter((name) => data.mixture[name] > MIN_SHOWN_FREQUENCY)
    .slice(0, MAX_MIXTURE_ACTIONS);
  return html`
    <div class="grid-head">
      <p>
        <b class="p${data.player}">${playerName(data.player)}</b>
        ${data.panel ? html`${" "}after <code>${data.panel}</code>` : ""}${
          data.node !== node
            ? html`
                ${" "}
                <small class="muted">next decision below this node</small>
              `
            : ""
        }
      </p>
      <${Tabs}
        label="Cells show"
        value=${shownMode}
        options=${modes}
        choose=${(key) => updateQuery({ mode: key === "policy" ? "" : key })}
      />
    </div>
    <div class="mixture" role="group" aria-label="Average policy of these infosets">
      ${frequentActions.map(
        (name) => html`
          <button
            key=${name}
            title="${name} ${formatPercent(data.mixture[name])}"
            style=${{
              flexGrow: data.mixture[name],
              background: seriesColour(data.actions.indexOf(name)),
            }}
            disabled=${!childForAction(name)}
            onClick=${() => goToNode(childForAction(name).node)}
            aria-label="${name} ${formatPercent(data.mixture[name])}"
          ></button>
        `,
      )}
    </div>
    <p class="legend">
      ${data.actions.slice(0, MAX_LEGEND_ACTIONS).map(
        (name, index) => html`
          <span key=${name}>
            <i style=${{ background: seriesColour(index) }}></i>
            ${name} <small>${formatPercent(data.mixture[name])}</small>
          </span>
        `,
      )}${
        data.actions.length > MAX_LEGEND_ACTIONS &&
        html`<span>and ${data.actions.length - MAX_LEGEND_ACTIONS} more</span>`
      }
      <span class="muted">
        EV ${formatNumber(data.value)}, regret ${formatNumber(data.loss)}
      </span>
    </p>
    <div class="scroll">
      ${
        isList
          ? html`<${GridList}
              data=${data}
              mode=${shownMode}
              maxima=${maxima}
              goToNode=${goToNode}
            />`
          : html`
              <${GridTable}
                data=${data}
                rows=${rows}
                columns=${columns}
                mode=${shownMode}
                maxima=${maxima}
                goToNode=${goToNode}
              />
            `
      }
    </div>
    ${
      data.total > data.cells.length &&
      html`
        <p class="pager">
          ${
            start > 0 &&
            html`
              <button onClick=${() => updateQuery({ cells: Math.max(start - data.page, 0) || "" })}>
                previous
              </button>
            `
          }
          <small class="muted">
            ${formatCount(data.start + 1)} to${" "}
            ${formatCount(data.start + data.cells.length)} of ${formatCount(data.total)} infosets
          </small>
          ${
            data.start + data.cells.length < data.total &&
            html`
              <button onClick=${() => updateQuery({ cells: data.start + data.cells.length })}>
                next
              </button>
            `
          }
        </p>
      `
    }
  `;
}

function GridList({ data, mode, maxima, goToNode }) {
  return html`
    <table class="grid flat">
      <thead>
        <tr>
          <th scope="col">infoset</th>
          <th scope="col">${CELL_MODE_NAMES.get(mode)}</th>
          <th scope="col" class="num">reach</th>
          <th scope="col" class="num">EV</th>
          <th scope="col" class="num">regret</th>
        </tr>
      </thead>
      <tbody>
        ${data.cells.map((cell) => {
          const { text, style, className } = cellAppearance(cell, mode, data.actions, maxima);
          return html`
            <tr key=${cell.infoset} class=${cell.infoset === data.here ? "current" : ""}>
              <th scope="row">
                <button class="quiet" onClick=${() => goToNode(cell.node)}>
                  ${cell.row || cell.key || "(empty)"}
                </button>
              </th>
              <td
                class="cell ${className}"
                style=${style}
                title=${describePolicy(cell.names, cell.policy)}
                onClick=${() => goToNode(cell.node)}
              >
                ${text}
              </td>
              <td class="num">${formatNumber(cell.reach)}</td>
              <td class="num">${formatNumber(cell.value)}</td>
              <td class="num">${formatNumber(cell.loss)}</td>
            </tr>
          `;
        })}
      </tbody>
    </table>
  `;
}

/** Arrow keys move the focus between cells; Enter and the space bar open the cell's node. */
function onCellKeyDown(event, openCell) {
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    openCell();
    return;
  }
  const next = adjacentCell(event.target, event.key);
  if (!next) return;
  event.preventDefault();
  event.stopPropagation();
  if (next.tagName === "TD") next.focus();
}

function GridTable({ data, rows, columns, mode, maxima, goToNode }) {
  const cellByPosition = new Map(data.cells.map((cell) => [`${cell.row}\n${cell.column}`, cell]));
  let isFirst = true;
  return html`
    <table class="grid" role="grid" aria-label="Infosets">
      <thead>
        <tr>
          <td></td>
          ${columns.map((name) => html`<th key=${name} scope="col">${name || "–"}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) => html`
            <tr key=${row}>
              <th scope="row">${row || "–"}</th>
              ${columns.map((column) => {
                const cell = cellByPosition.get(`${row}\n${column}`);
                if (!cell) return html`<td key=${column} class="cell none"></td>`;
                const { text, style, className } = cellAppearance(cell, mode, data.actions, maxima);
                const isCurrent = cell.infoset === data.here;
                const description = `${cell.key}: ${describePolicy(cell.names, cell.policy)}`;
                const openCell = () => goToNode(cell.node);
                const isTabStop =
                  isCurrent ||
                  (isFirst && !data.cells.some((other) => other.infoset === data.here));
                isFirst = false;
                return html`
                  <td
                    key=${column}
                    class="cell ${className} ${isCurrent ? "current" : ""}"
                    style=${style}
                    title=${description}
                    tabindex=${isTabStop ? 0 : -1}
                    aria-selected=${isCurrent}
                    aria-label=${description}
                    onClick=${openCell}
                    onKeyDown=${(event) => onCellKeyDown(event, openCell)}
                  >
                    ${text}
                  </td>
                `;
              })}
            </tr>
          `,
        )}
      </tbody>
    </table>
  `;
}
