// Play against a policy or a searcher, with the regret of every decision.

import { CommandLineHint, ErrorMessage, Link, ProgressMessage } from "../components/common.js";
import { PokerTable, RaiseSlider } from "../components/poker_table.js";
import { SearchDetails } from "../components/search_details.js";
import { SearcherFields } from "../components/searcher_fields.js";
import { buildQuery, del, get, post, requestUntilReady } from "../lib/api.js";
import {
  formatNumber,
  formatPercent,
  formatSigned,
  gameTitle,
  playerName,
  quoteForShell,
} from "../lib/format.js";
import { useApi, useLiveRuns, useShortcuts } from "../lib/hooks.js";
import { html, useEffect, useState } from "../lib/preact.js";
import { updateQuery, useLocation } from "../lib/router.js";
import { parseSpecParams } from "../lib/specs.js";

/** The page on which the user plays. */
export function Play() {
  const { query } = useLocation();
  const play = query.get("play");
  return play ? html`<${Episode} key=${play} play=${play} />` : html`<${PlaySetup} />`;
}

const DIGITS = [..."123456789"];
const SEARCHABLE_GAMES = ["tic_tac_toe", "connect_four"];
const NO_LIMIT_GAMES = ["no_limit_holdem"];
const NO_REGRET_TITLE = "not available against an opponent that searches, or in a game this large";
const TWO_PLAYER_AGENTS = ["resolving", "belief_search"];

const baseName = (spec) => spec.split("(")[0];

/** Return the search agents whose needs a game meets. */
function listSearchAgents(agents, offer) {
  const fits = offer?.fits ?? true;
  const players = offer?.players ?? 2;
  return (agents || []).filter(
    ({ name, needs, problem }) =>
      !problem &&
      (fits || needs === "rules") &&
      (players === 2 || !TWO_PLAYER_AGENTS.includes(name)),
  );
}

function listOpponents(game, runs, treeFits, searchAgents) {
  const runOptions = [...runs.values()]
    .filter((run) => run.game === game && run.exact && run.checkpoint)
    .map((run) => [
      `run:${run.id}@${run.policy}`,
      `${run.name} (${run.algorithm}, ${formatNumber(run.value)})`,
    ]);
  const searchOptions = SEARCHABLE_GAMES.includes(game.split("(")[0])
    ? [
        ["search:alpha_beta", "alpha-beta search"],
        ["search:mcts(max_seconds=1)", "Monte Carlo tree search"],
      ]
    : [];
  if (NO_LIMIT_GAMES.includes(game.split("(")[0])) {
    searchOptions.push(["search:hunl", "blueprint and search (hunl)"]);
  }
  const uniformOption = ["uniform", "uniform random"];
  const solveOptions =
    searchOptions.length || !treeFits ? [] : [["solve:cfr_plus@1000", "CFR+, 1,000 iterations"]];
  const agentOptions = searchAgents.map(({ name, summary }) => [
    `search:${name}`,
    `${name}: ${summary.replace(/ \(.*$|,.*$|\.$/, "")}`,
  ]);
  return [...runOptions, ...searchOptions, ...solveOptions, uniformOption, ...agentOptions];
}

