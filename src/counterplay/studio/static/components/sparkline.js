// A small curve for a row of a table.

import { formatNumber } from "../lib/format.js";
import { html } from "../lib/preact.js";

const WIDTH = 80;
const HEIGHT = 22;

function scaleToRange(values, low, high) {
  const min = Math.min(...values);
  const range = Math.max(...values) - min || 1;
  return values.map((value) => low + ((high - low) * (value - min)) / range);
}

/**
 * A curve on log axes without labels.
 * @param {{ points: [x: number, y: number][], running: boolean }} props
 */
export function Sparkline({ points, running }) {
  const positivePoints = points.filter(([x, y]) => x > 0 && y > 0);
  if (positivePoints.length < 2) return html`<span class="muted">–</span>`;
  const first = positivePoints[0][1];
  const last = positivePoints.at(-1)[1];
  const xs = scaleToRange(
    positivePoints.map(([x]) => Math.log(x)),
    2,
    WIDTH - 2,
  );
  const ys = scaleToRange(
    positivePoints.map(([, y]) => -Math.log(y)),
    2,
    HEIGHT - 2,
  );
  const line = xs.map((x, index) => `${x.toFixed(1)},${ys[index].toFixed(1)}`).join(" ");
  return html`
    <svg
      class="spark ${running ? "running" : ""}"
      viewBox="0 0 ${WIDTH} ${HEIGHT}"
      role="img"
      aria-label="from ${formatNumber(first)} to ${formatNumber(last)}"
    >
      <polyline points=${line} />
    </svg>
  `;
}
