// Step through CFR or a learner of a matrix game: one update with its equations and numbers.

import { Equations, StepControls, TraceTable } from "../components/trace_steps.js";
import { Chart } from "../components/chart.js";
import {
  CommandLineHint,
  ErrorMessage,
  Link,
  ProgressMessage,
  Tabs,
} from "../components/common.js";
import { buildQuery, post } from "../lib/api.js";
import { seriesColour } from "../lib/colours.js";
import { formatNumber, gameTitle, quoteForShell } from "../lib/format.js";
import { ignoreAfterAbort, useApi, useShortcuts } from "../lib/hooks.js";
import { html, useEffect, useState } from "../lib/preact.js";
import { updateQuery, useLocation } from "../lib/router.js";

const TREE_GAMES = ["kuhn_poker", "king_ace_poker", "coin_toss", "leduc_poker"];
const MATRIX_GAMES = [
  "rock_paper_scissors",
  "matching_pennies",
  "chicken",
  "prisoners_dilemma",
  "battle_of_the_sexes",
  "shapleys_game",
];
const ALGORITHMS = [
  ["cfr", "CFR"],
  ["cfr(alternating=False)", "CFR, simultaneous"],
  ["cfr_plus", "CFR+"],
  ["dcfr", "DCFR"],
  ["linear_cfr", "linear CFR"],
  ["pcfr_plus", "PCFR+"],
  ["cfr_hedge", "CFR with Hedge"],
];
const LEARNERS = [
  ["regret_matching", "regret matching"],
  ["regret_matching_plus", "regret matching+"],
  ["fictitious_play", "fictitious play"],
  ["replicator_dynamics", "replicator dynamics"],
  ["hedge", "Hedge"],
];
const MAX_CURVES = 6; // actions with a curve each