function PlaySetup() {
  const { query } = useLocation();
  const { runs } = useLiveRuns();
  const { data, error: catalogueError } = useApi("/api/catalogue");
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const policy = query.get("policy") || "";
  const run = runs.get(policy.replace(/^run:/, "").split("@")[0]);
  const game = query.get("game") || run?.game || "kuhn_poker";
  const { data: sizeChecks } = useApi("/api/offers");
  const treeFits = sizeChecks?.[game]?.fits ?? true;
  const searchAgents = listSearchAgents(data?.search_agents, sizeChecks?.[game]);
  const opponentOptions = listOpponents(game, runs, treeFits, searchAgents);
  const opponent =
    opponentOptions.some(([key]) => key === policy) || policy
      ? policy
      : opponentOptions[0]?.[0] || "uniform";
  const agent = searchAgents.find(({ name }) => `search:${name}` === baseName(opponent));
  const selected = agent ? baseName(opponent) : opponent; // its parameters have their own fields
  const seat = Number(query.get("seat") || 0);
  const gameOptions = [
    ...(data?.games || []).map((entry) => [entry.name, gameTitle(entry.name)]),
    ...(data?.uploaded || []).map((entry) => [entry.name, entry.title]),
  ];
  const start = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const session = await post("/api/play", { game, policy: opponent, seat });
      updateQuery({ play: session.play, game, policy: opponent, seat: seat || "" });
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return html`
    <section class="narrow">
      <h1>Play</h1>
      <p>
        Play against a policy.${" "}
        ${
          treeFits
            ? agent
              ? "After the episode the page shows what the opponent's searches have computed."
              : "The exact regret against this opponent is shown for every decision."
            : `${sizeChecks[game].reason}: regret is not available.`
        }
      </p>
      <${ErrorMessage} error=${catalogueError || error} />
      <form class="card form" onSubmit=${start}>
        <label>
          <span>game</span>
          <select
            value=${game}
            onChange=${(event) => updateQuery({ game: event.target.value, policy: "" })}
          >
            ${
              !gameOptions.some(([key]) => key === game) &&
              html`<option value=${game}>${gameTitle(game)}</option>`
            }${gameOptions.map(
              ([key, name]) => html`<option key=${key} value=${key}>${name}</option>`,
            )}
          </select>
        </label>
        <label>
          <span>opponent</span>
          <select
            value=${selected}
            onChange=${(event) => updateQuery({ policy: event.target.value })}
          >
            ${
              !opponentOptions.some(([key]) => key === selected) &&
              html`<option value=${selected}>${selected}</option>`
            }${opponentOptions.map(
              ([key, name]) => html`<option key=${key} value=${key}>${name}</option>`,
            )}
          </select>
        </label>
        ${
          agent &&
          html`
            <${SearcherFields}
              key=${agent.name}
              agent=${agent}
              runs=${[...runs.values()].filter((entry) => entry.game === game)}
              params=${parseSpecParams(opponent)}
              onChange=${(spec) => updateQuery({ policy: `search:${spec}` })}
            />
          `
        }
        <label>
          <span>your seat</span>
          <input
            type="number"
            min="0"
            max="9"
            value=${seat}
            onInput=${(event) => updateQuery({ seat: event.target.value })}
          />
        </label>
        <button class="primary large" disabled=${busy}>Play</button>
      </form>
      <${CommandLineHint}>
        ${`counterplay play ${quoteForShell(game)}${seat ? ` --player ${seat}` : ""}${opponentOption(opponent)}`}
      </${CommandLineHint}>
    </section>
  `;
}

const describeHint = ({ probability, value }) =>
  formatPercent(probability) + (value === undefined ? "" : `, EV ${formatNumber(value)}`);

const decisionKey = (state) => `${state.number} ${state.move}`;

