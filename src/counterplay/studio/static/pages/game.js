// One game: its rules, its parameters and the size of its tree.

import { CommandLineHint, DownloadButton, ErrorMessage, Link } from "../components/common.js";
import { SizeEstimate } from "../components/estimates.js";
import { GameLinks } from "../components/game_links.js";
import { gameTitle, quoteForShell } from "../lib/format.js";
import { useApi } from "../lib/hooks.js";
import { html, useState } from "../lib/preact.js";
import { formatGameSpec, parseJsonOrText, parseSpecParams } from "../lib/specs.js";

const MAX_TRACE_NODES = 100_000; // of a tree that the page Trace accepts

const formatParam = (value) =>
  value === undefined ? "" : JSON.stringify(value).replace(/^"|"$/g, "");

/**
 * The page of one game.
 * @param {{ spec: string }} props
 */
export function Game({ spec }) {
  const { data, error } = useApi("/api/catalogue");

  const entry = data?.games.find((game) => game.name === spec.split("(")[0]);
  const file = data?.uploaded.find((game) => game.name === spec);
  const [params, setParams] = useState(() => parseSpecParams(spec));
  const [sizeCheck, setSizeCheck] = useState(null); // until the size is known
  const game = { name: entry ? entry.name : spec, params: entry ? params : {} };
  const fullSpec = formatGameSpec(game);
  const setParam = (name, text) =>
    setParams({ ...params, [name]: text === "" ? undefined : parseJsonOrText(text) });

  const encodedSpec = encodeURIComponent(fullSpec);
  const hasMatrix =
    entry && /Matrix|Chicken|Pennies|Scissors|Dilemma|Sexes|Shapley/i.test(entry.doc + entry.name);
  return html`
    <div class="head">
      <h1>${file ? file.title : gameTitle(spec)}</h1>
      <span class="grow"></span>
      <div class="actions">
        ${
          sizeCheck && html`<${GameLinks} spec=${fullSpec} sizeCheck=${sizeCheck} button=${true} />`
        }
        ${
          sizeCheck?.fits &&
          sizeCheck.nodes <= MAX_TRACE_NODES &&
          html`
            <${Link} class="button" to=${`/trace?game=${encodedSpec}`}>Step through CFR</${Link}>
          `
        }
        ${
          (hasMatrix || file) &&
          sizeCheck?.fits &&
          html`<${Link} class="button" to=${`/matrix?game=${encodedSpec}`}>Matrix</${Link}>`
        }
      </div>
    </div>
    <${ErrorMessage} error=${error} />
    ${
      data &&
      !entry &&
      !file &&
      !spec.startsWith("openspiel:") &&
      html`
        <p>
          There is no game of this name. <${Link} to="/games">All games</${Link}>
        </p>
      `
    }
    <div class="two">
      <section class="card">
        <h2>Parameters</h2>
        ${
          entry?.fields.length
            ? html`
                <form class="form" onSubmit=${(event) => event.preventDefault()}>
                  ${entry.fields.map(
                    (field) => html`
                      <label key=${field.name}>
                        <span>${field.name.replace(/_/g, " ")}</span>
                        <input
                          value=${formatParam(params[field.name])}
                          placeholder=${JSON.stringify(field.default)}
                          onInput=${(event) => setParam(field.name, event.target.value)}
                        />
                      </label>
                    `,
                  )}
                </form>
              `
            : html`<p class="muted">This game has no parameters.</p>`
        }
        ${data && html`<${SizeEstimate} game=${game} onEstimate=${setSizeCheck} />`}
      </section>
      ${
        entry &&
        html`
          <section class="card">
            <h2>Rules</h2>
            <${RulesText} text=${entry.doc} />
          </section>
        `
      }
    </div>
    ${
      sizeCheck?.fits &&
      html`
        <p class="actions">
          <${DownloadButton}
            path=${`/api/explore/game_file?game=${encodedSpec}`}
            name=${`${game.name.replace(/\W.*/, "") || "game"}.efg`}
          >
            Save as .efg
          </${DownloadButton}>
        </p>
      `
    }
    <${CommandLineHint}>
      ${`counterplay inspect ${quoteForShell(file ? file.title : fullSpec)}`}
    </${CommandLineHint}>
  `;
}

/** Paragraphs are filled; indented text, such as tables, keeps its line breaks. */
const RulesText = ({ text }) =>
  text.split(/\n\s*\n/).map((paragraph, index) =>
    paragraph
      .split("\n")
      .slice(1)
      .some((line) => line.startsWith("  "))
      ? html`<pre key=${index} class="doc">${paragraph}</pre>`
      : html`
          <p key=${index}>${paragraph.replace(/`/g, "").replace(/\s*\n\s*/g, " ")}</p>
        `,
  );
