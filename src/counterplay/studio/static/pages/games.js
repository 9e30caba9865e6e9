// The catalogue of games, and files that the user uploads.

import { CommandLineHint, ErrorMessage, Link } from "../components/common.js";
import { GameLinks } from "../components/game_links.js";
import { post } from "../lib/api.js";
import { gameTitle } from "../lib/format.js";
import { useApi } from "../lib/hooks.js";
import { html, useState } from "../lib/preact.js";
import { navigate, updateQuery, useLocation } from "../lib/router.js";

const MAX_UPLOAD_BYTES = 5e6;

/** The page of all games. */
export function Games() {
  const { query } = useLocation();
  const { data, error, reload } = useApi("/api/catalogue");
  const { data: sizeChecks, error: sizeError } = useApi("/api/offers");
  const filter = (query.get("q") || "").toLowerCase();
  const matches = (data?.games || []).filter((game) =>
    `${game.name} ${game.summary}`.toLowerCase().includes(filter),
  );
  return html`
    <div class="head">
      <h1>Games</h1>
      <span class="grow"></span>
      <label class="search">
        <span class="visually-hidden">Find games</span>
        <input
          data-search
          type="search"
          placeholder="Find games"
          value=${query.get("q") || ""}
          onInput=${(event) => updateQuery({ q: event.target.value }, { replace: true })}
        />
      </label>
    </div>
    <${ErrorMessage} error=${error} retry=${reload} />
    ${!data && !error && html`<p class="muted" role="status">Loading …</p>`}
    <${UploadBox} />
    ${
      data?.uploaded.length > 0 &&
      html`
        <h2>Your files</h2>
        <div class="cards">
          ${data.uploaded.map(
            (file) => html`
              <article class="card" key=${file.name}>
                <h3>
                  <${Link} to=${`/games/${encodeURIComponent(file.name)}`}>${file.title}</${Link}>
                </h3>
                <${GameLinks} spec=${file.name} />
              </article>
            `,
          )}
        </div>
        <h2>All games</h2>
      `
    }
    <div class="cards">
      ${matches.map(
        (game) => html`
          <article class="card" key=${game.name}>
            <h3><${Link} to=${`/games/${game.name}`}>${gameTitle(game.name)}</${Link}></h3>
            <p>${game.summary || game.problem}</p>
            ${
              sizeChecks || sizeError
                ? html`<${GameLinks} spec=${game.name} sizeCheck=${sizeChecks?.[game.name]} />`
                : html`<p class="muted small">Estimating the size …</p>`
            }
          </article>
        `,
      )}
    </div>
    ${data && !matches.length && html`<p class="muted">No game matches “${filter}”.</p>`}
    <${CommandLineHint}>counterplay games</${CommandLineHint}>
  `;
}

function UploadBox() {
  const [state, setState] = useState({});
  const upload = async (file) => {
    if (!file) return;
    if (file.size > MAX_UPLOAD_BYTES) {
      setState({ error: { message: "the file is larger than 5 MB, the limit for uploads" } });
      return;
    }
    setState({ busy: true });
    try {
      const game = await post("/api/games/upload", { name: file.name, text: await file.text() });
      navigate(`/games/${encodeURIComponent(game.name)}`);
    } catch (error) {
      setState({ error });
    }
  };
  return html`
    <div
      class="drop ${state.over ? "over" : ""}"
      onDragOver=${(event) => {
        event.preventDefault();
        setState({ over: true });
      }}
      onDragLeave=${() => setState({})}
      onDrop=${(event) => {
        event.preventDefault();
        upload(event.dataTransfer.files[0]);
      }}
    >
      <p>
        Drop an <code>.efg</code>, <code>.nfg</code> or <code>.json</code> game here, or${" "}
        <label class="file">
          choose a file
          <input
            type="file"
            accept=".efg,.nfg,.json"
            onChange=${(event) => upload(event.target.files[0])}
          />
        </label>. It stays on this machine.
      </p>
      ${state.busy && html`<p role="status">Reading …</p>`}
      <${ErrorMessage} error=${state.error} />
    </div>
  `;
}