/** Parse a JSON query parameter; undefined if it is missing or not JSON. */
function parseParameter(text) {
  try {
    return text ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

/** The page that steps through an algorithm. */
export function Trace() {
  const { query } = useLocation();
  return query.get("learner") || query.get("m")
    ? html`<${LearnerTrace} query=${query} />`
    : html`<${TreeTrace} query=${query} />`;
}

/** Hook: the iteration in the address, and keys that change it. */
function useIteration(query, maxIterations) {
  const iteration = Math.max(Number.parseInt(query.get("t"), 10) || 1, 1);
  const goTo = (target) => {
    const clamped = Math.min(Math.max(target, 1), maxIterations || target);
    updateQuery({ t: clamped === 1 ? "" : clamped }, { replace: true });
  };
  useShortcuts({
    ArrowLeft: () => goTo(iteration - 1),
    ArrowRight: () => goTo(iteration + 1),
    Home: () => goTo(1),
  });
  return [iteration, goTo];
}

function TreeTrace({ query }) {
  const game = query.get("game") || "kuhn_poker";
  const algorithm = query.get("algorithm") || "cfr";
  const infoset = query.get("infoset") || "0";
  const start = query.get("start") || "";
  const text = query.get("q") || "";
  const [limit, setLimit] = useState(0);
  const [iteration, goTo] = useIteration(query, limit);
  const path = `/api/trace?${buildQuery({ game, algorithm, iteration, infoset, start, text })}`;
  const { data, error, progress, loading } = useApi(path);
  useEffect(() => setLimit(data?.max_iterations || 0), [data?.max_iterations]);
  const chooseGame = (name) => updateQuery({ game: name, t: "", infoset: "", start: "", q: "" });
  return html`
    <${TraceHead} isTree=${true}>
      <${Choice}
        label="game"
        value=${game}
        options=${TREE_GAMES.map((name) => [name, gameTitle(name)])}
        choose=${chooseGame}
      />
      <${Choice}
        label="algorithm"
        value=${algorithm}
        options=${ALGORITHMS}
        choose=${(name) => updateQuery({ algorithm: name })}
      />
    </${TraceHead}>
    <p class="muted small">
      The table has the policy that each player used in its update; choose an infoset to see its
      numbers. Where players update in turn, player 1 already meets player 0's new policy.
    </p>
    <${StepControls} iteration=${iteration} limit=${limit} goTo=${goTo} />
    <${ErrorMessage} error=${error} />
    ${loading && !data && html`<${ProgressMessage} progress=${progress} />`}
    ${
      data &&
      html`
        <div class="trace">
          <section class="card">
            <h2>Infosets after iteration ${data.iteration}</h2>
            <${TraceTable} data=${data} text=${text} />
            <p class="muted small">
              Exploitability of the average: <strong>${formatNumber(data.exploitability)}</strong>
            </p>
          </section>
          <section class="card" aria-live="polite">
            <h2>
              Player ${data.step.player} at <code>${data.step.key}</code>, iteration
              ${" "}${data.iteration}
            </h2>
            <${Histories} data=${data} />
            <${Equations} equations=${data.equations} />
          </section>
        </div>
        <${Curves}
          names=${data.step.actions}
          curves=${data.curves}
          measure="exploitability"
          title=${`Policies at ${data.step.key}`}
        />
      `
    }
    <${CommandLineHint}>
      ${`counterplay trace ${quoteForShell(game)} --algorithm ${quoteForShell(algorithm)}`}
      ${data ? ` --infoset ${quoteForShell(data.step.key)} -p ${data.step.player}` : ""}
      ${` -i ${iteration}`}
    </${CommandLineHint}>
  `;
}

function LearnerTrace({ query }) {
  const game = query.get("game") || "rock_paper_scissors";
  const learner = query.get("learner") || "regret_matching";
  const player = Number.parseInt(query.get("player"), 10) || 0;
  const matrix = parseParameter(query.get("m"));
  const initialText = query.get("initial") || "";
  const [state, setState] = useState({});
  const limit = state.data?.max_iterations || 0;
  const [iteration, goTo] = useIteration(query, limit);
  const body = { learner, iteration, player };
  Object.assign(body, matrix ? { utility: matrix.u, names: matrix.n } : { game });
  if (initialText) body.initial = parseParameter(initialText) ?? initialText;
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    post("/api/trace/learner", body, { signal }).then(
      ignoreAfterAbort(signal, (data) => setState({ data })),
      ignoreAfterAbort(signal, (error) => setState({ error })),
    );
    return () => controller.abort();
  }, [JSON.stringify(body)]);
  const { data, error } = state;
  const matrixPath = `/matrix?${buildQuery({ game, m: query.get("m") || "", learner })}`;
  return html`
    <${TraceHead} isTree=${false}>
      <${Choice}
        label="game"
        value=${matrix ? "" : game}
        options=${[
          ...(matrix ? [["", "edited"]] : []),
          ...MATRIX_GAMES.map((name) => [name, gameTitle(name)]),
        ]}
        choose=${(name) => name && updateQuery({ game: name, m: "", t: "", player: "", learner })}
      />
      <${Choice}
        label="learner"
        value=${learner}
        options=${LEARNERS}
        choose=${(name) => updateQuery({ learner: name })}
      />
      ${
        data?.players > 1 &&
        html`
          <${Tabs}
            label="Player"
            value=${String(player)}
            options=${[...Array(data.players).keys()].map((p) => [String(p), `player ${p}`])}
            choose=${(key) => updateQuery({ player: key === "0" ? "" : key })}
          />
        `
      }
    </${TraceHead}>
    <p class="muted small">
      All players learn at the same time, from first mixtures near the uniform ones.${" "}
      <${Link} to=${matrixPath}>Payoffs and equilibria</${Link}>
    </p>
    <${StepControls} iteration=${iteration} limit=${limit} goTo=${goTo} />
    <${ErrorMessage} error=${error} />
    ${!data && !error && html`<p class="muted" role="status">Learning …</p>`}
    ${
      data &&
      html`
        <section class="card" aria-live="polite">
          <h2>Player ${data.step.player}, iteration ${data.iteration}</h2>
          <${Equations} equations=${data.equations} />
          <p class="muted small">
            A player gains at most <strong>${formatNumber(data.gain)}</strong> by deviating from the
            averages.
          </p>
        </section>
        <${Curves}
          names=${data.step.actions}
          curves=${data.curves}
          measure="gain"
          title=${`Mixtures of player ${data.step.player}`}
        />
      `
    }
    <${CommandLineHint}>
      ${`counterplay trace ${matrix ? "FILE.json" : quoteForShell(game)} --learner ${quoteForShell(learner)}`}
      ${` -p ${player} -i ${iteration}`}
      ${initialText ? ` --initial ${quoteForShell(initialText)}` : ""}
    </${CommandLineHint}>
  `;
}

