// The 13 x 13 grid of starting hands.

import { policyGradient, seriesColour } from "../lib/colours.js";
import { adjacentCell } from "../lib/focus.js";
import { describePolicy, formatNumber, formatPercent } from "../lib/format.js";
import { html } from "../lib/preact.js";
import { updateQuery } from "../lib/router.js";
import { Tabs } from "./common.js";

const HAND_MODES = [
  ["policy", "policy"],
  ["value", "EV"],
  ["weight", "range"],
];

/**
 * The policy, EV or range at a decision.
 * @param {{ data: object, mode: string, cell: string }} props `cell` is the name of the selected
 *   hand, for example "AKs"
 */
export function HandGrid({ data, mode, cell: selectedName }) {
  const names = data.actions.map((action) => action.name);
  const maxValue = Math.max(...data.grid.flat().map((hand) => Math.abs(hand.value)), 1e-300);
  const choose = (name) =>
    updateQuery({ cell: name === selectedName ? "" : name }, { replace: true });
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
  const cellAppearance = (hand) => {
    if (hand.weight <= 0) return { className: "none", style: {}, text: "" };
    if (mode === "value") {
      return {
        className: "heat",
        style: { "--part": Math.abs(hand.value) / maxValue },
        text: formatNumber(hand.value),
      };
    }
    if (mode === "weight") {
      return {
        className: "heat",
        style: { "--part": hand.weight },
        text: formatPercent(hand.weight),
      };
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
        options=${HAND_MODES}
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
                  return html`
                    <td
                      key=${hand.name}
                      data-name=${hand.name}
                      class="hand ${className} ${hand.name === selectedName ? "current" : ""}"
                      style=${style}
                      title=${describeHand(hand)}
                      aria-label=${describeHand(hand)}
                      aria-selected=${hand.name === selectedName}
                      tabindex=${hand.name === tabStopName ? 0 : -1}
                      onClick=${() => choose(hand.name)}
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
      diagonal. Click a cell for its combos.
    </p>
  `;
}
