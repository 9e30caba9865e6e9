// Selection of the policy to explore, and of another one to compare it with.

import { useLiveRuns } from "../lib/hooks.js";
import { html } from "../lib/preact.js";
import { updateQuery } from "../lib/router.js";

const MAX_RUNS = 60;

/**
 * Fields that choose the policies.
 * @param {{ game: string, policy: string, otherPolicy: string, facts?: object }} props
 *   `facts` of the policy, as the server sends them
 */
export function PolicyPicker({ game, policy, otherPolicy, facts }) {
  const { runs } = useLiveRuns();
  const sameGameRuns = [...runs.values()]
    .filter((run) => run.game === game && run.exact && run.checkpoint)
    .slice(0, MAX_RUNS);
  const [, id, name] = policy.match(/^run:(.*)@(.*)$/) || [];
  const names = facts?.policies?.length ? facts.policies : name ? [name] : [];
  const builtinPolicies = [
    ["uniform", "uniform"],
    ["solve:cfr_plus@1000", "CFR+, 1,000 iterations"],
  ];
  if (!facts || (facts.players === 2 && facts.constant_sum)) {
    builtinPolicies.push(["solve:sequence_form_lp@1", "equilibrium (linear programming)"]);
  }
  const options = [
    ...builtinPolicies,
    ...sameGameRuns.map((run) => [
      `run:${run.id}@${run.id === id ? name : run.policy}`,
      `${run.name}, ${run.algorithm}, seed ${run.seed}`,
    ]),
  ];
  const isListed = options.some(([key]) => key === policy);
  const choosePolicy = (value) =>
    updateQuery({ policy: value, game, node: new URLSearchParams(location.search).get("node") });
  const chooseOther = (value) => updateQuery({ vs: value, mode: value ? "difference" : "" });
  const bestResponses = facts?.perfect_recall
    ? [...Array(facts.players).keys()].map((player) => [
        `best:${player}`,
        `best response of player ${player}`,
      ])
    : [];
  return html`
    <div class="sources">
      <label class="inline">
        policy${" "}
        <select value=${policy} onChange=${(event) => choosePolicy(event.target.value)}>
          ${!isListed && html`<option value=${policy}>${policy}</option>`}${options.map(
            ([key, label]) => html`<option key=${key} value=${key}>${label}</option>`,
          )}
        </select>
      </label>
      ${
        names.length > 1 &&
        html`
          <label class="inline">
            version${" "}
            <select
              value=${name}
              onChange=${(event) => choosePolicy(`run:${id}@${event.target.value}`)}
            >
              ${names.map((policyName) => html`<option key=${policyName}>${policyName}</option>`)}
            </select>
          </label>
        `
      }
      <label class="inline">
        compare with${" "}
        <select
          value=${otherPolicy}
          onChange=${(event) => chooseOther(event.target.value)}
        >
          <option value="">nothing</option>
          ${[...bestResponses, ...options]
            .filter(([key]) => key !== policy)
            .map(([key, label]) => html`<option key=${key} value=${key}>${label}</option>`)}
        </select>
      </label>
    </div>
  `;
}
