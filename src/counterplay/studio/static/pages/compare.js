// Runs side by side: seeds of one method are one curve with a band.

import { Chart } from "../components/chart.js";
import { CommandLineHint, ErrorMessage, Link, RunStateBadge, Tabs } from "../components/common.js";
import { seriesColour } from "../lib/colours.js";
import { formatCount, formatDuration, formatNumber, gameTitle } from "../lib/format.js";
import { useApi, useLiveRuns, useThrottled } from "../lib/hooks.js";
import { html, useState } from "../lib/preact.js";
import { navigate, updateQuery, useLocation } from "../lib/router.js";

/** The page that compares runs. */
export function Compare() {
  const { query } = useLocation();
  const { runs, loaded } = useLiveRuns();
  const runIds = query.getAll("r");
  const x = query.get("x") === "seconds" ? "seconds" : "step";
  const target = Number(query.get("target") || 1e-3);
  const progressKey = runIds.map((id) => runs.get(id)?.step || 0).join();
  const throttledKey = useThrottled(progressKey, 1500);
  const runsQuery = new URLSearchParams(runIds.map((id) => ["r", id]));
  const path = runIds.length ? `/api/compare?${runsQuery}&v=${throttledKey}` : "";
  const { data, error, reload } = useApi(path);
  const showRuns = (ids) => {
    const params = new URLSearchParams(query);
    params.delete("r");
    ids.forEach((id) => params.append("r", id));
    navigate(`/compare?${params}`);
  };
  const games = [...new Set((data?.groups || []).map((group) => group.game))];
  return html`
    <div class="head">
      <h1>Compare</h1>
      <span class="grow"></span>
      <${Tabs}
        label="Horizontal axis"
        value=${x}
        options=${[
          ["step", "steps"],
          ["seconds", "seconds"],
        ]}
        choose=${(key) => updateQuery({ x: key === "step" ? "" : key })}
      />
    </div>
    <${ErrorMessage} error=${error} retry=${reload} />
    ${
      data?.gone?.length > 0 &&
      html`<p class="notice">No longer exists: ${data.gone.join(", ")}</p>`
    }
    ${
      data?.empty?.length > 0 &&
      html`<p class="notice">No records yet: ${data.empty.join(", ")}</p>`
    }
    ${data?.damaged?.map(
      ({ id, problem }) => html`
        <p key=${id} class="notice">
          <b>${id}</b> is not shown: ${problem}
        </p>
      `,
    )}
    ${
      runIds.length === 0 &&
      loaded &&
      html`
        <p>
          Choose runs below, or on the page of all <${Link} to="/">runs</${Link}>
          . Runs that differ only in their seed become one curve: the median,
          with a band from the lowest to the highest.
        </p>
      `
    }
    ${games.map((game) => {
      const groups = data.groups.filter((group) => group.game === game);
      const exactGroups = groups.filter((group) => group.exact);
      const sampledGroups = groups.filter((group) => !group.exact);
      return html`
        ${
          exactGroups.length > 0 &&
          html`
            <${GamePanel} key=${game} game=${game} groups=${exactGroups} x=${x} target=${target} />
          `
        }
        ${
          sampledGroups.length > 0 &&
          html`<${CountsTable} key=${`${game} on rules`} game=${game} groups=${sampledGroups} />`
        }
      `;
    })}
    ${
      data?.groups?.length > 0 &&
      html`
        <label class="inline">
          Target exploitability${" "}
          <input
            type="number"
            step="any"
            min="0"
            value=${target}
            onChange=${(event) => updateQuery({ target: event.target.value })}
          />
        </label>
      `
    }
    ${
      data?.differing?.length > 0 &&
      html`
        <section class="card">
          <h2>Config differences</h2>
          <div class="scroll">
            <table>
              <thead>
                <tr>
                  <th scope="col">key</th>
                  ${runIds.map((id) => html`<th scope="col" key=${id}>${id}</th>`)}
                </tr>
              </thead>
              <tbody>
                ${data.differing.map(
                  ({ key, values }) => html`
                    <tr key=${key}>
                      <th scope="row">${key}</th>
                      ${runIds.map((id) => html`<td key=${id}>${JSON.stringify(values[id])}</td>`)}
                    </tr>
                  `,
                )}
              </tbody>
            </table>
          </div>
        </section>
      `
    }
    <${RunPicker} runs=${runs} runIds=${runIds} choose=${showRuns} />
    <${CommandLineHint}>
      counterplay compare ${runIds.map((id) => `runs/${id}`).join(" ") || "runs"}
    </${CommandLineHint}>
  `;
}

/** Median of an interval, with its ends if they differ. */
function formatRange(interval) {
  if (!interval) return "–";
  const range = html`
    <small>
      ${" "}${formatNumber(interval.low)} to ${formatNumber(interval.high)}
    </small>
  `;
  return html`${formatNumber(interval.median)}${interval.low !== interval.high && range}`;
}

