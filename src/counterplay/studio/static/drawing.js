// The tree as a drawing of its likeliest part, and as a whole.

import { save } from "./api.js";
import { html, Problem, useAnswer, useEffect, useRef, useState, count, percent, short, hue } from "./ui.js";

const WIDE = 165, HIGH = 26;
const SMALLEST = 1.45;  // units a pixel: what needs more is shown in part, so that names can be read
const colour = player => (player === -1 ? "var(--muted)" : player === -2 ? "var(--ink)" : hue(player));

export function Drawing({ base, node, to }) {
  const { data, error, reload } = useAnswer(`/api/explore/drawing?${base}&node=${node}`);
  const [view, setView] = useState(null);
  const [label, setLabel] = useState("probability");
  const drag = useRef(null);
  const svg = useRef(null);
  const [, measured] = useState(0);
  useEffect(() => { setView(null); measured(n => n + 1); }, [data]);
  if (error) return html`<${Problem} error=${error} retry=${reload} />`;
  if (!data) return html`<p class="muted">…</p>`;
  const marks = data.marks;
  const at = new Map(marks.filter(mark => !mark.fan).map(mark => [mark.node, mark]));
  const width = (Math.max(...marks.map(mark => mark.x)) + 1) * WIDE + 60, height = data.rows * HIGH + 30;
  const X = mark => mark.x * WIDE, Y = mark => mark.y * HIGH;
  const here = at.get(data.here) || marks[0];
  const size = svg.current?.getBoundingClientRect() || { width: 640, height: 500 };
  const k = Math.max(width / (size.width || 640), height / (size.height || 500));
  const whole = { x: -30, y: -24, w: width + 30, h: height };
  const close = { x: X(here) - WIDE, y: Y(here) - 0.6 * size.height, w: 1.2 * (size.width || 640), h: 1.2 * (size.height || 500) };
  const box = view || (k <= SMALLEST ? whole : close);
  const edges = marks.filter(mark => mark.parent !== undefined).map(mark => { const up = at.get(mark.parent); return `M${X(up)} ${Y(up)}C${X(up) + 60} ${Y(up)} ${X(mark) - 60} ${Y(mark)} ${X(mark)} ${Y(mark)}`; }).join("");
  const groups = new Map();
  for (const mark of at.values()) if (mark.infoset >= 0) groups.set(mark.infoset, [...(groups.get(mark.infoset) || []), mark]);
  const dashes = [...groups.values()].filter(list => list.length > 1).map(list => { const sorted = list.sort((a, b) => a.y - b.y); return sorted.slice(1).map((mark, n) => `M${X(sorted[n]) - 4} ${Y(sorted[n])}Q${X(mark) - 34} ${(Y(sorted[n]) + Y(mark)) / 2} ${X(mark) - 4} ${Y(mark)}`).join(""); }).join("");
  const scale = by => setView({ x: box.x + box.w * (1 - by) / 2, y: box.y + box.h * (1 - by) / 2, w: box.w * by, h: box.h * by });
  const move = event => {
    if (!drag.current) return;
    const size = svg.current.getBoundingClientRect(), k = Math.max(box.w / size.width, box.h / size.height);
    setView({ ...box, x: drag.current.x - (event.clientX - drag.current.cx) * k, y: drag.current.y - (event.clientY - drag.current.cy) * k });
  };
  const text = mark => ({ probability: percent(mark.probability), value: mark.value.map(v => short(v, 2)).join(", "), reach: short(mark.reach) }[label]);
  const keep = () => save(new Blob([inked(svg.current)], { type: "image/svg+xml" }), "tree.svg");
  return html`<div class="grid-head"><p>${marks.length} marks; chance is grey, ends are squares, dashed lines join what a player cannot tell apart</p>
      <div class="actions"><label class="inline">labels <select value=${label} onChange=${event => setLabel(event.target.value)}><option>probability</option><option>value</option><option>reach</option></select></label>
      <button onClick=${() => scale(0.7)} aria-label="Closer">+</button><button onClick=${() => scale(1.4)} aria-label="Farther">−</button><button onClick=${() => setView(whole)}>All</button><button onClick=${() => setView(null)}>Here</button><button class="quiet" onClick=${keep}>SVG</button></div></div>
    <svg ref=${svg} class="drawing" viewBox="${box.x} ${box.y} ${box.w} ${box.h}" role="img" aria-label="The likeliest part of the tree below this node; the outline has the same as links" onWheel=${event => { event.preventDefault(); scale(event.deltaY > 0 ? 1.15 : 0.87); }}
      onPointerDown=${event => { drag.current = { cx: event.clientX, cy: event.clientY, x: box.x, y: box.y }; }} onPointerMove=${move} onPointerUp=${() => { drag.current = null; }} onPointerLeave=${() => { drag.current = null; }}>
      <path class="edges" d=${edges} /><path class="same" d=${dashes} />
      ${marks.map(mark => (mark.fan ? html`<text key=${`f${mark.node}`} class="fan" x=${X(mark)} y=${Y(mark) + 4}>+${count(mark.fan)} <tspan>(${count(mark.nodes)} nodes, reach ${short(mark.reach, 2)})</tspan></text>`
        : html`<g key=${mark.node} class="mark ${mark.node === data.here ? "here" : ""}" onClick=${() => to(mark.node)}>
          ${mark.player === -2 ? html`<rect x=${X(mark) - 4} y=${Y(mark) - 4} width="8" height="8" fill="var(--ink)" />` : html`<circle cx=${X(mark)} cy=${Y(mark)} r="6" fill=${colour(mark.player)} />`}
          ${mark.name && html`<text x=${X(mark) - 10} y=${Y(mark) - 6} text-anchor="end">${mark.name} ${text(mark)}</text>`}
          ${mark.player === -2 && html`<text x=${X(mark) + 10} y=${Y(mark) + 4}>${mark.value.map(v => short(v)).join(", ")}</text>`}</g>`))}</svg>`;
}

