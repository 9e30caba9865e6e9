// The editor of hold'em spots: ranges, board, pot, stacks, bet sizes, and what solving costs.

import { BoardPicker } from "../components/board_picker.js";
import { CommandLineHint, ErrorMessage, Link } from "../components/common.js";
import { RangeEditor } from "../components/range_editor.js";
import { StreetSizes } from "../components/size_chips.js";
import { get, post, requestJson, saveBlob } from "../lib/api.js";
import { parseBoard } from "../lib/cards.js";
import {
  formatAge,
  formatBytes,
  formatCount,
  formatDuration,
  formatNumber,
} from "../lib/format.js";
import { debounceRequest } from "../lib/hooks.js";
import { html, useEffect, useState } from "../lib/preact.js";
import { navigate, updateQuery } from "../lib/router.js";
import { parseSpot, POSITIONS, PRESETS, spotParameters, STREETS } from "../lib/spots.js";

const ESTIMATE_DELAY_MS = 300;
const DRAFT_STORAGE_KEY = "counterplay-spot-draft";
const TYPICAL_ITERATIONS = 200;

/** Keep what is being edited, so that closing the tab loses nothing. */
function storeDraft(spot) {
  try {
    localStorage.setItem(DRAFT_STORAGE_KEY, JSON.stringify(spot));
  } catch {
    // Storage is disabled or full: the draft lives as long as the page.
  }
}

function loadDraft() {
  try {
    return localStorage.getItem(DRAFT_STORAGE_KEY);
  } catch {
    return null;
  }
}

const parseAmount = (text) => (text === "" || Number.isNaN(Number(text)) ? text : Number(text));

/**
 * The editor.
 * @param {{ initialSpot: object, problem: string }} props
 */
