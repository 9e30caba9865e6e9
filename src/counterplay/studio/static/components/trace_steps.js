// Parts of the page Trace: controls of the iteration, the table of infosets and the equations.

import { formatNumber, formatPercent } from "../lib/format.js";
import { html, useEffect, useState } from "../lib/preact.js";
import { updateQuery } from "../lib/router.js";

const PLAY_MS = 700; // between two iterations
const NOTICE_MS = 1500;

/**
 * Buttons and a field that change the iteration, and a button that copies the address.
 * @param {{ iteration: number, limit: number, goTo: (iteration: number) => void }} props
 */
export function StepControls({ iteration, limit, goTo }) {
  const [playing, setPlaying] = useState(false);
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!playing) return undefined;
    if (limit && iteration >= limit) {
      setPlaying(false);
      return undefined;
    }
    const timer = setTimeout(() => goTo(iteration + 1), PLAY_MS);
    return () => clearTimeout(timer);
  }, [playing, iteration, limit]);
  const copyLink = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      setCopied(true);
      setTimeout(() => setCopied(false), NOTICE_MS);
    } catch {
      setCopied(false);
    }
  };
  const isLast = limit > 0 && iteration >= limit;
  return html`
    <div class="toolbar step-controls" role="group" aria-label="Iteration">
      <button disabled=${iteration <= 1} onClick=${() => goTo(1)} title="first (Home)">
        <span aria-hidden="true">|◀</span><span class="visually-hidden">First</span>
      </button>
      <button disabled=${iteration <= 1} onClick=${() => goTo(iteration - 1)} title="back (←)">
        ◀ Back
      </button>
      <label class="inline">
        iteration${" "}
        <input
          type="number"
          min="1"
          max=${limit || undefined}
          value=${iteration}
          onChange=${(event) => goTo(Number.parseInt(event.target.value, 10) || 1)}
        />
      </label>
      <button
        class="primary"
        disabled=${isLast}
        onClick=${() => goTo(iteration + 1)}
        title="forward (→)"
      >
        Forward ▶
      </button>
      <button disabled=${isLast} onClick=${() => goTo(iteration + 10)}>+10</button>
      <button aria-pressed=${playing} disabled=${isLast} onClick=${() => setPlaying(!playing)}>
        ${playing ? "Pause" : "Play"}
      </button>
      <span class="grow"></span>
      <button class="quiet" onClick=${copyLink}>${copied ? "Copied" : "Copy link"}</button>
    </div>
  `;
}

/**
 * A page of the infosets with policy, regrets and average; a click chooses one.
 * @param {{ data: object, text: string }} props the answer of /api/trace, and the search text
 */
export function TraceTable({ data, text }) {
  const { rows, start, total, step } = data;
  const last = start + rows.length;
  return html`
    ${
      (total > rows.length || text) &&
      html`
        <div class="toolbar">
          <label class="search">
            <span class="visually-hidden">Find infosets</span>
            <input
              data-search
              type="search"
              placeholder="Find infosets"
              value=${text}
              onInput=${(event) =>
                updateQuery({ q: event.target.value, start: "" }, { replace: true })}
            />
          </label>
          <span class="muted small">
            ${total ? `${start + 1} to ${last} of ${total}` : "no infoset"}
          </span>
          <button
            disabled=${start === 0}
            onClick=${() => updateQuery({ start: Math.max(start - 24, 0) || "" })}
          >
            Previous
          </button>
          <button disabled=${last >= total} onClick=${() => updateQuery({ start: last })}>
            Next
          </button>
        </div>
      `
    }
    <div class="scroll">
      <table class="trace-table">
        <thead>
          <tr>
            <th scope="col">infoset</th>
            <th scope="col">action</th>
            <th scope="col" class="num">policy</th>
            <th scope="col" class="num">regret</th>
            <th scope="col" class="num">average</th>
          </tr>
        </thead>
        ${rows.map(
          (row) => html`
            <tbody
              key=${row.infoset}
              class=${row.infoset === step.infoset ? "current" : ""}
              aria-current=${row.infoset === step.infoset ? "true" : undefined}
            >
              ${row.actions.map((action, index) => {
                const chooseRow = () => updateQuery({ infoset: row.infoset || "" });
                return html`
                  <tr key=${action} onClick=${chooseRow}>
                    ${
                      index === 0 &&
                      html`
                        <th scope="rowgroup" rowspan=${row.actions.length}>
                          <button
                            class="quiet p${row.player}"
                            onClick=${(event) => {
                              event.stopPropagation();
                              chooseRow();
                            }}
                          >
                            ${row.key || "(empty)"}
                            <small class="muted"> P${row.player}</small>
                          </button>
                        </th>
                      `
                    }
                    <td>${action}</td>
                    <td class="num" title=${row.policy[index]}>
                      ${formatPercent(row.policy[index])}
                    </td>
                    <td
                      class="num ${row.regret[index] > 0 ? "good" : ""}"
                      title=${row.regret[index]}
                    >
                      ${formatNumber(row.regret[index])}
                    </td>
                    <td class="num" title=${row.average[index]}>
                      ${formatPercent(row.average[index])}
                    </td>
                  </tr>
                `;
              })}
            </tbody>
          `,
        )}
      </table>
    </div>
  `;
}

/**
 * The equations of an update with numbers.
 * @param {{ equations: { title: string, formula: string, symbols: string,
 *   lines: { label: string, text: string, value: number }[] }[] }} props
 */
export function Equations({ equations }) {
  return html`
    <ol class="equations">
      ${equations.map(
        (equation) => html`
          <li key=${equation.title}>
            <h3>${equation.title} <span class="symbols">${equation.symbols}</span></h3>
            <p class="formula">${equation.formula}</p>
            <dl>
              ${equation.lines.map(
                (line) => html`
                  <div key=${line.label}>
                    <dt>${line.label}</dt>
                    <dd>
                      <span>${line.text}</span>
                      ${" "}<strong title=${line.value}>= ${formatNumber(line.value, 4)}</strong>
                    </dd>
                  </div>
                `,
              )}
            </dl>
          </li>
        `,
      )}
    </ol>
  `;
}
