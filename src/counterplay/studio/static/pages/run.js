// One run: its metrics as they grow, its state, its config, and links to explore and play.

import { Chart } from "../components/chart.js";
import {
  CommandLineHint,
  DownloadButton,
  ErrorMessage,
  FractionBar,
  Link,
  RunStateBadge,
  Tabs,
} from "../components/common.js";
import { Population } from "../components/population.js";
import { get } from "../lib/api.js";
import { seriesColour } from "../lib/colours.js";
import {
  formatAge,
  formatCount,
  formatDuration,
  formatNumber,
  formatPercent,
  gameTitle,
  quoteForShell,
  secondsLeft,
} from "../lib/format.js";
import { useApi, useApiAction, useLiveRuns } from "../lib/hooks.js";
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { updateQuery, useLocation } from "../lib/router.js";

const MAX_POINTS_BEFORE_RELOAD = 8000; // beyond, the server thins them again

const NUM_POINTS = 2000; // of the first request
const KILL_OFFER_MS = 8000; // after a stop request
const RESUMABLE_STATES = ["stopped", "killed", "aborted", "failed", "ended", "new"];
const MISSING_RUN_TEXT = "This run no longer exists. It may have been moved or deleted.";

/** Hook: the metrics of a run, loaded incrementally, each record once. */
function useMetrics(id, version, { x, logX, from, to }) {
  const [state, setState] = useState({});
  const refresh = useRef(null);
  useEffect(() => {
    let cancelled = false;
    let isLoading = false;
    let isStale = false;
    let metrics = {};
    const loadMetrics = async () => {
      const afterQuery =
        metrics.rows && !from && metrics.columns[0].length < MAX_POINTS_BEFORE_RELOAD
          ? `&after=${metrics.rows}&epoch=${metrics.epoch}`
          : "";
      const scale = logX ? "log" : "linear";
      const rangeQuery = from ? `&from=${from}&to=${to}` : "";
      const axisQuery = `x=${x}&scale=${scale}&points=${NUM_POINTS}`;
      const response = await get(`/api/runs/${id}/metrics?${axisQuery}${rangeQuery}${afterQuery}`);
      const isContinuation =
        afterQuery && response.after === metrics.rows && response.epoch === metrics.epoch;
      const columns = isContinuation
        ? metrics.columns.map((values, i) =>
            response.data[i]?.length ? values.concat(response.data[i]) : values,
          )
        : response.data;
      metrics = {
        rows: response.rows,
        epoch: response.epoch,
        columns,
        names: response.columns,
        best: response.best,
      };
    };
    refresh.current = async () => {
      // One request at a time; records that arrive meanwhile come with the next one.
      isStale = true;
      if (isLoading) return;
      isLoading = true;
      while (isStale && !cancelled) {
        isStale = false;
        try {
          await loadMetrics();
          if (!cancelled) setState(metrics);
        } catch (error) {
          if (!cancelled) setState((previous) => ({ ...previous, error }));
        }
      }
      isLoading = false;
    };
    return () => {
      cancelled = true;
    };
  }, [id, x, logX, from, to]);
  useEffect(() => {
    refresh.current();
  }, [id, version, x, logX, from, to]);
  return state;
}

/**
 * The page of one run.
 * @param {{ id: string }} props
 */
