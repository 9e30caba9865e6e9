// The solution of a hold'em spot: solving it, and looking at every node of it.

import { Cards } from "../components/board_picker.js";
import { CommandLineHint, ErrorMessage, Link } from "../components/common.js";
import { HandGrid } from "../components/hand_grid.js";
import { HandTable } from "../components/hand_table.js";
import { ActionTable, LineBrowser } from "../components/line_browser.js";
import { Runouts } from "../components/runouts.js";
import { LockBrush, OverfoldSlider, VariantNotice } from "../components/spot_variants.js";
import { get, post, requestUntilReady } from "../lib/api.js";
import { parseBoard } from "../lib/cards.js";
import {
  formatCount,
  formatDuration,
  formatNumber,
  formatPercent,
  formatSigned,
  quoteForShell,
} from "../lib/format.js";
import { ignoreAfterAbort, useShortcuts } from "../lib/hooks.js";
import { html, useEffect, useState } from "../lib/preact.js";
import { navigate, updateQuery, useLocation } from "../lib/router.js";
import { appendAction, POSITIONS, solutionSource } from "../lib/spots.js";

const TERMINAL_TEXTS = {
  fold: "A player folded: the hand is over.",
  showdown: "Showdown: the better hand wins the pot.",
};
const CURVE_WIDTH = 320; // units of the drawing
const CURVE_HEIGHT = 80;

/**
 * The solution of a spot, or of a saved file.
 * @param {{ spot?: object }} props `spot` is missing if the address names a file
 */
export function SpotSolution({ spot }) {
  const { query } = useLocation();
  const source = solutionSource(query, spot);
  const sourceText = JSON.stringify(source);
  const line = query.get("record") || "";
  const cell = query.get("cell") || "";
  const versus = query.get("versus") || "";
  const [state, setState] = useState({});
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    // a node of another solution is not shown meanwhile
    setState((previous) => ({
      data: previous.sourceText === sourceText ? previous.data : undefined,
      sourceText,
      loading: true,
    }));
    requestUntilReady("POST", "/api/spot/node", {
      body: { ...source, record: line, versus },
      signal,
      onProgress: ignoreAfterAbort(signal, (progress) =>
        setState((previous) => ({ ...previous, progress })),
      ),
    }).then(
      ignoreAfterAbort(signal, (data) => setState({ data, sourceText })),
      ignoreAfterAbort(signal, (error) => setState({ error, sourceText })),
    );
    return () => controller.abort();
  }, [sourceText, line, versus, attempt]);
  const { error, progress, loading } = state;
  const data = state.sourceText === sourceText ? state.data : undefined;
  const goToLine = (next) => updateQuery({ record: next });
  const shownSpot = data?.facts.spot || spot;
  const edit = () => {
    if (spot) updateQuery({ solve: "", record: "", cell: "", variant: "", versus: "" });
    else navigate(`/spots?s=${encodeURIComponent(JSON.stringify(shownSpot))}`);
  };
  const heading = html`
    <div class="head">
      <h1>${shownSpot ? html`<${Cards} cards=${parseBoard(shownSpot.board)} />` : source.file}</h1>
      ${
        shownSpot &&
        html`
          <span class="muted">
            ${source.file ? `${source.file}: ` : ""}pot ${formatNumber(shownSpot.pot)}, stacks${" "}
            ${formatNumber(Math.min(...[shownSpot.stacks].flat()))}
          </span>
        `
      }
      <span class="grow"></span>
      <button disabled=${!shownSpot} onClick=${edit}>Edit spot</button>
    </div>
  `;
  if (error) {
    const retry = line ? () => goToLine("") : () => setAttempt(attempt + 1);
    return html`${heading}<${ErrorMessage} error=${error} retry=${retry} />`;
  }
  const isSolving = loading && (!data || progress?.doing?.startsWith("solving"));
  if (!data || isSolving) {
    return html`${heading}<${SolveProgress} progress=${progress} source=${source} />`;
  }
  return html`
    ${heading}
    <${SolutionView}
      data=${data}
      source=${source}
      line=${line}
      cell=${cell}
      versus=${versus}
      mode=${query.get("mode") || "policy"}
      goToLine=${goToLine}
      solveOn=${() => setAttempt(attempt + 1)}
    />
  `;
}

