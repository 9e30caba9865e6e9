// Variants of a solution: node locks by brush, and a villain who folds too often.

import { seriesColour } from "../lib/colours.js";
import { formatNumber, formatSigned } from "../lib/format.js";
import { html, useState } from "../lib/preact.js";
import { updateQuery } from "../lib/router.js";
import { POSITIONS } from "../lib/spots.js";

const MAX_OVERFOLD_PERCENT = 50;

/**
 * The locks or the over-fold in force, what they change, and a button that removes them.
 * @param {{ variant: object, data: object }} props
 */
export function VariantNotice({ variant, data }) {
  const { base, facts } = data;
  const changes = base && facts.values.map((value, player) => value - base.values[player]);
  return html`
    <p class="notice" role="status">
      ${
        variant.overfold
          ? html`${POSITIONS[variant.overfold.player]} folds ${variant.overfold.percent} points more
              often, against every bet on the first street; the rest is solved again.`
          : html`Locked: ${variant.locks.map(
              (lock, index) => html`
                <span key=${index}>
                  <code>${lock.record || "start"} @ ${lock.hands} = ${describeShares(lock.shares)}</code>;
                  ${" "}
                </span>
              `,
            )} the rest is solved again.`
      }
      ${
        changes &&
        html`
          ${" "}EV of OOP ${formatSigned(changes[0])}, of IP ${formatSigned(changes[1])} chips.
        `
      }${" "}
      <button class="quiet" onClick=${() => updateQuery({ variant: "", record: "" })}>
        Remove ✕
      </button>
    </p>
  `;
}

const describeShares = (shares) =>
  Object.entries(shares)
    .filter(([, share]) => share > 0)
    .map(([name, share]) => `${name} ${formatNumber(share)}`)
    .join(", ");

/**
 * A slider that makes one player fold too often and solves again.
 * @param {{ variant: object | undefined }} props
 */
export function OverfoldSlider({ variant }) {
  const current = variant?.overfold;
  const [player, setPlayer] = useState(current?.player ?? 1);
  const [percent, setPercent] = useState(current?.percent ?? 10);
  const apply = () =>
    updateQuery({ variant: JSON.stringify({ overfold: { player, percent } }), record: "" });
  return html`
    <div class="actions overfold">
      <label class="inline">
        <span>villain is</span>
        <select value=${player} onChange=${(event) => setPlayer(Number(event.target.value))}>
          ${POSITIONS.map((name, index) => html`<option key=${name} value=${index}>${name}</option>`)}
        </select>
      </label>
      <label class="inline">
        <span>over-folds by ${percent} %</span>
        <input
          type="range"
          min="1"
          max=${MAX_OVERFOLD_PERCENT}
          value=${percent}
          onInput=${(event) => setPercent(Number(event.target.value))}
        />
      </label>
      <button onClick=${apply}>Lock and solve again</button>
    </div>
  `;
}

/**
 * The brush of node locks: the frequencies that painted hands get.
 * @param {{ data: object, variant: object | undefined, brush: number[],
 *   setBrush: (brush: number[]) => void, lockedCells: Set<string>, clear: () => void }} props
 */
export function LockBrush({ data, variant, brush, setBrush, lockedCells, clear }) {
  const total = brush.reduce((sum, share) => sum + share, 0);
  const apply = () => {
    const lock = {
      record: data.record,
      hands: [...lockedCells].join(","),
      shares: Object.fromEntries(
        data.actions.map((action, index) => [action.name, brush[index] / total]),
      ),
    };
    const locks = [...(variant?.locks || []), lock];
    clear();
    updateQuery({ variant: JSON.stringify({ locks }) });
  };
  return html`
    <div class="lock-brush">
      <p class="small">
        Set the frequencies, paint hands on the grid, then solve again. Everything that is not
        locked adapts.
      </p>
      ${data.actions.map(
        (action, index) => html`
          <label class="inline" key=${action.name}>
            <i class="swatch" style=${{ background: seriesColour(index) }}></i>
            <span>${action.name}</span>
            <input
              type="range"
              min="0"
              max="100"
              value=${brush[index]}
              onInput=${(event) => setBrush(brush.with(index, Number(event.target.value)))}
            />
            <span>${total > 0 ? Math.round((100 * brush[index]) / total) : 0} %</span>
          </label>
        `,
      )}
      <div class="actions">
        <button class="primary" disabled=${!lockedCells.size || !(total > 0)} onClick=${apply}>
          Lock ${lockedCells.size} cells and solve again
        </button>
        <button disabled=${!lockedCells.size} onClick=${clear}>Clear</button>
      </div>
    </div>
  `;
}
