// A new run: a form and its config side by side, checked while the user types.

import { CommandLineHint, ErrorMessage, Link } from "../components/common.js";
import { DurationEstimate, SizeEstimate } from "../components/estimates.js";
import { get, post } from "../lib/api.js";
import { debounceRequest, useApi, useLiveRuns, useStartRuns } from "../lib/hooks.js";
import { html, useEffect, useMemo, useRef, useState } from "../lib/preact.js";
import { navigate, runPath, useLocation } from "../lib/router.js";
import { gameFromConfig, parseJsonOrText, parseSeeds } from "../lib/specs.js";

const CHECK_DELAY_MS = 350;

const DEFAULT_CONFIG = {
  name: "leduc",
  algorithm: "cfr_plus",
  game: { name: "leduc_poker", params: {} },
  spec: { max_steps: 10000 },
};

// For games whose tree is too large: episodes are sampled from the rules.
const SAMPLING_CONFIG = {
  ...DEFAULT_CONFIG,
  algorithm: "outcome_sampling",
  arena: "rules",
  spec: { max_steps: 100000, evaluate_every: 10000 },
};

const formatField = (value) =>
  value === undefined || typeof value === "string" ? value || "" : JSON.stringify(value);
const parseField = (text) => (text === "" ? undefined : parseJsonOrText(text));
const formatConfig = (config) => JSON.stringify(config, null, 2);

