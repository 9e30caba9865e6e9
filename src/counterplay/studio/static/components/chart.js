// Curves on a canvas (uPlot), on log axes by default, with the numbers as a table.

import { formatNumber, toSuperscript } from "../lib/format.js";
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import uPlot from "../vendor/uplot.js";

const MAX_TABLE_ROWS = 14;

const cssVariable = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Return the exponent of a power of ten; null for other numbers. */
const exactPowerOfTen = (value) => {
  const exponent = Math.log10(value);
  return Math.abs(exponent - Math.round(exponent)) < 1e-9 ? Math.round(exponent) : null;
};

const formatTick = (value) => {
  const exponent = exactPowerOfTen(value);
  if (exponent === null) return "";
  return exponent >= -2 && exponent <= 3 ? String(10 ** exponent) : `10${toSuperscript(exponent)}`;
};

function axisScale(log) {
  return log ? { distr: 3, log: 10 } : { distr: 1 };
}

function axisOptions(label, log, size) {
  const decades = log
    ? {
        filter: (u, splits) =>
          splits.map((value) => (value !== null && exactPowerOfTen(value) !== null ? value : null)),
      }
    : {};
  return {
    label,
    size,
    labelSize: 22,
    gap: 6,
    labelFont: "13px system-ui",
    font: "12px system-ui",
    stroke: () => cssVariable("--muted"),
    grid: { stroke: () => cssVariable("--grid"), width: 1, ...decades },
    ticks: { stroke: () => cssVariable("--grid"), width: 1, ...decades },
    ...(log
      ? {
          values: (u, splits) => splits.map((value) => (value === null ? "" : formatTick(value))),
          ...decades,
        }
      : { values: (u, splits) => splits.map((value) => formatNumber(value)) }),
  };
}

/**
 * Curves with a legend and a table. A value of 0, which a log axis cannot show, is drawn on the
 * bottom line.
 * @param {{ series: { label: string, x: number[], y: number[], colour: string, dash?: number[],
 *   low?: number[], high?: number[] }[], xLabel: string, yLabel: string, logX?: boolean,
 *   logY?: boolean, zoom?: (low: number | null, high: number | null) => void, height?: number,
 *   label?: string }} props `low` and `high` are the edges of a band; `zoom` receives the range
 *   that the user selects, and null for all
 */