function TraceHead({ isTree, children }) {
  const choose = (key) =>
    updateQuery({
      learner: key === "matrix" ? "regret_matching" : "",
      ...{ game: "", m: "", t: "", infoset: "", player: "", start: "", q: "", initial: "" },
    });
  return html`
    <div class="head">
      <h1>Step through ${isTree ? "CFR" : "a learner"}</h1>
      <span class="grow"></span>
      <${Tabs}
        label="Kind of game"
        value=${isTree ? "tree" : "matrix"}
        options=${[
          ["tree", "Tree"],
          ["matrix", "Matrix"],
        ]}
        choose=${choose}
      />
      ${children}
    </div>
  `;
}

/** A select; a value that is not an option, from the address, is shown too. */
function Choice({ label, value, options, choose }) {
  const isListed = options.some(([key]) => key === value);
  return html`
    <label class="inline">
      ${label}${" "}
      <select value=${value} onChange=${(event) => choose(event.target.value)}>
        ${!isListed && html`<option value=${value}>${gameTitle(value)}</option>`}
        ${options.map(([key, name]) => html`<option key=${key} value=${key}>${name}</option>`)}
      </select>
    </label>
  `;
}

/** The histories of the infoset, with the reach of the others. */
function Histories({ data }) {
  const { histories } = data.step;
  const hidden = data.num_histories - histories.length;
  return html`
    <details class="histories">
      <summary>
        ${data.num_histories} ${data.num_histories === 1 ? "history" : "histories"} h in this
        infoset
      </summary>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">history</th>
              <th scope="col" class="num">cf_reach(h)</th>
              ${data.step.actions.map(
                (name) => html`<th scope="col" class="num" key=${name}>value(h, ${name})</th>`,
              )}
            </tr>
          </thead>
          <tbody>
            ${histories.map(
              (term) => html`
                <tr key=${term.history}>
                  <th scope="row">${term.history}</th>
                  <td class="num" title=${term.cf_reach}>${formatNumber(term.cf_reach)}</td>
                  ${term.action_value.map(
                    (value, index) => html`
                      <td class="num" key=${index} title=${value}>${formatNumber(value)}</td>
                    `,
                  )}
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
      ${hidden > 0 && html`<p class="muted small">${hidden} more histories.</p>`}
    </details>
  `;
}

/** Curves of the current and the average policy, and of what can be gained. */
function Curves({ names, curves, measure, title }) {
  const iterations = curves[measure].map((value, index) => index + 1);
  if (iterations.length < 2) return null;
  const shown = names.slice(0, MAX_CURVES);
  const lines = (kind, dash) =>
    shown.map((name, index) => ({
      label: kind === "average" ? `${name}, average` : name,
      x: iterations,
      y: curves[kind].map((policy) => policy[index]),
      colour: seriesColour(index),
      dash,
    }));
  return html`
    <div class="two">
      <section class="card">
        <h2>${title}</h2>
        <${Chart}
          series=${[...lines("policy"), ...lines("average", [6, 4])]}
          xLabel="iteration"
          yLabel="probability"
          logX=${false}
          logY=${false}
          height=${240}
          label=${`${title} by iteration`}
        />
      </section>
      <section class="card">
        <h2>${measure === "gain" ? "Gain of deviating from the averages" : "Exploitability"}</h2>
        <${Chart}
          series=${[{ label: measure, x: iterations, y: curves[measure], colour: seriesColour(0) }]}
          xLabel="iteration"
          yLabel=${measure}
          height=${240}
          label=${`${measure} by iteration`}
        />
      </section>
    </div>
  `;
}
