// The 13 x 13 grid of starting hands at a node of a solution.

import { policyGradient, seriesColour } from "../lib/colours.js";
import { adjacentCell } from "../lib/focus.js";
import { describePolicy, formatNumber, formatPercent, formatSigned } from "../lib/format.js";
import { html } from "../lib/preact.js";
import { updateQuery } from "../lib/router.js";
import { Tabs } from "./common.js";

const HAND_MODES = [
  ["policy", "strategy"],
  ["value", "EV"],
  ["equity", "equity"],
  ["eqr", "EQR"],
  ["weight", "range"],
];
const DIFFERENCE_MODE = ["difference", "EV difference"];

/** Return the mean of a number of the hands of each cell, weighted by reach. */
function cellMeans(hands, key) {
  const sums = new Map();
  for (const hand of hands) {
    if (hand[key] === null) continue;
    const [sum, weight] = sums.get(hand.cell) || [0, 0];
    sums.set(hand.cell, [sum + hand.weight * hand[key], weight + hand.weight]);
  }
  return new Map([...sums].map(([cell, [sum, weight]]) => [cell, sum / weight]));
}

/**
 * The strategy, EV, equity, equity realisation or range at a decision.
 * @param {{ data: object, mode: string, cell: string, lockedCells?: Set<string>,
 *   paintLock?: (name: string) => void }} props `cell` is the name of the selected hand, for
 *   example "AKs"; with `paintLock`, cells are painted instead of selected
 */
export function HandGrid({ data, mode, cell: selectedName, lockedCells, paintLock }) {
  const names = data.actions.map((action) => action.name);
  const maxValue = Math.max(...data.grid.flat().map((hand) => Math.abs(hand.value)), 1e-300);
  const means = mode === "equity" || mode === "eqr" ? cellMeans(data.hands, mode) : null;
  const others = new Map((data.versus?.grid || []).flat().map((hand) => [hand.name, hand]));
  const difference = (hand) => hand.value - (others.get(hand.name)?.value ?? hand.value);
  const maxDifference = Math.max(
    ...data.grid.flat().map((hand) => (hand.weight > 0 ? Math.abs(difference(hand)) : 0)),
    1e-300,
  );
  const choose = (name) => {
    if (paintLock) paintLock(name);
    else updateQuery({ cell: name === selectedName ? "" : name }, { replace: true });
  };
  const onKeyDown = (event) => {
    const cell = event.target.closest("td");
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(cell.dataset.name);
    }
    const next = adjacentCell(cell, event.key);
    if (next) {
      event.preventDefault();
      next.focus();
    }
  };
  const heat = (part, text, sign = "") => ({
    className: `heat ${sign}`,
    style: { "--part": Math.min(Math.abs(part), 1) },
    text,
  });
  const cellAppearance = (hand) => {
    if (hand.weight <= 0) return { className: "none", style: {}, text: "" };
    if (mode === "value") return heat(hand.value / maxValue, formatNumber(hand.value));
    if (mode === "weight") return heat(hand.weight, formatPercent(hand.weight));
    if (mode === "equity") return heat(means.get(hand.name), formatPercent(means.get(hand.name)));
    if (mode === "eqr") {
      const ratio = means.get(hand.name);
      return ratio === undefined
        ? { className: "none", style: {}, text: "" }
        : heat(ratio / 2, formatPercent(ratio));
    }
    if (mode === "difference" && others.size) {
      const change = difference(hand);
      return heat(change / maxDifference, formatSigned(change), change < 0 ? "minus" : "");
    }
    return {
      className: "policy-bar",
      style: {
        backgroundImage: policyGradient(names, names, hand.policy),
        backgroundSize: `100% ${(3 + 15 * Math.min(hand.weight, 1)).toFixed(1)}px`,
      },
      text: "",
    };
  };
  const describeHand = (hand) => {
    if (hand.weight <= 0) return `${hand.name}: not in the range`;
    const policy = describePolicy(names, hand.policy);
    const ev = `EV ${formatNumber(hand.value)}`;
    return `${hand.name}: ${policy}; ${ev}, ${formatPercent(hand.weight)} of its combos`;
  };
  const tabStopName =
    selectedName || data.grid.flat().find((hand) => hand.weight > 0)?.name || "AA";
  return html`
    <div class="grid-head">
      <p class="legend">
        ${data.actions.map(
          (action, index) => html`
            <span key=${index}>
              <i style=${{ background: seriesColour(index) }}></i>
              ${action.name} <small>${formatPercent(action.frequency)}</small>
            </span>
          `,
        )}
      </p>
      <${Tabs}
        label="Cells show"
        value=${mode}
        options=${data.versus ? [...HAND_MODES, DIFFERENCE_MODE] : HAND_MODES}
        choose=${(key) => updateQuery({ mode: key === "policy" ? "" : key })}
      />
    </div>
    <div class="scroll">
      <table class="hands" role="grid" aria-label="Hands: suited above the diagonal, offsuit below">
        <tbody>
          ${data.grid.map(
            (row, index) => html`
              <tr key=${index}>
                ${row.map((hand) => {
                  const { className, style, text } = cellAppearance(hand);
                  const isLocked = lockedCells?.has(hand.name);
                  return html`
                    <td
                      key=${hand.name}
                      data-name=${hand.name}
                      class="hand ${className} ${
                        hand.name === selectedName || isLocked ? "current" : ""
                      }"
                      style=${style}
                      title=${describeHand(hand)}
                      aria-label=${describeHand(hand)}
                      aria-selected=${hand.name === selectedName || !!isLocked}
                      tabindex=${hand.name === tabStopName ? 0 : -1}
                      onClick=${() => choose(hand.name)}
                      onPointerEnter=${(event) => {
                        if (paintLock && event.buttons === 1) paintLock(hand.name, true);
                      }}
                      onKeyDown=${onKeyDown}
                    >
                      ${hand.name}${text && html`<small>${text}</small>`}
                    </td>
                  `;
                })}
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
    <p class="muted small">
      Bar height: the share of combos that reach this decision. Suited hands are above the
      diagonal. ${paintLock ? "Click or drag to lock hands." : "Click a cell for its combos."}
    </p>
  `;
}