export function Run({ id }) {
  const { query } = useLocation();
  const { runs, loaded, online } = useLiveRuns();
  const run = runs.get(id);
  const x = query.get("x") === "seconds" ? "seconds" : "step";
  const logX = query.get("scale") !== "linear";
  const logY = query.get("y") !== "linear";
  const from = query.get("from");
  const to = query.get("to");
  const metrics = useMetrics(id, `${run?.version} ${online}`, { x, logX, from, to });
  const { data: detail } = useApi(run && `/api/runs/${id}?v=${run.state}`);
  if (!run) {
    return html`
      <h1>${id}</h1>
      <p>
        ${loaded ? MISSING_RUN_TEXT : "Loading …"}${" "}
        <${Link} to="/">All runs</${Link}>
      </p>
    `;
  }
  const metricNames = (metrics.names || []).filter((name) => !["step", "seconds"].includes(name));
  const xValues = metrics.names ? metrics.columns[metrics.names.indexOf(x)] : [];
  const series = metricNames.map((name, index) => ({
    label: name.replace(/_/g, " "),
    x: xValues,
    y: metrics.columns[metrics.names.indexOf(name)],
    colour: seriesColour(index),
    dash: name === "current" ? [4, 4] : undefined,
  }));
  const isRunning = run.state === "running";
  const canResume = !isRunning && run.state !== "finished";
  const folder = quoteForShell(detail?.folder || id);
  const fraction = run.max_steps ? run.step / run.max_steps : 0;
  const lastValue = `${formatNumber(run.value)} at step ${formatCount(run.step)}`;
  const chartLabel = `${run.exact ? "Exploitability" : "Counts"} of ${run.name}: ${lastValue}`;
  const zoom = (low, high) => updateQuery({ from: low, to: high }, { replace: true });
  return html`
    <div class="head">
      <h1>
        ${run.name} <small class="muted">${id.split("/").slice(1).join("/")}</small>
      </h1>
      <${RunStateBadge} state=${run.state} />
      <span class="grow"></span>
      <${RunActions} run=${run} />
    </div>
    ${
      !run.damage &&
      html`
        <p class="subtitle">
          ${run.algorithm} on${" "}
          <${Link} to=${`/games/${encodeURIComponent(run.game)}`}>${gameTitle(run.game)}</${Link}>
          , seed ${run.seed}, started ${formatAge(run.began)}
        </p>
      `
    }
    <${RunBanner} run=${run} />
    <dl class="facts">
      <div>
        <dt>Step</dt>
        <dd>
          ${formatCount(run.step)} <small>of ${formatCount(run.max_steps)}</small>
          <${FractionBar} fraction=${fraction} label="${formatPercent(fraction)} done" />
        </dd>
      </div>
      <div>
        <dt>${run.exact ? "Exploitability" : "Last evaluation"}</dt>
        <dd title=${run.value}>
          ${formatNumber(run.value)} <small>${run.policy.replace(/_/g, " ")}</small>
        </dd>
      </div>
      <div>
        <dt>Best</dt>
        <dd title=${run.best}>${formatNumber(run.best)}</dd>
      </div>
      <div>
        <dt>${isRunning ? "Steps per second" : "Time in the algorithm"}</dt>
        <dd>${isRunning ? formatNumber(run.rate || null) : formatDuration(run.seconds)}</dd>
      </div>
      <div>
        <dt>Time left</dt>
        <dd>${isRunning ? formatDuration(secondsLeft(run)) : "–"}</dd>
      </div>
    </dl>
    <section class="card">
      <div class="head">
        <h2>${run.exact ? "Exploitability" : "Sampled infosets"}</h2>
        <span class="grow"></span>
        <${Tabs}
          label="Horizontal axis"
          value=${x}
          options=${[
            ["step", "steps"],
            ["seconds", "seconds"],
          ]}
          choose=${(key) => updateQuery({ x: key === "step" ? "" : key, from: "", to: "" })}
        />
        <${Tabs}
          label="Horizontal scale"
          value=${logX ? "log" : "linear"}
          options=${[
            ["log", "log x"],
            ["linear", "linear x"],
          ]}
          choose=${(key) => updateQuery({ scale: key === "log" ? "" : key })}
        />
        <${Tabs}
          label="Vertical scale"
          value=${logY ? "log" : "linear"}
          options=${[
            ["log", "log y"],
            ["linear", "linear y"],
          ]}
          choose=${(key) => updateQuery({ y: key === "log" ? "" : key })}
        />
        ${from && html`<button onClick=${() => zoom("", "")}>Reset zoom</button>`}
        <${DownloadButton} path=${`/api/runs/${id}/metrics.csv`} name=${`${run.name}.csv`}>
          CSV
        </${DownloadButton}>
      </div>
      <${ErrorMessage} error=${metrics.error} />
      ${
        metrics.rows === 0
          ? html`<p class="muted">No records yet; the first one follows the first evaluation.</p>`
          : html`
              <${Chart}
                series=${series}
                xLabel=${x === "step" ? "steps" : "seconds"}
                yLabel=${run.exact ? "exploitability" : "count"}
                logX=${logX}
                logY=${logY}
                zoom=${zoom}
                label=${chartLabel}
              />
            `
      }
      <p class="muted small">
        ${formatCount(metrics.rows || 0)} records. Drag to zoom, double-click to reset.
      </p>
    </section>
    ${detail?.population && html`<${Population} id=${id} version=${run.checkpoint} />`}
    ${detail && html`<${RunDetails} detail=${detail} run=${run} />`}
    <${CommandLineHint}>
      counterplay ${canResume ? `resume ${folder}` : `plot ${folder} -o curve.png`}
    </${CommandLineHint}>
  `;
}

function RunBanner({ run }) {
  const [send, { busy, error }] = useApiAction();
  const resume = () => send("POST", `/api/runs/${run.id}/resume`, {});
  const message = {
    killed:
      `It was killed at about step ${formatCount(run.step)}. Resume continues from the last ` +
      "checkpoint; the results equal those of an uninterrupted run.",
    aborted:
      "It was aborted before it wrote a final checkpoint. Resume continues from the last one.",
    lost: "It runs on another machine, which has sent no heartbeat for a while.",
    failed: run.problem,
    damaged: run.problem,
  }[run.state];
  if (!message) return null;
  return html`
    <div class="problem" role="alert">
      <p>${message}</p>
      ${
        ["killed", "aborted"].includes(run.state) &&
        html`<button class="primary" disabled=${busy} onClick=${resume}>Resume</button>`
      }
      <${ErrorMessage} error=${error} />
    </div>
  `;
}