/** The state of a solve: exploitability and EVs so far, the curve, and a button that stops it. */
function SolveProgress({ progress, source }) {
  const { doing, done, percent, values, curve } = progress || {};
  const stop = () => post("/api/spot/stop", source).catch(() => {});
  const task = doing ? `${doing[0].toUpperCase()}${doing.slice(1)}` : "Working";
  return html`
    <div class="working">
      <p role="status">${task}${done ? `: ${formatCount(done)} iterations` : ""} …</p>
      <progress aria-label=${doing || "working"}></progress>
      ${
        values &&
        html`
          <dl class="facts compact">
            <div>
              <dt>Exploitability</dt>
              <dd>${formatNumber(percent)} % <small>of the pot</small></dd>
            </div>
            ${values.map(
              (value, player) => html`
                <div key=${player}>
                  <dt>EV of ${POSITIONS[player]}</dt>
                  <dd>${formatNumber(value, 4)}</dd>
                </div>
              `,
            )}
          </dl>
          <${ConvergenceCurve} records=${curve} />
        `
      }
      <button onClick=${stop} disabled=${!values}>Stop and look at it</button>
      <p class="muted small">The solve goes on if you close this page; the address leads back.</p>
    </div>
  `;
}

/** Exploitability by iteration, on a logarithmic axis. */
function ConvergenceCurve({ records }) {
  if (!records || records.length < 2) return null;
  const logs = records.map(([, percent]) => Math.log(Math.max(percent, 1e-6)));
  const [low, high] = [Math.min(...logs), Math.max(...logs)];
  const last = records.at(-1)[0];
  const points = records
    .map(([iteration], index) => {
      const x = (CURVE_WIDTH * iteration) / last;
      const y = CURVE_HEIGHT * (1 - (logs[index] - low) / Math.max(high - low, 1e-9));
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    })
    .join(" ");
  return html`
    <svg
      class="convergence"
      viewBox="-2 -4 ${CURVE_WIDTH + 4} ${CURVE_HEIGHT + 8}"
      role="img"
      aria-label=${`Exploitability fell from ${formatNumber(records[0][1])} to ${formatNumber(
        records.at(-1)[1],
      )} % of the pot`}
    >
      <polyline points=${points} />
    </svg>
  `;
}

function SolutionView({ data, source, line, cell, versus, mode, goToLine, solveOn }) {
  const { facts } = data;
  const [isLocking, setLocking] = useState(false);
  const [lockedCells, setLockedCells] = useState(new Set());
  const [brush, setBrush] = useState([]);
  useEffect(() => {
    setLockedCells(new Set());
    setBrush(data.actions ? data.actions.map((_, index) => (index ? 0 : 100)) : []);
  }, [data.record]);
  const paintLock = (name, isStroke) =>
    setLockedCells((previous) => {
      const next = new Set(previous);
      if (next.has(name) && !isStroke) next.delete(name);
      else next.add(name);
      return next;
    });
  const actions = data.actions || [];
  useShortcuts({
    ...Object.fromEntries(
      actions
        .slice(0, 9)
        .map(({ name }, index) => [String(index + 1), () => goToLine(appendAction(line, name))]),
    ),
    Backspace: () => goToLine(data.steps.at(-2)?.record || ""),
    Home: () => goToLine(""),
  });
  const canLock = data.kind === "act" && brush.length === actions.length;
  const continueSolving = async () => {
    await post("/api/spot/resume", source).catch(() => {});
    solveOn();
  };
  return html`
    <dl class="facts compact">
      <div>
        <dt>Exploitability</dt>
        <dd title=${facts.exploitability}>
          ${formatNumber(facts.percent)} % <small>of the pot</small>
        </dd>
      </div>
      ${facts.values.map(
        (value, player) => html`
          <div key=${player}>
            <dt>EV of ${POSITIONS[player]}</dt>
            <dd title=${value}>${formatNumber(value, 4)}</dd>
          </div>
        `,
      )}
      <div>
        <dt>${facts.stopped ? "Stopped after" : "Solved in"}</dt>
        <dd>
          ${facts.seconds > 0 && `${formatDuration(facts.seconds)} `}
          <small>${formatCount(facts.iterations)} iterations</small>
        </dd>
      </div>
      ${
        facts.stopped &&
        html`<div><button class="primary" onClick=${continueSolving}>Go on solving</button></div>`
      }
    </dl>
    <${SolutionTools} data=${data} source=${source} versus=${versus} />
    ${source.variant && html`<${VariantNotice} variant=${source.variant} data=${data} />`}
    ${data.versus && html`<${ComparisonNotice} data=${data} versus=${versus} />`}
    ${facts.notes.map((note) => html`<p key=${note} class="muted small">Note: ${note}.</p>`)}
    <${LineBrowser} data=${data} goToLine=${goToLine} />
    ${
      data.kind === "act"
        ? html`
            <div class="two wide-left">
              <section class="card">
                <${HandGrid}
                  data=${data}
                  mode=${mode}
                  cell=${cell}
                  lockedCells=${isLocking ? lockedCells : undefined}
                  paintLock=${isLocking ? paintLock : undefined}
                />
              </section>
              <section class="card">
                <${ActionTable} data=${data} goToLine=${goToLine} />
                <details
                  class="lock"
                  open=${isLocking}
                  onToggle=${(event) => setLocking(event.target.open)}
                >
                  <summary>Lock hands by brush</summary>
                  ${
                    canLock &&
                    html`
                      <${LockBrush}
                        data=${data}
                        variant=${source.variant}
                        brush=${brush}
                        setBrush=${setBrush}
                        lockedCells=${lockedCells}
                        clear=${() => setLockedCells(new Set())}
                      />
                    `
                  }
                </details>
                <details class="lock">
                  <summary>What if villain over-folds?</summary>
                  <${OverfoldSlider} variant=${source.variant} />
                </details>
              </section>
            </div>
            <section class="card">
              <h2>
                ${cell ? `Combos of ${cell}` : `Hands of ${POSITIONS[data.player]}`}
                ${
                  cell &&
                  html`
                    <button
                      class="quiet small"
                      onClick=${() => updateQuery({ cell: "" }, { replace: true })}
                    >
                      show all
                    </button>
                  `
                }
              </h2>
              <${HandTable} data=${data} cell=${cell} />
            </section>
          `
        : html`
            <section class="card">
              ${
                data.kind === "deal"
                  ? html`<${Runouts} source=${source} data=${data} goToLine=${goToLine} />`
                  : html`<p>${TERMINAL_TEXTS[data.kind] || TERMINAL_TEXTS.showdown}</p>`
              }
            </section>
          `
    }
    <${CommandLineHint}>
      counterplay spot ${data.kind === "deal" ? "runouts" : "show"}${" "}
      ${source.file ? quoteForShell(`${source.file}.cps`) : "spot.cps"} ${line ? `"${line}"` : ""}
    </${CommandLineHint}>
  `;
}