export function SpotEditor({ initialSpot, problem }) {
  const [spot, setSpot] = useState(initialSpot);
  const [target, setTarget] = useState("0.5");
  const [state, setState] = useState({});
  const [separate, setSeparate] = useState({});
  const [draft, setDraft] = useState(() => {
    const text = loadDraft();
    return text && text !== JSON.stringify(initialSpot) ? text : null;
  });
  const spotText = JSON.stringify(spot);
  useEffect(() => {
    if (spotText !== JSON.stringify(initialSpot)) storeDraft(spot);
    const send = (signal) => post("/api/spot", { spot, estimate: true }, { signal });
    const onData = (data) =>
      setState(data.problem ? { error: { message: data.problem } } : { data });
    return debounceRequest(ESTIMATE_DELAY_MS, send, onData, (error) => setState({ error }));
  }, [spotText]);
  const board = parseBoard(spot.board);
  const streets = STREETS[board.length] || [];
  const updateSpot = (patch) => {
    setDraft(null);
    setSpot((previous) => ({ ...previous, ...patch }));
  };
  const setRange = (player) => (text) => {
    setDraft(null);
    setSpot((previous) => ({ ...previous, ranges: previous.ranges.with(player, text) }));
  };
  const setSizes = (street) => (sizes) => updateSpot({ sizes: { ...spot.sizes, [street]: sizes } });
  const { data, error } = state;
  const start = async (event) => {
    event.preventDefault();
    const solvable = {
      ...spot,
      sizes: Object.fromEntries(
        Object.entries(spot.sizes || {}).filter(([street]) => streets.includes(street)),
      ),
    };
    try {
      const parameters = await spotParameters(solvable);
      updateQuery({ ...parameters, solve: target, record: "", cell: "", variant: "" });
    } catch (problemOfAddress) {
      setState({ ...state, error: problemOfAddress });
    }
  };
  const openReport = async () => {
    try {
      const { s, spot: name } = await spotParameters(spot);
      const parameters = name ? { spot: name } : { s };
      navigate(`/report?${new URLSearchParams({ ...parameters, solve: target })}`);
    } catch (problemOfAddress) {
      setState({ ...state, error: problemOfAddress });
    }
  };
  return html`
    <div class="head"><h1>Hold'em spots</h1></div>
    <p>
      Two players on the flop, the turn or the river. OOP (out of position) acts first on every
      street, IP (in position) last. Paint both ranges, choose the board, then solve.
    </p>
    ${problem && html`<${ErrorMessage} error=${{ message: problem }} />`}
    ${
      draft &&
      html`
        <p class="notice">
          You were editing another spot.${" "}
          <button
            type="button"
            class="quiet"
            onClick=${() => {
              setSpot(parseSpot(draft).spot);
              setDraft(null);
            }}
          >
            Go on with it
          </button>
        </p>
      `
    }
    <form class="spot-editor" onSubmit=${start}>
      <div class="actions presets" role="group" aria-label="Presets">
        ${PRESETS.map(
          (preset) => html`
            <button
              type="button"
              key=${preset.key}
              title=${`${preset.detail}; typical ranges to start from`}
              onClick=${() => updateSpot({ ...preset.spot, board: board.slice(0, 3).join("") })}
            >
              ${preset.name}
            </button>
          `,
        )}
      </div>
      <div class="two">
        ${[0, 1].map(
          (player) => html`
            <div class="card" key=${player}>
              <${RangeEditor}
                label=${POSITIONS[player]}
                text=${spot.ranges[player]}
                setText=${setRange(player)}
                board=${board}
              />
            </div>
          `,
        )}
      </div>
      <div class="two">
        <section class="card" aria-label="Board, pot and stacks">
          <${BoardPicker}
            board=${board}
            text=${spot.board}
            setText=${(text) => updateSpot({ board: text })}
          />
          <div class="actions">
            <label class="inline">
              <span>pot</span>
              <input
                inputmode="numeric"
                value=${spot.pot}
                onInput=${(event) => updateSpot({ pot: parseAmount(event.target.value) })}
              />
            </label>
            <label class="inline">
              <span>stack</span>
              <input
                inputmode="numeric"
                value=${spot.stacks[0]}
                onInput=${(event) => {
                  const chips = parseAmount(event.target.value);
                  updateSpot({ stacks: [chips, chips] });
                }}
              />
            </label>
            <label class="inline">
              <span>target, % of the pot</span>
              <input
                inputmode="decimal"
                value=${target}
                onInput=${(event) => setTarget(event.target.value)}
              />
            </label>
          </div>
          <${Estimate} data=${data} error=${error} />
          <div class="actions">
            <button class="primary large" disabled=${!data?.fits || !!error}>Solve</button>
            ${
              board.length === 3 &&
              html`
                <button type="button" disabled=${!data?.fits || !!error} onClick=${openReport}>
                  Report over flops
                </button>
              `
            }
          </div>
        </section>
        <section class="card" aria-label="Bet sizes">
          ${streets.map(
            (street) => html`
              <${StreetSizes}
                key=${street}
                street=${street}
                sizes=${spot.sizes?.[street]}
                setSizes=${setSizes(street)}
                isSeparate=${separate[street]}
                separate=${() => setSeparate({ ...separate, [street]: true })}
              />
            `,
          )}
          ${!streets.length && html`<p class="muted">Choose 3, 4 or 5 cards first.</p>`}
          <p class="muted small">
            50% of the pot, 2.5x the bet, 100c in chips, e geometric, a all-in.
          </p>
        </section>
      </div>
    </form>
    <${SavedFiles} spot=${spot} open=${(text) => updateSpot(parseSpot(text).spot)} />
    <${CommandLineHint}>
      counterplay spot solve spot.json --target ${target}% --save spot.cps
    </${CommandLineHint}>
  `;
}

