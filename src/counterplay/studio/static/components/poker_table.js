// A poker table: cards, pot and stacks, and the slider for raises of no-limit games.

import { formatPercent, playerName } from "../lib/format.js";
import { html, useState } from "../lib/preact.js";

const SUIT_SYMBOLS = { c: "♣", d: "♦", h: "♥", s: "♠" };
const SUIT_NAMES = { c: "clubs", d: "diamonds", h: "hearts", s: "spades" };

function Card({ name }) {
  const [rank, suit] = name;
  const isRed = suit === "d" || suit === "h";
  return html`
    <span class=${`table-card${isRed ? " red" : ""}`} title=${`${rank} of ${SUIT_NAMES[suit]}`}>
      ${rank}${SUIT_SYMBOLS[suit]}
    </span>
  `;
}

/**
 * Show the person's cards, the board, the pot and all stacks.
 * @param {{table: {hand: string[], board: string[], pot: number, stacks: number[],
 *   bets: number[]}, seat: number}} props
 */
export function PokerTable({ table, seat }) {
  return html`
    <div class="poker-table">
      <p>
        <span class="muted">your cards</span>${" "}
        ${table.hand.map((name) => html`<${Card} key=${name} name=${name} />`)}
      </p>
      <p>
        <span class="muted">board</span>${" "}
        ${
          table.board.length
            ? table.board.map((name) => html`<${Card} key=${name} name=${name} />`)
            : html`<span class="muted">no cards yet</span>`
        }
      </p>
      <dl class="facts">
        <div>
          <dt>Pot</dt>
          <dd>${table.pot}</dd>
        </div>
        ${table.stacks.map(
          (stack, player) => html`
            <div key=${player}>
              <dt>${player === seat ? "Your stack" : `Stack of ${playerName(player)}`}</dt>
              <dd>${stack} <small>(${table.bets[player]} in the pot)</small></dd>
            </div>
          `,
        )}
      </dl>
    </div>
  `;
}

/**
 * Choose the total of a raise by a slider, a number or a button.
 * @param {{raises: {low: number, high: number, half: number, pot: number},
 *   hints: ?Array<[number, number]>, disabled: boolean, raiseTo: (total: number) => void}} props
 */
export function RaiseSlider({ raises, hints, disabled, raiseTo }) {
  const [total, setTotal] = useState(raises.low);
  const isLegal = Number.isInteger(total) && total >= raises.low && total <= raises.high;
  const presets = [
    ["min", raises.low],
    ["½ pot", raises.half],
    ["pot", raises.pot],
    ["all-in", raises.high],
  ];
  const change = (event) => setTotal(Number(event.target.value));
  return html`
    <form
      class="raise-slider"
      onSubmit=${(event) => {
        event.preventDefault();
        if (isLegal) raiseTo(total);
      }}
    >
      <input
        type="range"
        aria-label="raise to"
        min=${raises.low}
        max=${raises.high}
        value=${total}
        onInput=${change}
      />
      <input
        type="number"
        aria-label="chips"
        min=${raises.low}
        max=${raises.high}
        value=${total}
        onInput=${change}
      />
      ${presets.map(
        ([name, value]) => html`
          <button key=${name} type="button" class="quiet" onClick=${() => setTotal(value)}>
            ${name}
          </button>
        `,
      )}
      <button class="primary" disabled=${disabled || !isLegal}>Raise to ${total}</button>
      ${
        hints?.length > 0 &&
        html`
          <small class="muted">
            ${hints.map(([to, share]) => `raise to ${to} ${formatPercent(share)}`).join(", ")}
          </small>
        `
      }
    </form>
  `;
}
