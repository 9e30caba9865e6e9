// The line to a node: one column per decision with the frequency and EV of every action.

import { parseBoard } from "../lib/cards.js";
import { seriesColour } from "../lib/colours.js";
import { formatCount, formatNumber, formatPercent } from "../lib/format.js";
import { html } from "../lib/preact.js";
import { appendAction, POSITIONS } from "../lib/spots.js";
import { Cards } from "./board_picker.js";

/** The actions of one decision; the one that the line takes is marked. */
function DecisionColumn({ record, player, actions, taken, goToLine, isCurrent }) {
  return html`
    <li class="decision ${isCurrent ? "current" : ""}">
      <button class="quiet p${player}" onClick=${() => goToLine(record)}>${POSITIONS[player]}</button>
      <ul>
        ${actions.map(
          (action, index) => html`
            <li key=${action.name}>
              <button
                class="line-action ${action.name === taken ? "active" : ""}"
                aria-current=${action.name === taken ? "step" : undefined}
                onClick=${() => goToLine(appendAction(record, action.name))}
                title=${`EV ${formatNumber(action.value, 4)}, ${formatNumber(action.combos)} combos`}
              >
                <i class="swatch" style=${{ background: seriesColour(index) }}></i>
                <span>${action.name}</span>
                <small>${formatPercent(action.frequency)}</small>
                <small>EV ${formatNumber(action.value)}</small>
              </button>
            </li>
          `,
        )}
      </ul>
    </li>
  `;
}

/**
 * The line browser.
 * @param {{ data: object, goToLine: (line: string) => void }} props
 */
export function LineBrowser({ data, goToLine }) {
  return html`
    <nav aria-label="Line" class="scroll">
      <ol class="line-browser">
        ${data.path.map((step) =>
          step.player < 0
            ? html`
                <li key=${step.record} class="decision card-step">
                  <button
                    class="quiet"
                    onClick=${() => goToLine(step.record)}
                    title="choose another card"
                  >
                    <${Cards} cards=${parseBoard(step.taken)} />
                  </button>
                </li>
              `
            : html`<${DecisionColumn} key=${step.record} ...${step} goToLine=${goToLine} />`,
        )}
        ${
          data.kind === "act" &&
          html`
            <${DecisionColumn}
              key="current"
              record=${data.record}
              player=${data.player}
              actions=${data.actions}
              goToLine=${goToLine}
              isCurrent=${true}
            />
          `
        }
      </ol>
    </nav>
    <p>
      <${Cards} cards=${parseBoard(data.board)} />${" "}
      pot ${formatCount(data.pot)}${
        data.kind === "act"
          ? html`, <b class="p${data.player}">${POSITIONS[data.player]}</b> acts`
          : ""
      }${
        data.kind === "act" && data.to_call > 0
          ? html`; call ${formatCount(data.to_call)} for ${formatCount(data.pot)}: pot odds${" "}
              <b>${formatPercent(data.to_call / (data.pot + data.to_call))}</b>`
          : ""
      }${
        data.kind === "act" && !data.reached
          ? html`<span class="muted">; never reached, so the policy here is arbitrary</span>`
          : ""
      }
    </p>
  `;
}

/**
 * The actions of the current decision over the whole range.
 * @param {{ data: object, goToLine: (line: string) => void }} props
 */
export function ActionTable({ data, goToLine }) {
  return html`
    <h2>Actions</h2>
    <table>
      <thead>
        <tr>
          <th scope="col">action</th>
          <th scope="col" class="num">frequency</th>
          <th scope="col" class="num">EV</th>
          <th scope="col" class="num">combos</th>
        </tr>
      </thead>
      <tbody>
        ${data.actions.map(
          (action, index) => html`
            <tr key=${index}>
              <th scope="row">
                <i class="swatch" style=${{ background: seriesColour(index) }}></i>
                <button
                  class="quiet"
                  onClick=${() => goToLine(appendAction(data.record, action.name))}
                >
                  ${action.name}
                </button>
              </th>
              <td class="num" title=${action.frequency}>${formatPercent(action.frequency)}</td>
              <td class="num" title=${action.value}>${formatNumber(action.value, 4)}</td>
              <td class="num">${formatNumber(action.combos)}</td>
            </tr>
          `,
        )}
      </tbody>
    </table>
    <dl class="facts compact range-facts">
      <div>
        <dt>EV of ${POSITIONS[data.player]}</dt>
        <dd title=${data.value}>${formatNumber(data.value, 4)}</dd>
      </div>
      <div>
        <dt>Equity</dt>
        <dd>${formatPercent(data.equity)}</dd>
      </div>
      <div>
        <dt title="equity realisation: EV divided by equity times the pot">EQR</dt>
        <dd>${data.eqr === null ? "–" : formatPercent(data.eqr)}</dd>
      </div>
      <div>
        <dt>Combos</dt>
        <dd>${formatNumber(data.combos, 4)}</dd>
      </div>
    </dl>
    <p class="muted small">
      EV in chips from this decision on, so a fold has EV 0. EQR is EV divided by equity times the
      pot.
    </p>
  `;
}
