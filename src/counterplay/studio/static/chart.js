// Curves on a canvas, log-log unless told otherwise, with the same numbers as a table.

import uPlot from "./vendor/uplot.js";
import { html, useEffect, useRef, useState, short, superscript } from "./ui.js";

const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const power = v => {
  const exponent = Math.log10(v);
  return Math.abs(exponent - Math.round(exponent)) < 1e-9 ? Math.round(exponent) : null;
};
const tick = v => {
  const exponent = power(v);
  if (exponent === null) return "";
  return exponent >= -2 && exponent <= 3 ? String(10 ** exponent) : `10${superscript(exponent)}`;
};

function scale(log) {
  return log ? { distr: 3, log: 10 } : { distr: 1 };
}

function axis(label, log, size) {
  const decades = log ? { filter: (u, splits) => splits.map(v => (v !== null && power(v) !== null ? v : null)) } : {};
  return {
    label, size, labelSize: 22, gap: 6, labelFont: "13px system-ui", font: "12px system-ui",
    stroke: () => css("--muted"),
    grid: { stroke: () => css("--grid"), width: 1, ...decades },
    ticks: { stroke: () => css("--grid"), width: 1, ...decades },
    ...(log ? { values: (u, splits) => splits.map(v => (v === null ? "" : tick(v))), ...decades }
      : { values: (u, splits) => splits.map(v => short(v)) }),
  };
}

// series: [{ label, x, y, hue, dash, low, high }]; values of 0, which a log axis has no place for,
// stand on the bottom line
export function Chart({ series, xlabel, ylabel, logx = true, logy = true, zoom, height = 340, label }) {
  const place = useRef(null);
  const plot = useRef(null);
  const shown = series.filter(one => one.x.length);
  const layout = JSON.stringify([shown.map(s => [s.label, s.hue, s.dash, !!s.low]), logx, logy, xlabel, ylabel, height]);

  useEffect(() => {
    if (!shown.length || !place.current) return undefined;
    const width = place.current.clientWidth || 600;
    const lines = [];
    const bands = [];
    for (const one of shown) {
      lines.push({
        label: one.label, stroke: one.hue, width: 2, dash: one.dash, spanGaps: true,
        points: { show: one.x.length < 40, size: 5 }, value: (u, v) => short(v),
      });
      if (one.low) {
        const edge = { stroke: "transparent", width: 0, spanGaps: true, points: { show: false }, value: (u, v) => short(v) };
        lines.push({ ...edge, label: `${one.label}: most` }, { ...edge, label: `${one.label}: least` });
        bands.push({ series: [lines.length - 1, lines.length], fill: `${one.hue}33` });
      }
    }
    plot.current = new uPlot({
      width, height, legend: { show: false }, bands,
      scales: { x: { time: false, ...scale(logx), range: (u, low, high) => (low === high ? [low * 0.9, high * 1.1 || 1] : [low, high]) }, y: scale(logy) },
      axes: [axis(xlabel, logx, 44), axis(ylabel, logy, 62)],
      series: [{ label: xlabel }, ...lines],
      cursor: { drag: { x: true, y: false, setScale: !zoom }, points: { size: 7 } },
      hooks: {
        setSelect: [u => {
          if (!zoom || u.select.width < 6) return;
          zoom(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
          u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        }],
      },
    }, joined(shown, logx, logy), place.current);
    const resize = new ResizeObserver(() => {
      const now = place.current?.clientWidth;
      if (now && plot.current && now !== plot.current.width) plot.current.setSize({ width: now, height });
    });
    resize.observe(place.current);
    const theme = () => plot.current?.redraw();
    addEventListener("themechange", theme);
    return () => {
      resize.disconnect();
      removeEventListener("themechange", theme);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [layout]);

  useEffect(() => {
    plot.current?.setData(joined(shown, logx, logy));
  });

  if (!shown.length) return null;
  return html`<figure class="chart" data-points=${Math.max(...shown.map(one => one.x.length))}>
    <div class="legend">${shown.map(one => html`<span key=${one.label}><i style=${{ background: one.hue }} class=${one.dash ? "dashed" : ""}></i>${one.label}</span>`)}</div>
    <div class="plot" ref=${place} role="img" aria-label=${label || `${ylabel} by ${xlabel}`}
      onDblClick=${() => zoom?.(null, null)}></div>
    <${Twin} series=${shown} xlabel=${xlabel} />
  </figure>`;
}

function joined(series, logx, logy) {
  const positive = series.flatMap(s => [...s.y, ...(s.low || [])]).filter(v => v > 0);
  const floor = positive.length ? positive.reduce((a, b) => Math.min(a, b)) / 10 : 1e-16;
  const fit = values => (logy ? values.map(v => (v === null || v === undefined ? null : v > 0 ? v : floor)) : values);
  const tables = series.map(one => {
    let { x } = one;
    const columns = one.low ? [one.y, one.high, one.low] : [one.y];
    const keep = logx ? x.map((v, i) => (v > 0 ? i : -1)).filter(i => i >= 0) : null;
    const pick = values => (keep && keep.length < x.length ? keep.map(i => values[i]) : values);
    const found = [pick(x), ...columns.map(pick).map(fit)];
    return found;
  });
  if (tables.length === 1) return tables[0];
  return uPlot.join(tables);
}

function Twin({ series, xlabel }) {
  const [open, set] = useState(false);
  const one = series[0];
  const places = [];
  const n = one.x.length;
  for (let k = 0; k < Math.min(14, n); k++) {
    const place = Math.round(n ** (n > 14 ? k / 13 : 1) - 1);
    places.push(n > 14 ? Math.min(place, n - 1) : k);
  }
  const rows = [...new Set(places)];
  const same = series.filter(s => s.x.length === n && s.x[n - 1] === one.x[n - 1]);
  return html`<details class="twin" open=${open} onToggle=${event => set(event.target.open)}>
    <summary>The curve as a table</summary>
    ${open && html`<div class="scroll"><table><thead><tr><th scope="col">${xlabel}</th>${same.map(s => html`<th scope="col">${s.label}</th>`)}</tr></thead>
      <tbody>${rows.map(i => html`<tr key=${i}><th scope="row">${short(one.x[i], 4)}</th>${same.map(s => html`<td title=${s.y[i]}>${short(s.y[i])}</td>`)}</tr>`)}</tbody></table></div>`}
  </details>`;
}

// A few points as a line in a row of a table.
export function Spark({ points, running }) {
  const found = points.filter(([x, y]) => x > 0 && y > 0);
  if (found.length < 2) return html`<span class="muted">–</span>`;
  const xs = found.map(([x]) => Math.log(x)), ys = found.map(([, y]) => Math.log(y));
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)], [y0, y1] = [Math.min(...ys), Math.max(...ys)];
  const at = i => `${(2 + 76 * (xs[i] - x0) / (x1 - x0 || 1)).toFixed(1)},${(2 + 18 * (y1 - ys[i]) / (y1 - y0 || 1)).toFixed(1)}`;
  return html`<svg class="spark ${running ? "running" : ""}" viewBox="0 0 80 22" role="img"
    aria-label="from ${short(found[0][1])} to ${short(found.at(-1)[1])}"><polyline points=${found.map((_, i) => at(i)).join(" ")} /></svg>`;
}
