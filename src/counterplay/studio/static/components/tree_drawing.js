// A drawing of the most probable part of the tree below a node.

import { saveBlob } from "../lib/api.js";
import { seriesColour } from "../lib/colours.js";
import { formatCount, formatNumber, formatPercent } from "../lib/format.js";
import { useApi } from "../lib/hooks.js";
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { ErrorMessage } from "./common.js";

// In units of the drawing.
const COLUMN_WIDTH = 165;
const ROW_HEIGHT = 26;

const MAX_UNITS_PER_PIXEL = 1.45; // larger drawings are shown in part, so that labels stay readable

const playerColour = (player) =>
  player === -1 ? "var(--muted)" : player === -2 ? "var(--ink)" : seriesColour(player);

/**
 * The drawing, which can be moved, zoomed and saved.
 * @param {{ policyQuery: URLSearchParams, node: number, goToNode: (node: number) => void }} props
 */
export function TreeDrawing({ policyQuery, node, goToNode }) {
  const { data, error, reload } = useApi(`/api/explore/drawing?${policyQuery}&node=${node}`);
  const [view, setView] = useState(null);
  const [label, setLabel] = useState("probability");
  const drag = useRef(null);
  const svg = useRef(null);
  const [, setLayoutVersion] = useState(0);
  useEffect(() => {
    setView(null);
    setLayoutVersion((version) => version + 1);
  }, [data]);
  if (error) return html`<${ErrorMessage} error=${error} retry=${reload} />`;
  if (!data) return html`<p class="muted">…</p>`;
  const marks = data.marks;
  const markByNode = new Map(marks.filter((mark) => !mark.fan).map((mark) => [mark.node, mark]));
  const width = (Math.max(...marks.map((mark) => mark.x)) + 1) * COLUMN_WIDTH + 60;
  const height = data.rows * ROW_HEIGHT + 30;
  const xOf = (mark) => mark.x * COLUMN_WIDTH;
  const yOf = (mark) => mark.y * ROW_HEIGHT;
  const currentMark = markByNode.get(data.here) || marks[0];
  const size = svg.current?.getBoundingClientRect() || { width: 640, height: 500 };
  const unitsPerPixel = Math.max(width / (size.width || 640), height / (size.height || 500));
  const wholeBox = { x: -30, y: -24, w: width + 30, h: height };
  const nearBox = {
    x: xOf(currentMark) - COLUMN_WIDTH,
    y: yOf(currentMark) - 0.6 * size.height,
    w: 1.2 * (size.width || 640),
    h: 1.2 * (size.height || 500),
  };
  const box = view || (unitsPerPixel <= MAX_UNITS_PER_PIXEL ? wholeBox : nearBox);
  const edges = marks
    .filter((mark) => mark.parent !== undefined)
    .map((mark) => {
      const parent = markByNode.get(mark.parent);
      const [x0, y0, x1, y1] = [xOf(parent), yOf(parent), xOf(mark), yOf(mark)];
      return `M${x0} ${y0}C${x0 + 60} ${y0} ${x1 - 60} ${y1} ${x1} ${y1}`;
    })
    .join("");
  const groups = new Map();
  for (const mark of markByNode.values()) {
    if (mark.infoset >= 0) groups.set(mark.infoset, [...(groups.get(mark.infoset) || []), mark]);
  }
  const linkMarks = (mark, next) => {
    const [x0, y0, x1, y1] = [xOf(mark) - 4, yOf(mark), xOf(next) - 4, yOf(next)];
    return `M${x0} ${y0}Q${x1 - 30} ${(y0 + y1) / 2} ${x1} ${y1}`;
  };
  const infosetLinks = [...groups.values()]
    .map((group) => group.sort((a, b) => a.y - b.y))
    .flatMap((group) => group.slice(1).map((mark, index) => linkMarks(group[index], mark)))
    .join("");
  const zoomBy = (factor) =>
    setView({
      x: box.x + (box.w * (1 - factor)) / 2,
      y: box.y + (box.h * (1 - factor)) / 2,
      w: box.w * factor,
      h: box.h * factor,
    });
  const move = (event) => {
    if (!drag.current) return;
    const size = svg.current.getBoundingClientRect();
    const unitsPerPixel = Math.max(box.w / size.width, box.h / size.height);
    setView({
      ...box,
      x: drag.current.x - (event.clientX - drag.current.cx) * unitsPerPixel,
      y: drag.current.y - (event.clientY - drag.current.cy) * unitsPerPixel,
    });
  };
  const labelText = (mark) =>
    ({
      probability: formatPercent(mark.probability),
      value: mark.value.map((value) => formatNumber(value, 2)).join(", "),
      reach: formatNumber(mark.reach),
    })[label];
  const saveSvg = () =>
    saveBlob(new Blob([svgWithInlineColours(svg.current)], { type: "image/svg+xml" }), "tree.svg");
  return html`
    <div class="grid-head">
      <p>
        ${marks.length} nodes; chance is grey, terminal nodes are squares, dashed lines join the
        nodes of an infoset
      </p>
      <div class="actions">
        <label class="inline">
          labels${" "}
          <select value=${label} onChange=${(event) => setLabel(event.target.value)}>
            <option>probability</option>
            <option value="value">EV</option>
            <option>reach</option>
          </select>
        </label>
        <button onClick=${() => zoomBy(0.7)} aria-label="Zoom in">+</button>
        <button onClick=${() => zoomBy(1.4)} aria-label="Zoom out">−</button>
        <button onClick=${() => setView(wholeBox)}>All</button>
        <button onClick=${() => setView(null)}>Current</button>
        <button class="quiet" onClick=${saveSvg}>SVG</button>
      </div>
    </div>
    <svg
      ref=${svg}
      class="drawing"
      viewBox="${box.x} ${box.y} ${box.w} ${box.h}"
      role="img"
      aria-label="The likeliest part of the tree below this node; the outline links to its nodes"
      onWheel=${(event) => {
        event.preventDefault();
        zoomBy(event.deltaY > 0 ? 1.15 : 0.87);
      }}
      onPointerDown=${(event) => {
        drag.current = { cx: event.clientX, cy: event.clientY, x: box.x, y: box.y };
      }}
      onPointerMove=${move}
      onPointerUp=${() => {
        drag.current = null;
      }}
      onPointerLeave=${() => {
        drag.current = null;
      }}
    >
      <path class="edges" d=${edges} />
      <path class="infoset-link" d=${infosetLinks} />
      ${marks.map((mark) =>
        mark.fan
          ? html`
              <text key=${`f${mark.node}`} class="fan" x=${xOf(mark)} y=${yOf(mark) + 4}>
                +${formatCount(mark.fan)}${" "}
                <tspan>
                  (${formatCount(mark.nodes)} nodes, reach ${formatNumber(mark.reach, 2)})
                </tspan>
              </text>
            `
          : html`
              <g
                key=${mark.node}
                class="mark ${mark.node === data.here ? "current" : ""}"
                onClick=${() => goToNode(mark.node)}
              >
                ${
                  mark.player === -2
                    ? html`
                        <rect
                          x=${xOf(mark) - 4}
                          y=${yOf(mark) - 4}
                          width="8"
                          height="8"
                          fill="var(--ink)"
                        />
                      `
                    : html`
                        <circle
                          cx=${xOf(mark)}
                          cy=${yOf(mark)}
                          r="6"
                          fill=${playerColour(mark.player)}
                        />
                      `
                }
                ${
                  mark.name &&
                  html`
                    <text x=${xOf(mark) - 10} y=${yOf(mark) - 6} text-anchor="end">
                      ${mark.name} ${labelText(mark)}
                    </text>
                  `
                }
                ${
                  mark.player === -2 &&
                  html`
                    <text x=${xOf(mark) + 10} y=${yOf(mark) + 4}>
                      ${mark.value.map((value) => formatNumber(value)).join(", ")}
                    </text>
                  `
                }
              </g>
            `,
      )}
    </svg>
  `;
}

/** Return the drawing with inline colours, for a file without a style sheet. */
function svgWithInlineColours(svg) {
  const copy = svg.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.querySelectorAll(".edges").forEach((path) => {
    path.setAttribute("fill", "none");
    path.setAttribute("stroke", "#999");
  });
  copy.querySelectorAll(".infoset-link").forEach((path) => {
    path.setAttribute("fill", "none");
    path.setAttribute("stroke", "#bbb");
    path.setAttribute("stroke-dasharray", "4 4");
  });
  copy.querySelectorAll("text").forEach((text) => {
    text.setAttribute("font-family", "sans-serif");
    text.setAttribute("font-size", "11");
  });
  copy
    .querySelectorAll("[fill^=var]")
    .forEach((mark) =>
      mark.setAttribute("fill", mark.getAttribute("fill").includes("muted") ? "#777" : "#222"),
    );
  return copy.outerHTML;
}