/** Combos, memory and time; what to cut if the spot is too large. */
function Estimate({ data, error }) {
  if (error) return html`<${ErrorMessage} error=${error} />`;
  if (!data) return html`<p class="muted small" role="status">Estimating memory and time …</p>`;
  const seconds = data.seconds * TYPICAL_ITERATIONS;
  return html`
    <div class=${data.fits ? "muted small" : "problem"} role="status">
      <p>
        ${data.combos
          .map((combos, player) => `${POSITIONS[player]} ${formatNumber(combos, 4)} combos`)
          .join(", ")}; ${formatCount(data.infosets)} infosets; needs ${formatBytes(data.bytes)} of
        ${" "}${formatBytes(data.free)} free memory and about ${formatDuration(seconds)} of one core
        (${formatDuration(data.seconds)} per iteration).
        ${!data.fits && " Too large: use fewer bet sizes or narrower ranges."}
      </p>
      ${
        data.cuts.length > 0 &&
        html`
          <ul>
            ${data.cuts.map(
              (cut) => html`<li key=${cut.text}>${cut.text}: ${formatBytes(cut.bytes)}</li>`,
            )}
          </ul>
        `
      }
    </div>
    ${data.notes.map((note) => html`<p key=${note} class="muted small">Note: ${note}.</p>`)}
  `;
}

/** Spots and solutions of the library. */
function SavedFiles({ spot, open }) {
  const [spots, setSpots] = useState([]);
  const [solutions, setSolutions] = useState([]);
  const [name, setName] = useState("");
  const [state, setState] = useState({});
  const load = async () => {
    try {
      const [first, second] = await Promise.all([
        get("/api/library/spots"),
        get("/api/library/solutions"),
      ]);
      setSpots(first.files);
      setSolutions(second.files);
    } catch (error) {
      setState({ error });
    }
  };
  useEffect(() => {
    load();
  }, []);
  const save = async () => {
    try {
      await post("/api/library/spots", { name, text: `${JSON.stringify(spot, null, 2)}\n` });
      setState({ message: `Saved as ${name}.` });
      await load();
    } catch (error) {
      setState({ error });
    }
  };
  const remove = async (kind, file) => {
    try {
      await requestJson("DELETE", `/api/library/${kind}/${encodeURIComponent(file)}`);
      await load();
    } catch (error) {
      setState({ error });
    }
  };
  const openFile = async (file) => {
    if (file) open(await file.text());
  };
  const download = () =>
    saveBlob(
      new Blob([`${JSON.stringify(spot, null, 2)}\n`], { type: "application/json" }),
      "spot.json",
    );
  const renderList = (kind, files, renderName) => html`
    <ul class="plain">
      ${files.map(
        (file) => html`
          <li key=${file.name}>
            ${renderName(file)}${" "}
            <small class="muted">
              ${formatBytes(file.bytes)}, ${formatAge(new Date(1000 * file.time).toISOString())}
            </small>
            <button
              type="button"
              class="quiet small"
              aria-label=${`Remove ${file.name}`}
              onClick=${() => remove(kind, file.name)}
            >
              ✕
            </button>
          </li>
        `,
      )}
    </ul>
    ${!files.length && html`<p class="muted small">None yet.</p>`}
  `;
  return html`
    <div class="two">
      <section class="card">
        <h2>Saved spots</h2>
        <div class="actions">
          <input
            value=${name}
            placeholder="name"
            aria-label="Name of this spot"
            onInput=${(event) => setName(event.target.value)}
          />
          <button type="button" disabled=${!name.trim()} onClick=${save}>Save spot</button>
          <button type="button" onClick=${download}>Download spot.json</button>
          <label class="file">
            Open spot.json
            <input
              type="file"
              accept=".json"
              onChange=${(event) => openFile(event.target.files[0])}
            />
          </label>
        </div>
        ${state.message && html`<p class="muted small" role="status">${state.message}</p>`}
        <${ErrorMessage} error=${state.error} />
        ${renderList(
          "spots",
          spots,
          (file) => html`
            <button
              type="button"
              class="quiet"
              onClick=${() => navigate(`/spots?spot=${encodeURIComponent(file.name)}`)}
            >
              ${file.name}
            </button>
          `,
        )}
      </section>
      <section class="card">
        <h2>Saved solutions</h2>
        ${renderList(
          "solutions",
          solutions,
          (file) => html`
            <${Link} to=${`/spots?file=${encodeURIComponent(file.name)}`}>${file.name}</${Link}>
          `,
        )}
      </section>
    </div>
  `;
}
