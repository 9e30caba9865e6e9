// The parameters of an opponent that searches.

import { html, useState } from "../lib/preact.js";
import { formatGameSpec, parseJsonOrText } from "../lib/specs.js";

const METHODS = ["unsafe", "resolve", "max_margin", "reach_max_margin", "estimate", "combined"];
const BLUEPRINTS = ["cfr_plus", "cfr", "dcfr", "uniform"];

const CHOICES = {
  method: METHODS,
  observer: ["single", "multiple"],
  final: ["visits", "most_visited"],
};

/** Return the values of a parameter to choose from, with their labels; null if it is free. */
function listChoices(name, runs) {
  if (CHOICES[name]) return CHOICES[name].map((value) => [value, value]);
  const toOption = (run) => [`run:${run.id}@${run.policy}`, `run ${run.id}`];
  const saved = runs.filter((run) => run.checkpoint);
  if (name === "blueprint") {
    const exact = saved.filter((run) => run.exact);
    return [...BLUEPRINTS.map((value) => [value, value]), ...exact.map(toOption)];
  }
  if (name === "network") {
    const trained = saved.filter((run) => run.algorithm.startsWith("rebel"));
    return [["rebel", "rebel, trained now"], ...trained.map(toOption)];
  }
  return null;
}

/**
 * Fields for the parameters of a search agent; empty ones have their defaults.
 * @param {{ agent: { name: string, summary: string, fields: any[] }, runs: any[],
 *   params: Record<string, unknown>, onChange: (spec: string) => void }} props `runs` are those of
 *   the game; `onChange` gets the agent as a spec, such as "is_mcts(simulations=100)"
 */
export function SearcherFields({ agent, runs, params, onChange }) {
  const [texts, setTexts] = useState(
    Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)])),
  );
  const update = (name, text) => {
    const next = { ...texts, [name]: text };
    setTexts(next);
    const entries = agent.fields
      .filter((field) => (next[field.name] ?? "") !== "")
      .filter((field) => next[field.name] !== String(field.default))
      .map((field) => [
        field.name,
        field.type === "str" ? next[field.name] : parseJsonOrText(next[field.name].trim()),
      ]);
    onChange(formatGameSpec({ name: agent.name, params: Object.fromEntries(entries) }));
  };
  return html`
    <fieldset>
      <legend>${agent.name}</legend>
      <p class="muted small">${agent.summary}</p>
      ${agent.fields.map((field) => {
        const choices = listChoices(field.name, runs);
        const value = texts[field.name] ?? "";
        return html`
          <label key=${field.name}>
            <span>${field.name.replace(/_/g, " ")}</span>
            ${
              choices
                ? html`
                    <select
                      value=${value || field.default}
                      onChange=${(event) => update(field.name, event.target.value)}
                    >
                      ${
                        value &&
                        !choices.some(([key]) => key === value) &&
                        html`<option value=${value}>${value}</option>`
                      }
                      ${choices.map(
                        ([key, label]) => html`<option key=${key} value=${key}>${label}</option>`,
                      )}
                    </select>
                  `
                : html`
                    <input
                      value=${value}
                      placeholder=${String(field.default)}
                      onInput=${(event) => update(field.name, event.target.value)}
                    />
                  `
            }
          </label>
        `;
      })}
    </fieldset>
  `;
}