// The drawing with its colours written out, for a file that knows no style sheet.
function inked(svg) {
  const copy = svg.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.querySelectorAll(".edges").forEach(path => { path.setAttribute("fill", "none"); path.setAttribute("stroke", "#999"); });
  copy.querySelectorAll(".same").forEach(path => { path.setAttribute("fill", "none"); path.setAttribute("stroke", "#bbb"); path.setAttribute("stroke-dasharray", "4 4"); });
  copy.querySelectorAll("text").forEach(text => { text.setAttribute("font-family", "sans-serif"); text.setAttribute("font-size", "11"); });
  copy.querySelectorAll("[fill^=var]").forEach(mark => mark.setAttribute("fill", mark.getAttribute("fill").includes("muted") ? "#777" : "#222"));
  return copy.outerHTML;
}

export function Overview({ base, to, node }) {
  const { data, error, reload } = useAnswer(`/api/explore/overview?${base}`);
  const canvas = useRef(null);
  const [hover, setHover] = useState(null);
  const row = 22;
  useEffect(() => {
    const draw = () => {
      const place = canvas.current;
      if (!place || !data) return;
      const width = place.clientWidth, sharp = devicePixelRatio || 1;
      place.width = width * sharp;
      place.height = data.levels.length * row * sharp;
      const pen = place.getContext("2d");
      pen.scale(sharp, sharp);
      const muted = getComputedStyle(document.documentElement).getPropertyValue("--muted");
      data.levels.forEach((level, y) => level.forEach(([x, w, , here, player]) => {
        pen.fillStyle = player === -1 ? muted : player === -2 ? "#88888866" : hue(player);
        pen.fillRect(x * width, y * row + 1, Math.max(w * width - 1, 0.6), row - 2);
        if (here === node) { pen.strokeStyle = "#d55e00"; pen.lineWidth = 2; pen.strokeRect(x * width, y * row + 1, Math.max(w * width - 1, 2), row - 2); }
      }));
    };
    draw();
    addEventListener("resize", draw);
    addEventListener("themechange", draw);
    return () => { removeEventListener("resize", draw); removeEventListener("themechange", draw); };
  }, [data, node]);
  if (error) return html`<${Problem} error=${error} retry=${reload} />`;
  if (!data) return html`<p class="muted">…</p>`;
  const under = event => {
    const size = canvas.current.getBoundingClientRect(), x = (event.clientX - size.left) / size.width, y = Math.floor((event.clientY - size.top) / row);
    return [data.levels[y]?.find(([left, w]) => x >= left && x <= left + w), y];
  };
  const [seen, level] = hover || [];
  return html`<p>The whole tree, a level per row; as wide as it is likely under the policy. <span class="muted">${seen ? `Level ${level}: reach ${short(seen[1])}, worth ${short(seen[2])} to player 0, ${count(seen[5])} nodes` : "Point at a place to see what it is; click to go there."}</span></p>
    <canvas class="overview" ref=${canvas} style=${{ height: `${data.levels.length * row}px` }} role="img" aria-label="All levels of the tree, ${data.levels.length} of them" onPointerMove=${event => setHover(under(event))} onPointerLeave=${() => setHover(null)} onClick=${event => { const [found] = under(event); if (found) to(found[3]); }}></canvas>
    <details class="twin"><summary>The same as a table</summary><table><thead><tr><th scope="col">level</th><th scope="col" class="num">pieces</th><th scope="col" class="num">nodes</th></tr></thead><tbody>${data.levels.slice(0, 60).map((pieces, n) => html`<tr key=${n}><th scope="row">${n}</th><td class="num">${pieces.length}</td><td class="num">${count(pieces.reduce((sum, piece) => sum + piece[5], 0))}</td></tr>`)}</tbody></table></details>`;
}
