// A small curve for a row of a table.

import { formatNumber } from "../lib/format.js";
import { html } from "../lib/preact.js";

/**
 * A curve on log axes without labels.
 * @param {{ points: [x: number, y: number][], running: boolean }} props
 */
export function Sparkline({ points, running }) {
  const positivePoints = points.filter(([x, y]) => x > 0 && y > 0);
  if (positivePoints.length < 2) return html`<span class="muted">–</span>`;
  const xs = positivePoints.map(([x]) => Math.log(x));
  const ys = positivePoints.map(([, y]) => Math.log(y));
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const [y0, y1] = [Math.min(...ys), Math.max(...ys)];
  const pointAt = (i) =>
    `${(2 + (76 * (xs[i] - x0)) / (x1 - x0 || 1)).toFixed(1)},${(2 + (18 * (y1 - ys[i])) / (y1 - y0 || 1)).toFixed(1)}`;
  return html`
    <svg
      class="spark ${running ? "running" : ""}"
      viewBox="0 0 80 22"
      role="img"
      aria-label="from ${formatNumber(positivePoints[0][1])} to ${formatNumber(positivePoints.at(-1)[1])}"
    >
      <polyline points=${positivePoints.map((_, i) => pointAt(i)).join(" ")} />
    </svg>
  `;
}
