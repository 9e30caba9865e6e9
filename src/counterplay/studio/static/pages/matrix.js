// Games in normal form: an editable payoff table, dominance and equilibria.

import { CommandLineHint, ErrorMessage } from "../components/common.js";
import { EquilibriumTables } from "../components/equilibrium_tables.js";
import { LearnerPaths } from "../components/learner_paths.js";
import { PayoffTable } from "../components/payoff_table.js";
import { post } from "../lib/api.js";
import { gameTitle, quoteForShell } from "../lib/format.js";
import { ignoreAfterAbort } from "../lib/hooks.js";
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { updateQuery, useLocation } from "../lib/router.js";

const EXAMPLE_GAMES = [
  "chicken",
  "prisoners_dilemma",
  "battle_of_the_sexes",
  "matching_pennies",
  "rock_paper_scissors",
  "shapleys_game",
  "king_ace_poker",
  "kuhn_poker",
];

// A coordination game to start from: both players get 1 on the diagonal.
const NEW_GAME = {
  utility: [
    [
      [1, 0],
      [0, 1],
    ],
    [
      [1, 0],
      [0, 1],
    ],
  ],
  names: [
    ["up", "down"],
    ["left", "right"],
  ],
};

/** Return the edited game in an address, { u: utility, n: names }; null without one. */
function parseMatrix(text) {
  try {
    return text && JSON.parse(text);
  } catch {
    return null;
  }
}

/** The page of normal-form games. */
export function Matrix() {
  const { query } = useLocation();
  const game = query.get("game") || "chicken";
  const matrixText = query.get("m");
  const learner = query.get("learner");
  const [state, setState] = useState({});
  const controller = useRef(null);
  const solveGame = (body) => {
    controller.current?.abort();
    controller.current = new AbortController();
    setState((previous) => ({ ...previous, busy: true, error: null }));
    const { signal } = controller.current;
    post("/api/matrix", body, { signal }).then(
      ignoreAfterAbort(signal, (data) => setState({ data })),
      ignoreAfterAbort(signal, (error) => setState({ error })),
    );
  };
  const editedGame = parseMatrix(matrixText);
  const body = editedGame ? { utility: editedGame.u, names: editedGame.n } : { game };
  useEffect(() => {
    solveGame(body);
    return () => controller.current?.abort();
  }, [game, matrixText]);
  const { data, error, busy } = state;
  const chooseGame = (name) => name && updateQuery({ game: name, m: "" });
  const edit = (utility, names) =>
    updateQuery({ m: JSON.stringify({ u: utility, n: names }) }, { replace: true });
  return html`
    <div class="head">
      <h1>Matrix</h1>
      <span class="grow"></span>
      <label class="inline">
        game${" "}
        <select
          value=${EXAMPLE_GAMES.includes(game) && !matrixText ? game : ""}
          onChange=${(event) => chooseGame(event.target.value)}
        >
          <option value="">${matrixText ? "edited" : game}</option>
          ${EXAMPLE_GAMES.map(
            (name) => html`<option key=${name} value=${name}>${gameTitle(name)}</option>`,
          )}
        </select>
      </label>
      ${
        data &&
        html`
          <button
            onClick=${() => edit(NEW_GAME.utility, NEW_GAME.names)}
          >
            New
          </button>
        `
      }
    </div>
    <${ErrorMessage} error=${error} retry=${() => solveGame(body)} />
    ${
      busy &&
      html`
        <div class="working" role="status">
          <p>Solving …</p>
          <progress aria-label="solving"></progress>
          <button
            onClick=${() => {
              controller.current?.abort();
              setState({});
            }}
          >
            Cancel
          </button>
        </div>
      `
    }
    ${
      data &&
      html`
        <p class="subtitle">
          ${data.players} players, ${data.actions.join(" × ")} actions, ${data.sum}-sum
        </p>
        ${
          data.players === 2
            ? html`<${PayoffTable} data=${data} edit=${edit} />`
            : html`<p class="muted">The payoff table is shown for two players only.</p>`
        }
        <${EquilibriumTables} data=${data} />
        <${LearnerPaths} body=${body} data=${data} />
      `
    }
    <${CommandLineHint}>
      counterplay matrix ${quoteForShell(game)}${learner ? ` --learner ${learner}` : ""}
    </${CommandLineHint}>
  `;
}
