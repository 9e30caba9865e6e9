// The whole tree as an icicle plot: one row per level, as wide as the reach.

import { seriesColour } from "../lib/colours.js";
import { formatCount, formatNumber } from "../lib/format.js";
import { useApi } from "../lib/hooks.js";
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { ErrorMessage } from "./common.js";

const ROW_HEIGHT = 22; // pixels
const MAX_TABLE_LEVELS = 60;

/** A bucket is [x, width, EV of player 0, node, player, number of nodes]. */
function describeBucket([, width, ev, , , numNodes], level) {
  const values = `reach ${formatNumber(width)}, EV ${formatNumber(ev)} of player 0`;
  return `Level ${level}: ${values}, ${formatCount(numNodes)} nodes`;
}

/**
 * The icicle plot; a click goes to the node.
 * @param {{ policyQuery: URLSearchParams, node: number, goToNode: (node: number) => void }} props
 */
export function TreeOverview({ policyQuery, goToNode, node }) {
  const { data, error, reload } = useApi(`/api/explore/overview?${policyQuery}`);
  const canvas = useRef(null);
  const [hover, setHover] = useState(null);

  useEffect(() => {
    const draw = () => {
      const element = canvas.current;
      if (!element || !data) return;
      const width = element.clientWidth;
      const pixelRatio = devicePixelRatio || 1;
      element.width = width * pixelRatio;
      element.height = data.levels.length * ROW_HEIGHT * pixelRatio;
      const context = element.getContext("2d");
      context.scale(pixelRatio, pixelRatio);
      const muted = getComputedStyle(document.documentElement).getPropertyValue("--muted");
      data.levels.forEach((level, y) =>
        level.forEach(([x, bucketWidth, , bucketNode, player]) => {
          context.fillStyle =
            player === -1 ? muted : player === -2 ? "#88888866" : seriesColour(player);
          context.fillRect(
            x * width,
            y * ROW_HEIGHT + 1,
            Math.max(bucketWidth * width - 1, 0.6),
            ROW_HEIGHT - 2,
          );
          if (bucketNode === node) {
            context.strokeStyle = "#d55e00";
            context.lineWidth = 2;
            context.strokeRect(
              x * width,
              y * ROW_HEIGHT + 1,
              Math.max(bucketWidth * width - 1, 2),
              ROW_HEIGHT - 2,
            );
          }
        }),
      );
    };
    draw();
    addEventListener("resize", draw);
    addEventListener("themechange", draw);
    return () => {
      removeEventListener("resize", draw);
      removeEventListener("themechange", draw);
    };
  }, [data, node]);
  if (error) return html`<${ErrorMessage} error=${error} retry=${reload} />`;
  if (!data) return html`<p class="muted">…</p>`;
  const bucketAt = (event) => {
    const size = canvas.current.getBoundingClientRect();
    const x = (event.clientX - size.left) / size.width;
    const y = Math.floor((event.clientY - size.top) / ROW_HEIGHT);
    return [data.levels[y]?.find(([left, bucketWidth]) => x >= left && x <= left + bucketWidth), y];
  };
  const [bucket, level] = hover || [];
  return html`
    <p>
      The whole tree, one row per level; widths are reach probabilities under the policy.${" "}
      <span class="muted">
        ${bucket ? describeBucket(bucket, level) : "Point at a node for details; click to open it."}
      </span>
    </p>
    <canvas
      class="overview"
      ref=${canvas}
      style=${{ height: `${data.levels.length * ROW_HEIGHT}px` }}
      role="img"
      aria-label="The ${data.levels.length} levels of the tree"
      onPointerMove=${(event) => setHover(bucketAt(event))}
      onPointerLeave=${() => setHover(null)}
      onClick=${(event) => {
        const [target] = bucketAt(event);
        if (target) goToNode(target[3]);
      }}
    ></canvas>
    <details class="data-table">
      <summary>Levels as a table</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">level</th>
            <th scope="col" class="num">segments</th>
            <th scope="col" class="num">nodes</th>
          </tr>
        </thead>
        <tbody>
          ${data.levels.slice(0, MAX_TABLE_LEVELS).map(
            (buckets, index) => html`
              <tr key=${index}>
                <th scope="row">${index}</th>
                <td class="num">${buckets.length}</td>
                <td class="num">
                  ${formatCount(buckets.reduce((sum, [, , , , , numNodes]) => sum + numNodes, 0))}
                </td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </details>
  `;
}
