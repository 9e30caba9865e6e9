"""The HTML page of a plot in one file: figure, tooltips and tables."""

from __future__ import annotations

import json
from html import escape

import numpy as np

from counterplay.core.arena import Floats
from counterplay.experiment.config import JsonObject
from counterplay.experiment.plots.figure import CurveFigure, PlotLine

PAGE_CSS = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff;
       max-width: 1000px; margin: 2rem auto; padding: 0 1rem }
#plot { position: relative; cursor: crosshair }
#plot svg { width: 100%; height: auto; display: block }
#rule { position: absolute; width: 1px; background: #999; pointer-events: none }
.dot { position: absolute; width: 8px; height: 8px; margin: -4px 0 0 -4px; border-radius: 50%;
       pointer-events: none; box-shadow: 0 0 0 1.5px #fff }
#tip { position: absolute; pointer-events: none; background: #fffffff2; border: 1px solid #ccc;
       border-radius: 6px; padding: 6px 10px; font-size: 13px; white-space: nowrap;
       box-shadow: 0 2px 8px #0002 }
#tip td, #tip th { padding: 0 .5em 0 0; border: 0; background: none }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5rem 0 1.5rem }
th, td { text-align: right; padding: .15rem .8rem; border-bottom: 1px solid #e5e5e5 }
th:first-child, td:first-child { text-align: left }
thead th { position: sticky; top: 0; background: #fff; color: #666; font-weight: 600 }
i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .5em }
details > div { max-height: 30rem; overflow: auto }
summary { cursor: pointer }
[hidden] { display: none }
"""

PAGE_SCRIPT = """
const plot = document.getElementById("plot"), tip = document.getElementById("tip");
const rule = document.getElementById("rule"), number = new Intl.NumberFormat("en");
const lines = all.filter(line => line.step.length > 0);
const dots = lines.map(line => {
  const dot = plot.appendChild(document.createElement("div"));
  dot.className = "dot"; dot.style.background = line.colour; dot.hidden = true;
  return dot;
});
function nearest(positions, across) {
  let low = 0, high = positions.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (positions[middle][0] < across) low = middle; else high = middle;
  }
  return Math.abs(positions[low][0] - across) < Math.abs(positions[high][0] - across) ? low : high;
}
function hide() { tip.hidden = rule.hidden = true; dots.forEach(dot => dot.hidden = true); }
function show(event) {
  const box = plot.getBoundingClientRect();
  const across = (event.clientX - box.left) / box.width;
  const indices = lines.map(line => nearest(line.positions, across));
  const gaps = indices.map((n, k) => Math.abs(lines[k].positions[n][0] - across));
  const smallestGap = Math.min(...gaps);
  if (smallestGap > 0.05) return hide();
  const head = lines[gaps.indexOf(smallestGap)];
  const at = head.positions[indices[gaps.indexOf(smallestGap)]][0];
  const rows = [];
  lines.forEach((line, k) => {
    const n = nearest(line.positions, at), position = line.positions[n];
    const isNear = Math.abs(position[0] - at) < 0.02;
    dots[k].hidden = !isNear;
    if (!isNear) return;
    dots[k].style.left = position[0] * 100 + "%"; dots[k].style.top = position[1] * 100 + "%";
    const range = line.low ? ` [${line.low[n].toExponential(2)}, ${line.high[n].toExponential(2)}]`
                           : "";
    rows.push(`<tr><td><i style="background:${line.colour}">`
      + `</i>${line.name}</td><td>${number.format(line.step[n])}</td>`
      + `<td>${line.value[n].toExponential(3)}${range}</td></tr>`);
  });
  tip.innerHTML = `<table><tr><th></th><th>step</th><th>exploitability</th></tr>`
    + rows.join("") + `</table>`;
  tip.hidden = rule.hidden = rows.length === 0;
  rule.style.left = at * 100 + "%"; rule.style.top = frame[0] * 100 + "%";
  rule.style.height = (frame[1] - frame[0]) * 100 + "%";
  const right = at > 0.55;
  tip.style.left = right ? "auto" : `calc(${at * 100}% + 14px)`;
  tip.style.right = right ? `calc(${100 - at * 100}% + 14px)` : "auto";
  tip.style.top = Math.max(0, event.clientY - box.top - tip.offsetHeight / 2) + "px";
}
plot.addEventListener("pointermove", show);
plot.addEventListener("pointerleave", hide);
"""


def build_html_page(figure: CurveFigure) -> str:
    """Return the HTML page of a figure."""
    svg = figure.render("svg").decode()
    svg = svg[svg.index("<svg") :]  # without the XML declaration, which HTML does not allow
    pairs = zip(figure.lines, figure.point_positions, strict=True)
    data = json.dumps([_line_data(line, positions) for line, positions in pairs])
    data = data.replace("</", "<\\/")
    title = escape(figure.title)
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{PAGE_CSS}</style>
<div id="plot">
{svg}
<div id="rule" hidden></div>
<div id="tip" hidden></div>
</div>
{_summary_table(figure)}
<details><summary>All data</summary><div>
{"".join(map(_points_table, figure.lines))}
</div></details>
<script>
const all = {data}, frame = {list(figure.axes_extent)};
{PAGE_SCRIPT}
</script>
</html>
"""


def _line_label(line: PlotLine) -> str:
    return escape(f"{line.curve.label}, {line.curve.policy}")


def _line_data(line: PlotLine, positions: Floats) -> JsonObject:
    is_drawn = np.isfinite(positions).all(axis=1)  # a log axis does not show zero
    curve = line.curve
    has_range = curve.num_runs > 1
    return {
        "name": _line_label(line),
        "colour": line.colour,
        "step": curve.step[is_drawn].astype(int).tolist(),
        "value": curve.median[is_drawn].tolist(),
        "low": curve.low[is_drawn].tolist() if has_range else None,
        "high": curve.high[is_drawn].tolist() if has_range else None,
        "positions": positions[is_drawn].round(5).tolist(),
    }


def _summary_table(figure: CurveFigure) -> str:
    rows = []
    for line in figure.lines:
        curve = line.curve
        best = int(curve.median.argmin())
        cells = (
            f'<i style="background:{line.colour}"></i>' + _line_label(line),
            str(curve.num_runs),
            f"{curve.step[-1]:,.0f}",
            f"{curve.median[-1]:.3e}",
            f"{curve.median[best]:.3e}",
            f"{curve.step[best]:,.0f}",
        )
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{name}</th>" for name in ("", "runs", "step", "last", "best", "at step"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _points_table(line: PlotLine) -> str:
    """Return a table of all points of a line."""
    curve = line.curve
    names, columns = ["step", "seconds", "exploitability"], [curve.median]
    if curve.num_runs > 1:
        names, columns = (
            [*names[:2], "median", "least", "largest"],
            [*columns, curve.low, curve.high],
        )
    head = "".join(f"<th>{name}</th>" for name in names)
    rows = []
    for step, seconds, *values in zip(curve.step, curve.seconds, *columns, strict=True):
        cells = [f"{step:,.0f}", f"{seconds:,.2f}", *(f"{value:.4e}" for value in values)]
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n")
    body = "".join(rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<h3>{_line_label(line)}</h3>\n{table}"