/** Runs on rules, whose records are counts: exploitability cannot be computed there. */
function CountsTable({ game, groups }) {
  const countNames = [...new Set(groups.flatMap((group) => Object.keys(group.row.counts)))];
  const headings = ["runs", "step", ...countNames, "steps per second"];
  return html`
    <section class="card">
      <h2>${gameTitle(game)}, on rules</h2>
      <p class="muted">Exploitability cannot be computed on rules; the table shows counts.</p>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">method</th>
              ${headings.map((name) => html`<th key=${name} scope="col" class="num">${name}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${groups.map(
              ({ label, runs, row }) => html`
                <tr key=${label}>
                  <th scope="row">${label}</th>
                  <td class="num">${runs.length}</td>
                  <td class="num">${formatRange(row.step)}</td>
                  ${countNames.map(
                    (name) => html`
                      <td key=${name} class="num">${formatRange(row.counts[name])}</td>
                    `,
                  )}
                  <td class="num">${formatRange(row.steps_per_second)}</td>
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
    </section>
  `;
}

function GamePanel({ game, groups, x, target }) {
  const series = groups.map((group, index) => ({
    label: `${group.label}${group.runs.length > 1 ? `, ${group.runs.length} runs` : ""}`,
    x: group.curve[x],
    y: group.curve.median,
    colour: seriesColour(index),
    low: group.runs.length > 1 ? group.curve.low : undefined,
    high: group.runs.length > 1 ? group.curve.high : undefined,
  }));
  const stepsToTarget = (group) => {
    const index = group.curve.median.findIndex((value) => value <= target);
    return index < 0
      ? "not yet"
      : x === "seconds"
        ? formatDuration(group.curve.seconds[index])
        : `${formatCount(group.curve.step[index])} steps`;
  };
  return html`
    <section class="card">
      <h2>${gameTitle(game)}</h2>
      <${Chart}
        series=${series}
        xLabel=${x === "step" ? "steps" : "seconds"}
        yLabel="exploitability"
      />
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">method</th>
              <th scope="col" class="num">runs</th>
              <th scope="col" class="num">step</th>
              <th scope="col" class="num">exploitability</th>
              <th scope="col" class="num">best</th>
              <th scope="col" class="num">current</th>
              <th scope="col" class="num">steps per second</th>
              <th scope="col" class="num">to ${formatNumber(target)}</th>
            </tr>
          </thead>
          <tbody>
            ${groups.map(
              (group, index) => html`
                <tr key=${group.label}>
                  <th scope="row">
                    <i class="swatch" style=${{ background: seriesColour(index) }}></i>
                    ${group.label}
                  </th>
                  <td class="num">${group.runs.length}</td>
                  <td class="num">${formatRange(group.row.step)}</td>
                  <td class="num">${formatRange(group.row.average)}</td>
                  <td class="num">${formatRange(group.row.best)}</td>
                  <td class="num">${formatRange(group.row.current)}</td>
                  <td class="num">${formatRange(group.row.steps_per_second)}</td>
                  <td class="num">${stepsToTarget(group)}</td>
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
    </section>
  `;
}

function RunPicker({ runs, runIds, choose }) {
  const [filter, setFilter] = useState("");
  const games = new Set(runIds.map((id) => runs.get(id)?.game));
  const candidates = [...runs.values()]
    .filter((run) =>
      `${run.id} ${run.game} ${run.algorithm}`.toLowerCase().includes(filter.toLowerCase()),
    )
    .sort((a, b) => Number(games.has(b.game)) - Number(games.has(a.game)) || (a.id < b.id ? 1 : -1))
    .slice(0, 40);
  return html`
    <section class="card">
      <div class="head">
        <h2>Runs</h2>
        <span class="muted">${runIds.length} selected</span>
        <span class="grow"></span>
        <label class="search">
          <span class="visually-hidden">Find runs to compare</span>
          <input
            data-search
            type="search"
            placeholder="Find runs"
            value=${filter}
            onInput=${(event) => setFilter(event.target.value)}
          />
        </label>
      </div>
      ${
        runs.size === 0 &&
        html`
          <p class="muted">
            There are no runs yet. <${Link} to="/new">Start one</${Link}>
          </p>
        `
      }
      <ul class="picker">
        ${candidates.map(
          (run) => html`
            <li key=${run.id}>
              <label>
                <input
                  type="checkbox"
                  checked=${runIds.includes(run.id)}
                  onChange=${(event) =>
                    choose(
                      event.target.checked
                        ? [...runIds, run.id]
                        : runIds.filter((id) => id !== run.id),
                    )}
                /> <b>${run.name}</b>
                <span>${gameTitle(run.game)}, ${run.algorithm}, seed ${run.seed}</span>${" "}
                <span class="muted">${run.exact ? formatNumber(run.value) : "on rules"}</span>
              </label> <${RunStateBadge} state=${run.state} />
            </li>
          `,
        )}
      </ul>
    </section>
  `;
}
