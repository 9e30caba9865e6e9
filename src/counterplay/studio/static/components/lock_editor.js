// Node locks: infosets whose policy is fixed while the rest is solved again.

import { html, useState } from "../lib/preact.js";
import { updateQuery } from "../lib/router.js";
import { formatLocks, parseLocks } from "../lib/specs.js";

/**
 * The locks in force, with buttons that remove them.
 * @param {{ facts: object, lock: string }} props
 */
export function LockList({ facts, lock }) {
  const removeLock = (infoset) => {
    const locks = parseLocks(lock);
    locks.delete(String(infoset));
    updateQuery({ lock: formatLocks(locks) });
  };
  return html`
    <p class="notice" role="status">
      Locked; the rest is solved again around these infosets: ${facts.locked.map(
        (entry) => html`
          <button
            key=${entry.infoset}
            class="quiet"
            onClick=${() => removeLock(entry.infoset)}
            title="remove this lock"
          >
            <code>${entry.key || "(empty)"}</code> ✕
          </button>
        `,
      )}
      The exploitability includes the regret of the locks.
    </p>
  `;
}

/**
 * A form that locks the policy at an infoset.
 * @param {{ infoset: object, lock: string }} props `lock` is the text of all locks
 */
export function LockEditor({ infoset, lock }) {
  const currentPolicy =
    parseLocks(lock).get(String(infoset.number))?.split(",").map(Number) ||
    infoset.actions.map((action) => action.probability);
  const [percentages, setPercentages] = useState(
    currentPolicy.map((probability) => String(Number((100 * probability).toFixed(2)))),
  );
  const weights = percentages.map(Number);
  const isValid = weights.every((weight) => weight >= 0) && weights.some((weight) => weight > 0);
  const apply = (event) => {
    event.preventDefault();
    const total = weights.reduce((a, b) => a + b);
    updateQuery({
      lock: formatLocks(
        parseLocks(lock).set(
          String(infoset.number),
          weights.map((weight) => Number((weight / total).toFixed(6))).join(","),
        ),
      ),
    });
  };
  return html`
    <details class="lock">
      <summary>Lock the policy here</summary>
      <form class="form" onSubmit=${apply}>
        ${infoset.actions.map(
          (action, index) => html`
            <label key=${index}>
              <span>${action.name}, %</span>
              <input
                inputmode="decimal"
                value=${percentages[index]}
                onInput=${(event) => setPercentages(percentages.with(index, event.target.value))}
              />
            </label>
          `,
        )}
        <button class="primary" disabled=${!isValid}>Lock and solve again</button>
      </form>
    </details>
  `;
}
