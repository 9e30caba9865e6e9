// Learning dynamics in a normal-form game: policies by iteration, as paths and curves.

import { buildQuery, post } from "../lib/api.js";
import { seriesColour } from "../lib/colours.js";
import { describePolicy, formatCount, formatNumber } from "../lib/format.js";
import { ignoreAfterAbort } from "../lib/hooks.js";
import { html, useEffect, useState } from "../lib/preact.js";
import { updateQuery, useLocation } from "../lib/router.js";
import { Chart } from "./chart.js";
import { ErrorMessage, Link, Tabs } from "./common.js";

const LEARNERS = [
  ["regret_matching", "regret matching"],
  ["regret_matching_plus", "regret matching+"],
  ["fictitious_play", "fictitious play"],
  ["replicator_dynamics", "replicator dynamics"],
  ["hedge", "hedge"],
];

const MAX_CURVES = 8; // actions with a curve each

/**
 * The choice of a learner, and its path.
 * @param {{ body: object, data: object }} props `body` of the request for the game, and its answer
 */
export function LearnerPaths({ body, data }) {
  const { query } = useLocation();
  const learner = query.get("learner") || "";
  const policyKind = query.get("mix") || "average";
  const [state, setState] = useState({});
  useEffect(() => {
    if (!learner) return setState({});
    const controller = new AbortController();
    const { signal } = controller;
    setState((previous) => ({ data: previous.data }));
    post("/api/matrix", { ...body, learner }, { signal }).then(
      ignoreAfterAbort(signal, (result) => setState({ data: result })),
      ignoreAfterAbort(signal, (error) => setState({ error })),
    );
    return () => controller.abort();
  }, [learner, JSON.stringify(body)]);
  const result = state.data;
  const tracePath = `/trace?${buildQuery({ game: query.get("game"), m: query.get("m"), learner })}`;
  return html`
    <section class="card">
      <div class="head">
        <h2>Learners</h2>
        <span class="grow"></span>
        <label class="inline">
          learner${" "}
          <select
            value=${learner}
            onChange=${(event) => updateQuery({ learner: event.target.value })}
          >
            <option value="">choose one</option>
            ${LEARNERS.map(([key, name]) => html`<option key=${key} value=${key}>${name}</option>`)}
          </select>
        </label>
        ${
          result &&
          html`
            <${Tabs}
              label="Policy"
              value=${policyKind}
              options=${[
                ["average", "average"],
                ["current", "current"],
              ]}
              choose=${(key) => updateQuery({ mix: key === "average" ? "" : key })}
            />
          `
        }
      </div>
      ${
        !learner &&
        html`
          <p class="muted">
            Players adapt to each other. Initial policies are close to uniform.
          </p>
        `
      }
      <${ErrorMessage} error=${state.error} />
      ${learner && !result && !state.error && html`<p class="muted" role="status">Learning …</p>`}
      ${
        learner &&
        result &&
        html`
          <${PathCharts} result=${result} policyKind=${policyKind} names=${data.action_names} />
          <p class="muted small">
            After ${formatCount(result.path.at(-1).iteration)} iterations, a player gains at most
            ${" "}${formatNumber(result.path.at(-1).gain)} by deviating from the average policies.
            ${" "}<${Link} to=${tracePath}>Step through it</${Link}>
          </p>
        `
      }
    </section>
  `;
}

function PathCharts({ result, policyKind, names }) {
  return html`
    <div class="paths">
      ${names.map((actions, player) => {
        const path = result.path.map((step) => step[policyKind][player]);
        return html`
          <figure key=${player} class="chart">
            <figcaption>Player ${player}</figcaption>
            ${
              actions.length === 3
                ? html`<${SimplexPlot} path=${path} actions=${actions} player=${player} />`
                : null
            }
            ${
              actions.length > MAX_CURVES
                ? html`
                    <p class="muted small">
                      The first ${MAX_CURVES} of ${actions.length} actions.
                    </p>
                  `
                : null
            }
            <${Chart}
              series=${actions.slice(0, MAX_CURVES).map((name, index) => ({
                label: name,
                x: result.path.map((step) => step.iteration),
                y: path.map((mixture) => mixture[index]),
                colour: seriesColour(index),
              }))}
              xLabel="iterations"
              yLabel="probability"
              logY=${false}
              height=${220}
              label="Probabilities of player ${player}'s actions"
            />
          </figure>
        `;
      })}
    </div>
  `;
}

// Three actions: every mixture is a point of a triangle, and learning a path through it.
function SimplexPlot({ path, actions, player }) {
  const pointOf = ([, b, c]) => [20 + 200 * (b + c / 2), 195 - 173 * c];
  const points = path.map((mixture) =>
    pointOf(mixture)
      .map((coordinate) => coordinate.toFixed(1))
      .join(","),
  );
  const [x, y] = pointOf(path.at(-1));
  const lastPolicy = describePolicy(actions, path.at(-1));
  return html`
    <svg
      class="simplex"
      viewBox="0 0 240 215"
      role="img"
      aria-label=${`From ${describePolicy(actions, path[0])} to ${lastPolicy}`}
    >
      <path class="edge" d="M20 195L220 195L120 22Z" />
      <polyline
        points=${points.join(" ")}
        fill="none"
        stroke=${seriesColour(player)}
        stroke-width="1.6"
        stroke-linejoin="round"
      />
      <circle cx=${x} cy=${y} r="4.5" fill=${seriesColour(player)} />
      <text x="20" y="210" text-anchor="start">${actions[0]}</text>
      <text x="220" y="210" text-anchor="end">${actions[1]}</text>
      <text x="120" y="14" text-anchor="middle">${actions[2]}</text>
    </svg>
  `;
}