function Episode({ play }) {
  const { query } = useLocation();
  const [state, setState] = useState(null);
  const [error, setError] = useState(null);
  const [progress, setProgress] = useState(null);
  const [latestHint, setLatestHint] = useState(null);
  const [busy, setBusy] = useState(false);
  const applyResponse = (promise) => {
    setBusy(true);
    return promise.then(
      (response) => {
        setState(response);
        setError(null);
        setProgress(null);
        setBusy(false);
      },
      (problem) => {
        setBusy(false);
        if (problem.status === 202) return loadState(); // the opponent is still computing
        if (problem.code === "stale") return loadState();
        setProgress(null);
        setError(problem);
        return null;
      },
    );
  };
  const loadState = () =>
    applyResponse(requestUntilReady("GET", `/api/play/${play}`, { onProgress: setProgress }));
  useEffect(() => {
    loadState();
  }, [play]);
  const takeAction = (index) => {
    if (!state || state.over || busy) return false;
    if (index >= state.actions.length && !(state.raises && index >= state.raises.first)) {
      return false;
    }
    setLatestHint(null);
    return applyResponse(
      post(`/api/play/${play}/act`, { action: index, move: state.move, number: state.number }),
    );
  };
  const startNextEpisode = () => {
    if (!state?.over || busy) return false;
    setLatestHint(null);
    return applyResponse(post(`/api/play/${play}/next`, { number: state.number }));
  };
  const requestHint = async () => {
    if (state?.over) return;
    try {
      const response = await get(`/api/play/${play}?hint=1`);
      setLatestHint({ ...response, at: decisionKey(response) }); // valid until the next decision
    } catch (problem) {
      if (problem.status !== 202) setError(problem);
    }
  };
  const takeListedAction = (index) => index < (state?.actions?.length || 0) && takeAction(index);
  useShortcuts({
    ...Object.fromEntries(
      DIGITS.map((digit) => [digit, () => takeListedAction(Number(digit) - 1)]),
    ),
    h: requestHint,
    n: startNextEpisode,
    Enter: (event) =>
      event.target === document.body || event.target.id === "main" ? startNextEpisode() : false,
  });
  const hint = state && latestHint?.at === decisionKey(state) ? latestHint.hint : null;
  const leaveEpisode = () => updateQuery({ play: "" });
  if (error) {
    return html`
      <h1>Play</h1>
      <${ErrorMessage} error=${error} retry=${error.status === 404 ? leaveEpisode : loadState} />
    `;
  }
  if (!state) {
    return html`
      <h1>Play</h1>
      <${ProgressMessage}
        progress=${progress}
        cancel=${() => {
          del(
            `/api/desk?${buildQuery({ game: query.get("game"), policy: query.get("policy") })}`,
          ).catch(() => {});
          leaveEpisode();
        }}
      />
    `;
  }
  const isSearch = state.policy.startsWith("search:"); // has no policy to explore
  const policyQuery = buildQuery({
    game: query.get("game"),
    ...(isSearch ? {} : { policy: state.policy }),
  });
  const totalRegret =
    state.lost +
    (state.over ? 0 : state.decisions.reduce((sum, decision) => sum + (decision.loss || 0), 0));
  return html`
    <div class="head">
      <h1>${gameTitle(state.game)}</h1>
      <span class="muted">
        you are player ${state.seat} of ${state.players}; episode ${state.number + 1}
      </span>
      <span class="grow"></span>
      <${Link} class="button" to=${`/explore?${policyQuery}`}>Explore</${Link}>
      <button onClick=${leaveEpisode}>Leave</button>
    </div>
    <dl class="facts">
      <div>
        <dt>Score</dt>
        <dd>
          ${formatSigned(state.score)}${" "}
          <small>in ${state.episodes} episode${state.episodes === 1 ? "" : "s"}</small>
        </dd>
      </div>
      <div>
        <dt>Regret</dt>
        ${
          state.has_regret
            ? html`<dd class="bad" title=${totalRegret}>${formatNumber(totalRegret)}</dd>`
            : html`<dd title=${NO_REGRET_TITLE}>–</dd>`
        }
      </div>
      <div>
        <dt>Average score</dt>
        <dd>${state.episodes ? formatNumber(state.score / state.episodes) : "–"}</dd>
      </div>
    </dl>
    <div class="two wide-left">
      <section class="card play-card" aria-live="polite">
        ${state.board && html`<pre class="board">${state.board}</pre>`}
        ${state.table && html`<${PokerTable} table=${state.table} seat=${state.seat} />`}
        ${
          state.over
            ? html`<${EpisodeResult}
                state=${state}
                startNextEpisode=${startNextEpisode}
                busy=${busy}
              />`
            : html`
                <p class="situation">${state.words}</p>
                <div class="choices">
                  ${state.actions.map(
                    (action, index) => html`
                      <button
                        key=${index}
                        class="choice"
                        disabled=${busy}
                        onClick=${() => takeAction(index)}
                      >
                        ${index < 9 && html`<kbd>${index + 1}</kbd>`}
                        <span>${action.words}</span>
                        ${
                          hint &&
                          html`
                            <small>
                              ${describeHint(hint[index])}
                            </small>
                          `
                        }
                      </button>
                    `,
                  )}
                </div>
                ${
                  state.raises &&
                  html`<${RaiseSlider}
                    key=${decisionKey(state)}
                    raises=${state.raises}
                    hints=${hint && latestHint.raise_hints}
                    disabled=${busy}
                    raiseTo=${(total) => takeAction(state.raises.first + total - state.raises.low)}
                  />`
                }
                <p>
                  <button class="quiet" onClick=${requestHint}>
                    Hint <kbd>h</kbd>
                  </button>
                  ${
                    hint &&
                    html`
                      <span class="muted small">
                        ${" "}the opponent's policy in your seat, and the EV of each action
                        against it
                      </span>
                    `
                  }
                </p>
              `
        }
      </section>
      <section class="card">
        <h2>Your decisions</h2>
        ${
          state.decisions.length === 0
            ? html`<p class="muted">None yet in this episode.</p>`
            : html`
                <ol class="decisions">
                  ${state.decisions.map(
                    (decision, index) => html`
                      <li key=${index}>
                        <p>${decision.words}</p>
                        <p>
                          <b>${decision.action}</b>${" "}
                          <${DecisionRegret} decision=${decision} />${" "}
                          ${
                            decision.infoset !== undefined &&
                            html`
                              <${Link} to=${`/explore?${policyQuery}&infoset=${decision.infoset}`}>
                                explore
                              </${Link}>
                            `
                          }
                        </p>
                      </li>
                    `,
                  )}
                </ol>
              `
        }
        ${
          state.has_regret &&
          html`
            <p class="muted small">
              Regret: the EV that an action loses against this opponent, if you play a best response
              afterwards.
            </p>
          `
        }
      </section>
    </div>
    <${CommandLineHint}>
      counterplay play ${quoteForShell(query.get("game") || state.game)}${" "}
      --player ${state.seat}${opponentOption(state.policy)}${state.has_regret ? " --losses" : ""}
    </${CommandLineHint}>
  `;
}