export function Chart({
  series,
  xLabel,
  yLabel,
  logX = true,
  logY = true,
  zoom,
  height = 340,
  label,
}) {
  const container = useRef(null);
  const plot = useRef(null);
  const visibleSeries = series.filter((curve) => curve.x.length);
  const layout = JSON.stringify([
    visibleSeries.map((curve) => [curve.label, curve.colour, curve.dash, !!curve.low]),
    logX,
    logY,
    xLabel,
    yLabel,
    height,
  ]);

  useEffect(() => {
    if (!visibleSeries.length || !container.current) return undefined;
    const width = container.current.clientWidth || 600;
    const lines = [];
    const bands = [];
    for (const curve of visibleSeries) {
      lines.push({
        label: curve.label,
        stroke: curve.colour,
        width: 2,
        dash: curve.dash,
        spanGaps: true,
        points: { show: curve.x.length < 40, size: 5 },
        value: (u, value) => formatNumber(value),
      });
      if (curve.low) {
        const edge = {
          stroke: "transparent",
          width: 0,
          spanGaps: true,
          points: { show: false },
          value: (u, value) => formatNumber(value),
        };
        lines.push(
          { ...edge, label: `${curve.label}: high` },
          { ...edge, label: `${curve.label}: low` },
        );
        bands.push({ series: [lines.length - 1, lines.length], fill: `${curve.colour}33` });
      }
    }
    plot.current = new uPlot(
      {
        width,
        height,
        legend: { show: false },
        bands,
        scales: {
          x: {
            time: false,
            ...axisScale(logX),
            range: (u, low, high) => (low === high ? [low * 0.9, high * 1.1 || 1] : [low, high]),
          },
          y: axisScale(logY),
        },
        axes: [axisOptions(xLabel, logX, 44), axisOptions(yLabel, logY, 62)],
        series: [{ label: xLabel }, ...lines],
        cursor: { drag: { x: true, y: false, setScale: !zoom }, points: { size: 7 } },
        hooks: {
          setSelect: [
            (u) => {
              if (!zoom || u.select.width < 6) return;
              zoom(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
              u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
            },
          ],
        },
      },
      joinSeries(visibleSeries, logX, logY),
      container.current,
    );
    const resize = new ResizeObserver(() => {
      const newWidth = container.current?.clientWidth;
      if (newWidth && plot.current && newWidth !== plot.current.width) {
        plot.current.setSize({ width: newWidth, height });
      }
    });
    resize.observe(container.current);
    const redraw = () => plot.current?.redraw();
    addEventListener("themechange", redraw);
    return () => {
      resize.disconnect();
      removeEventListener("themechange", redraw);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [layout]);

  useEffect(() => {
    plot.current?.setData(joinSeries(visibleSeries, logX, logY));
  });

  if (!visibleSeries.length) return null;
  return html`
    <figure class="chart" data-points=${Math.max(...visibleSeries.map((curve) => curve.x.length))}>
      <div class="legend">
        ${visibleSeries.map(
          (curve) => html`
            <span key=${curve.label}>
              <i style=${{ background: curve.colour }} class=${curve.dash ? "dashed" : ""}></i>
              ${curve.label}
            </span>
          `,
        )}
      </div>
      <div
        class="plot"
        ref=${container}
        role="img"
        aria-label=${label || `${yLabel} by ${xLabel}`}
        onDblClick=${() => zoom?.(null, null)}
      ></div>
      <${DataTable} series=${visibleSeries} xLabel=${xLabel} />
    </figure>
  `;
}

/** Return the data for uPlot: a shared x axis, and values that the axes can show. */
function joinSeries(series, logX, logY) {
  const positive = series
    .flatMap((curve) => [...curve.y, ...(curve.low || [])])
    .filter((value) => value > 0);
  const floor = positive.length ? positive.reduce((a, b) => Math.min(a, b)) / 10 : 1e-16;
  const raiseToFloor = (values) =>
    logY
      ? values.map((value) =>
          value === null || value === undefined ? null : value > 0 ? value : floor,
        )
      : values;
  const tables = series.map((curve) => {
    const { x } = curve;
    const columns = curve.low ? [curve.y, curve.high, curve.low] : [curve.y];
    const positiveIndices = logX
      ? x.map((value, i) => (value > 0 ? i : -1)).filter((i) => i >= 0)
      : null;
    const selectRows = (values) =>
      positiveIndices && positiveIndices.length < x.length
        ? positiveIndices.map((i) => values[i])
        : values;
    return [selectRows(x), ...columns.map(selectRows).map(raiseToFloor)];
  });
  if (tables.length === 1) return tables[0];
  return uPlot.join(tables);
}

/** The curves as numbers, at points that are evenly spaced on a log axis. */
function DataTable({ series, xLabel }) {
  const [open, setOpen] = useState(false);
  const firstCurve = series[0];
  const numPoints = firstCurve.x.length;
  const numRows = Math.min(numPoints, MAX_TABLE_ROWS);
  const rowIndex = (k) => {
    if (numPoints <= MAX_TABLE_ROWS) return k;
    return Math.min(Math.round(numPoints ** (k / (numRows - 1)) - 1), numPoints - 1);
  };
  const rows = [...new Set([...Array(numRows).keys()].map(rowIndex))];
  const alignedSeries = series.filter(
    (curve) =>
      curve.x.length === numPoints && curve.x[numPoints - 1] === firstCurve.x[numPoints - 1],
  );
  return html`
    <details class="data-table" open=${open} onToggle=${(event) => setOpen(event.target.open)}>
      <summary>Data as a table</summary>
      ${
        open &&
        html`
          <div class="scroll">
            <table>
              <thead>
                <tr>
                  <th scope="col">${xLabel}</th>
                  ${alignedSeries.map((curve) => html`<th scope="col">${curve.label}</th>`)}
                </tr>
              </thead>
              <tbody>
                ${rows.map(
                  (row) => html`
                    <tr key=${row}>
                      <th scope="row">${formatNumber(firstCurve.x[row], 4)}</th>
                      ${alignedSeries.map(
                        (curve) => html`
                          <td title=${curve.y[row]}>${formatNumber(curve.y[row])}</td>
                        `,
                      )}
                    </tr>
                  `,
                )}
              </tbody>
            </table>
          </div>
        `
      }
    </details>
  `;
}