/** Save, compare, train. */
function SolutionTools({ data, source, versus }) {
  const [files, setFiles] = useState([]);
  const [name, setName] = useState("");
  const [state, setState] = useState({});
  const load = () =>
    get("/api/library/solutions").then(
      (answer) => setFiles(answer.files),
      () => {},
    );
  useEffect(() => {
    load();
  }, []);
  const save = async (event) => {
    event.preventDefault();
    setState({ message: "Saving …" });
    try {
      const saved = await requestUntilReady("POST", "/api/solutions", {
        body: { ...source, name },
      });
      setState({ message: `Saved as ${saved.path}` });
      await load();
    } catch (error) {
      setState({ error });
    }
  };
  const trainQuery = new URLSearchParams(location.search);
  for (const key of ["record", "cell", "mode", "versus"]) trainQuery.delete(key);
  const line = data.record;
  return html`
    <div class="toolbar">
      <form class="actions" onSubmit=${save}>
        <input
          value=${name}
          placeholder="name"
          aria-label="Name of the solution"
          onInput=${(event) => setName(event.target.value)}
        />
        <button disabled=${!name.trim()}>Save solution</button>
      </form>
      <label class="inline">
        <span>compare with</span>
        <select
          value=${versus}
          onChange=${(event) => updateQuery({ versus: event.target.value, mode: "" })}
        >
          <option value="">–</option>
          ${source.variant && html`<option value="base">without locks</option>`}
          ${files
            .filter((file) => file.name !== source.file)
            .map((file) => html`<option key=${file.name} value=${file.name}>${file.name}</option>`)}
        </select>
      </label>
      <${Link} class="button" to=${`/train?${trainQuery}`}>Train this spot</${Link}>
      ${
        line &&
        html`
          <${Link} class="button" to=${`/train?${trainQuery}&line=${encodeURIComponent(line)}`}>
            Train this line
          </${Link}>
        `
      }
      ${state.message && html`<span class="muted small" role="status">${state.message}</span>`}
    </div>
    <${ErrorMessage} error=${state.error} />
  `;
}

function ComparisonNotice({ data, versus }) {
  const other = data.versus;
  const changes = data.facts.values.map((value, player) => value - other.values[player]);
  return html`
    <p class="notice" role="status">
      Compared with ${versus === "base" ? "the solution without locks" : html`<b>${versus}</b>`}
      ${" "}(exploitability ${formatNumber(other.percent)} %): EV of OOP ${formatSigned(changes[0])},
      of IP ${formatSigned(changes[1])}${
        other.distance !== undefined
          ? html`; ${formatPercent(other.distance)} of decisions here differ:${" "}
              ${data.actions
                .map(({ name }, index) => `${name} ${formatSigned(100 * other.frequencies[index])}`)
                .join(", ")} points`
          : ""
      }.
    </p>
  `;
}