/** Return the command-line option for an opponent, with a leading space; "" for the default. */
function opponentOption(policy) {
  if (policy.startsWith("run:")) return ` --policy runs/${policy.slice(4)}`;
  if (policy.startsWith("search:")) {
    return ` --opponent ${quoteForShell(policy.slice(7).replace(/"run:/g, '"runs/'))}`;
  }
  return policy === "uniform" ? " --opponent uniform" : "";
}

function DecisionRegret({ decision }) {
  if (decision.loss === null) return html`<span class="muted">no regret available</span>`;
  if (decision.loss < 1e-9) return html`<span class="good">no regret</span>`;
  return html`
    <span class=${decision.loss < 1e-3 ? "muted" : "bad"} title=${decision.loss}>
      regret ${formatNumber(decision.loss)}; best action: ${decision.best}
    </span>
  `;
}

function EpisodeResult({ state, startNextEpisode, busy }) {
  const gain = state.utilities[state.seat];
  return html`
    <p class="situation">
      ${gain > 0 ? "You win" : gain < 0 ? "You lose" : "A draw"}${" "}
      <b class=${gain < 0 ? "bad" : "good"}>${formatSigned(gain)}</b>
    </p>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">player</th>
            <th scope="col">action</th>
            <th scope="col">policy</th>
          </tr>
        </thead>
        <tbody>
          ${state.history.map(
            (step, index) => html`
              <tr key=${index}>
                <td>
                  ${step.player === state.seat ? "you" : playerName(step.player)}
                </td>
                <td><b>${step.name}</b></td>
                <td class="muted">
                  ${step.odds
                    .map(([name, probability]) => `${name} ${formatPercent(probability)}`)
                    .join(", ")}
                </td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
    <${SearchDetails} history=${state.history} seat=${state.seat} />
    <p>
      <button class="primary large" disabled=${busy} onClick=${startNextEpisode}>
        Next <kbd>n</kbd>
      </button>${" "}
      <small class="muted">seed ${state.seed}</small>
    </p>
  `;
}