/** The page that starts runs. */
export function NewRun() {
  const { query } = useLocation();
  const { data: catalogue, error } = useApi("/api/catalogue");
  const { runs } = useLiveRuns();
  const [configText, setConfigText] = useState(null); // null until the config is known
  const [loadError, setLoadError] = useState(null);
  const [seeds, setSeeds] = useState("0");
  const [validation, setValidation] = useState({});
  const [startRuns, { busy, error: startError }] = useStartRuns();
  const knownRunIds = useRef(null);
  const [isStarting, setIsStarting] = useState(false);
  const from = query.get("from");

  useEffect(() => {
    if (from) {
      return debounceRequest(
        0,
        () => get(`/api/runs/${from}`),
        ({ config, run }) => {
          setSeeds(String(config.spec?.seed ?? 0));
          const game = { ...config.game, name: run.game.split("(")[0] };
          setConfigText(formatConfig({ ...config, game }));
        },
        (problem) => {
          setConfigText(formatConfig(DEFAULT_CONFIG));
          setLoadError(problem);
        },
      );
    }
    const game = query.get("game");
    const template = query.get("arena") === "rules" ? SAMPLING_CONFIG : DEFAULT_CONFIG;
    const name = game?.split(/[(:]/)[0].replace(/\W/g, "_") || "run";
    setConfigText(formatConfig(game ? { ...template, name, game } : DEFAULT_CONFIG));
    return undefined;
  }, [from]);

  const config = useMemo(() => {
    try {
      return JSON.parse(configText);
    } catch {
      return null;
    }
  }, [configText]);
  useEffect(() => {
    if (configText === null) return undefined;
    if (!config) {
      setValidation({ problem: "not valid JSON yet" });
      return undefined;
    }
    return debounceRequest(
      CHECK_DELAY_MS,
      () => post("/api/check", { config }),
      setValidation,
      (problem) => setValidation({ problem: problem.message, field: problem.field }),
    );
  }, [configText]);

  const seedList = parseSeeds(seeds);
  const numRuns = seedList?.length || 1;
  const updateConfig = (patch) => setConfigText(formatConfig({ ...config, ...patch }));
  const start = async () => {
    knownRunIds.current = new Set(runs.keys());
    if (await startRuns(config, seedList)) setIsStarting(true);
  };
  useEffect(() => {
    if (!isStarting) return;
    const newRunId = [...runs.keys()].find((id) => !knownRunIds.current.has(id));
    if (newRunId) navigate(seedList.length > 1 ? "/" : runPath(newRunId));
  }, [isStarting, runs.size]);

  if (error) {
    return html`
      <h1>New run</h1>
      <${ErrorMessage} error=${error} />
    `;
  }
  if (!catalogue || configText === null) {
    return html`
      <h1>New run</h1>
      <p class="muted" role="status">Loading games and algorithms …</p>
    `;
  }
  return html`
    <div class="head"><h1>New run</h1></div>
    <${ErrorMessage} error=${loadError} />
    <div class="two wide-left">
      <form
        class="card form"
        onSubmit=${(event) => {
          event.preventDefault();
          start();
        }}
      >
        ${
          !config
            ? html`
                <p>
                  The config on the right is not valid JSON; correct it, or${" "}
                  <button
                    type="button"
                    onClick=${() => setConfigText(formatConfig(DEFAULT_CONFIG))}
                  >
                    reset it
                  </button>
                </p>
              `
            : html`
                <${ConfigFields}
                  config=${config}
                  updateConfig=${updateConfig}
                  catalogue=${catalogue}
                  validation=${validation}
                >
                  <${SeedField} seeds=${seeds} setSeeds=${setSeeds} />
                </${ConfigFields}>
              `
        }
        ${
          config &&
          validation.config &&
          !validation.problem &&
          html`<${DurationEstimate} config=${config} numRuns=${numRuns} />`
        }
        ${validation.problem && html`<p class="problem" role="status">${validation.problem}</p>`}
        <${ErrorMessage} error=${startError} />
        <button
          class="primary large"
          disabled=${busy || isStarting || !config || !seedList?.length || !!validation.problem}
        >
          ${isStarting ? "Starting …" : numRuns > 1 ? `Start ${numRuns} runs` : "Start"}
        </button>
        ${
          isStarting &&
          html`
            <p role="status">
              The run appears as soon as its tree is built. <${Link} to="/">All runs</${Link}>
            </p>
          `
        }
      </form>
      <section class="card">
        <h2>Config</h2>
        <p class="muted small">Equivalent to the form; omitted fields have their defaults.</p>
        <label>
          <span class="visually-hidden">Config as JSON</span>
          <textarea
            class="code"
            rows="26"
            spellcheck="false"
            value=${configText}
            onInput=${(event) => setConfigText(event.target.value)}
          ></textarea>
        </label>
      </section>
    </div>
    <${CommandLineHint}>
      counterplay run config.json${numRuns === 1 && seedList?.[0] ? ` --seed ${seedList[0]}` : ""}
    </${CommandLineHint}>
  `;
}

/** The fields of a config: game, algorithm and run; children follow the last field. */
function ConfigFields({ config, updateConfig, catalogue, validation, children }) {
  const game = gameFromConfig(config);
  const algorithm = catalogue.algorithms.find(
    (entry) => entry.name === config.algorithm?.split?.("(")[0],
  );
  const gameEntry = catalogue.games.find((entry) => entry.name === game.name?.split?.("(")[0]);
  const renderField = (path, spec, value, onChange) => {
    const isInvalid = validation.problem && validation.field === path;
    return html`
      <label key=${path} class=${isInvalid ? "wrong" : ""}>
        <span>
          ${spec.name.replace(/_/g, " ")}${
            spec.required
              ? ""
              : html`
                  ${" "}
                  <small>${JSON.stringify(spec.default)}</small>
                `
          }
        </span>
        <input
          value=${formatField(value)}
          placeholder=${spec.required ? "required" : JSON.stringify(spec.default)}
          aria-invalid=${isInvalid ? "true" : undefined}
          onInput=${(event) => onChange(parseField(event.target.value))}
        />
        ${isInvalid && html`<em>${validation.problem}</em>`}
      </label>
    `;
  };
  const updateSpec = (name) => (value) => updateConfig({ spec: { ...config.spec, [name]: value } });
  const updateNetwork = (name) => (value) =>
    updateConfig({ networks: { ...config.networks, [name]: value } });
  const updateParam = (name) => (value) =>
    updateConfig({ game: { ...game, params: { ...game.params, [name]: value } } });
  const chooseGame = (name) => updateConfig({ game: { name, params: {} } });
  const chooseAlgorithm = (name) =>
    updateConfig({ algorithm: name, networks: {}, spec: { max_steps: config.spec?.max_steps } });
  return html`
    <fieldset>
      <legend>Game</legend>
      <label>
        <span>game</span>
        <select value=${game.name} onChange=${(event) => chooseGame(event.target.value)}>
          ${!gameEntry && html`<option value=${game.name}>${game.name}</option>`}
          ${catalogue.games
            .filter((entry) => !entry.problem)
            .map((entry) => html`<option key=${entry.name}>${entry.name}</option>`)}
          ${catalogue.uploaded.map(
            (entry) => html`
              <option key=${entry.name} value=${entry.name}>${entry.title}</option>
            `,
          )}
        </select>
      </label>
      ${gameEntry?.fields.map((entry) =>
        renderField(
          `game.params.${entry.name}`,
          entry,
          game.params?.[entry.name],
          updateParam(entry.name),
        ),
      )}
      <${SizeEstimate} game=${game} />
    </fieldset>
    <fieldset>
      <legend>Algorithm</legend>
      <label>
        <span>algorithm</span>
        <select
          value=${config.algorithm}
          onChange=${(event) => chooseAlgorithm(event.target.value)}
        >
          ${catalogue.algorithms.map(
            (entry) => html`
              <option key=${entry.name} value=${entry.name} disabled=${!!entry.problem}>
                ${entry.name.replace(/^.*[\\/]/, "")}
              </option>
            `,
          )}
        </select>
      </label>
      <p class="muted small">${algorithm?.summary || algorithm?.problem}</p>
      ${algorithm?.fields.map((entry) =>
        entry.network
          ? renderField(
              `networks.${entry.name}`,
              entry,
              config.networks?.[entry.name],
              updateNetwork(entry.name),
            )
          : renderField(
              `spec.${entry.name}`,
              entry,
              config.spec?.[entry.name],
              updateSpec(entry.name),
            ),
      )}
    </fieldset>
    <fieldset>
      <legend>Run</legend>
      <label class=${validation.field === "name" ? "wrong" : ""}>
        <span>name</span>
        <input
          value=${config.name || ""}
          onInput=${(event) => updateConfig({ name: event.target.value })}
        />
        ${validation.field === "name" && html`<em>${validation.problem}</em>`}
      </label>
      ${catalogue.run
        .filter((entry) => entry.name !== "seed")
        .map((entry) =>
          renderField(
            `spec.${entry.name}`,
            entry,
            config.spec?.[entry.name],
            updateSpec(entry.name),
          ),
        )}
      ${children}
    </fieldset>
  `;
}

function SeedField({ seeds, setSeeds }) {
  const isValid = parseSeeds(seeds) !== null;
  return html`
    <label class=${isValid ? "" : "wrong"}>
      <span>
        seeds <small>0-4 starts five runs</small>
      </span>
      <input value=${seeds} onInput=${(event) => setSeeds(event.target.value)} />
      ${!isValid && html`<em>enter numbers, such as 0 or 0-4, 7</em>`}
    </label>
  `;
}