function RunActions({ run }) {
  const [send, { busy, error }, clear] = useApiAction();
  const [stopRequestTime, setStopRequestTime] = useState(0);
  const [newMaxSteps, setNewMaxSteps] = useState(null);
  useEffect(() => {
    if (run.state !== "running") setStopRequestTime(0);
  }, [run.state]);
  const stop = async () => {
    if (await send("POST", `/api/runs/${run.id}/stop`, {})) setStopRequestTime(Date.now());
  };
  const policyQuery = `policy=${encodeURIComponent(`run:${run.id}@${run.policy || "average"}`)}`;
  const canKill = stopRequestTime && Date.now() - stopRequestTime > KILL_OFFER_MS;
  return html`
    <div class="actions">
      ${
        run.state === "running" &&
        html`
          <button onClick=${stop} disabled=${busy || stopRequestTime}>
            ${stopRequestTime ? "Stopping …" : "Stop"}
          </button>
        `
      }
      ${
        run.state === "running" &&
        canKill &&
        html`
          <button class="danger" onClick=${() => send("POST", `/api/runs/${run.id}/kill`, {})}>
            Kill
          </button>
        `
      }
      ${
        RESUMABLE_STATES.includes(run.state) &&
        run.step < run.max_steps &&
        html`
          <button
            class="primary"
            disabled=${busy}
            onClick=${() => send("POST", `/api/runs/${run.id}/resume`, {})}
          >
            Resume
          </button>
        `
      }
      ${
        run.state === "finished" &&
        newMaxSteps === null &&
        html`<button onClick=${() => setNewMaxSteps(2 * run.max_steps)}>Run longer</button>`
      }
      ${
        newMaxSteps !== null &&
        html`
          <form
            onSubmit=${async (event) => {
              event.preventDefault();
              if (
                await send("POST", `/api/runs/${run.id}/resume`, { steps: Number(newMaxSteps) })
              ) {
                setNewMaxSteps(null);
              }
            }}
          >
            <label>
              to step${" "}
              <input
                type="number"
                min=${run.step + 1}
                value=${newMaxSteps}
                onInput=${(event) => setNewMaxSteps(event.target.value)}
              />
            </label>
            <button class="primary">Continue</button>
          </form>
        `
      }
      ${
        run.exact &&
        !run.damage &&
        html`
          <${Link} class="button primary" to=${`/explore?${policyQuery}`}>Explore</${Link}>
          <${Link} class="button" to=${`/play?${policyQuery}`}>Play</${Link}>
        `
      }
      <${Link} class="button" to=${`/compare?r=${encodeURIComponent(run.id)}`}>Compare</${Link}>
      <${Link} class="button" to=${`/new?from=${encodeURIComponent(run.id)}`}>Copy</${Link}>
      ${error && html`<div onClick=${clear}><${ErrorMessage} error=${error} /></div>`}
    </div>
  `;
}

function parseEnvironment(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function RunDetails({ detail, run }) {
  const { data: log, reload } = useApi(`/api/runs/${run.id}/log`);
  const spec = { ...detail.config.networks, ...detail.config.spec };
  const environment = parseEnvironment(detail.env);
  const facts = [
    ["commit", environment.commit?.slice(0, 12)],
    ...Object.entries(environment.versions || {}),
    ["processors", environment.platform?.processors],
  ].filter(([, value]) => value);
  return html`
    <div class="two">
      <section class="card">
        <h2>Config</h2>
        <table class="plain">
          <tbody>
            <tr>
              <th scope="row">game</th>
              <td>${run.game}</td>
            </tr>
            <tr>
              <th scope="row">algorithm</th>
              <td>${run.algorithm}</td>
            </tr>
            ${Object.entries(spec).map(
              ([key, value]) => html`
                <tr key=${key}>
                  <th scope="row">${key}</th>
                  <td>${JSON.stringify(value)}</td>
                </tr>
              `,
            )}
          </tbody>
        </table>
      </section>
      <section class="card">
        <h2>Environment</h2>
        <table class="plain">
          <tbody>
            ${facts.map(
              ([key, value]) => html`
                <tr key=${key}>
                  <th scope="row">${key}</th>
                  <td>${value}</td>
                </tr>
              `,
            )}
            <tr>
              <th scope="row">folder</th>
              <td class="break">${detail.folder}</td>
            </tr>
          </tbody>
        </table>
      </section>
    </div>
    ${
      log?.there &&
      html`
        <details class="card">
          <summary>Log</summary>
          <pre class="log" tabindex="0">${log.log}</pre>
          <button onClick=${reload}>Reload</button>
        </details>
      `
    }
  `;
}
