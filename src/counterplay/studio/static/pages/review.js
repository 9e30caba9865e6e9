// Played hands: drop hand histories, and price the decisions after the flop by solving their spot.

import { Cards } from "../components/board_picker.js";
import { CommandLineHint, ErrorMessage, Link, ProgressMessage } from "../components/common.js";
import { post, requestUntilReady } from "../lib/api.js";
import { parseBoard } from "../lib/cards.js";
import { formatNumber, formatPercent } from "../lib/format.js";
import { html, useState } from "../lib/preact.js";
import { POSITIONS, PRESETS } from "../lib/spots.js";

const MAX_UPLOAD_BYTES = 5 << 20;
const PRICE_TARGET = 1; // exploitability in percent of the pot of the solutions that price hands
const STREETS = ["flop", "turn", "river"];

/** The page of hand reviews. */
export function Review() {
  const [files, setFiles] = useState([]);
  const [ranges, setRanges] = useState(PRESETS[0].spot.ranges);
  const [street, setStreet] = useState("flop");
  const [state, setState] = useState({});
  const read = async (chosen, next = {}) => {
    const assumed = { ranges, street, ...next };
    if (!chosen.length) return;
    setState({ busy: true });
    try {
      const data = await post("/api/review", { files: chosen, ...assumed });
      setState({ data, version: Date.now() });
    } catch (error) {
      setState({ error });
    }
  };
  const add = async (list) => {
    const chosen = [...list];
    if (chosen.reduce((sum, file) => sum + file.size, 0) > MAX_UPLOAD_BYTES) {
      setState({ error: { message: "the files are larger than 5 MB, the limit for uploads" } });
      return;
    }
    const read_files = await Promise.all(
      chosen.map(async (file) => ({ name: file.name, text: await file.text() })),
    );
    setFiles(read_files);
    await read(read_files);
  };
  const { data, error, busy } = state;
  return html`
    <div class="head"><h1>Hand review</h1></div>
    <p>
      Decisions of played hands, priced by EV. Hands that are heads-up on the flop become a spot with
      the ranges that you assume; its solution prices every decision with known cards.
    </p>
    <div
      class="drop ${state.over ? "over" : ""}"
      onDragOver=${(event) => {
        event.preventDefault();
        setState({ ...state, over: true });
      }}
      onDragLeave=${() => setState({ ...state, over: false })}
      onDrop=${(event) => {
        event.preventDefault();
        add(event.dataTransfer.files);
      }}
    >
      <p>
        Drop <code>.phh</code> files, or ACPC logs with their <code>.game</code> file, or${" "}
        <label class="file">
          choose files
          <input
            type="file"
            multiple
            accept=".phh,.log,.txt,.game"
            onChange=${(event) => add(event.target.files)}
          />
        </label>. They stay on this machine.
      </p>
      ${busy && html`<p role="status">Reading …</p>`}
    </div>
    <${ErrorMessage} error=${error} />
    <section class="card">
      <h2>Assumptions</h2>
      <div class="form">
        ${[0, 1].map(
          (player) => html`
            <label key=${player}>
              <span>range of ${POSITIONS[player]}</span>
              <textarea
                class="code"
                rows="2"
                spellcheck="false"
                value=${ranges[player]}
                onChange=${(event) => {
                  const next = ranges.with(player, event.target.value);
                  setRanges(next);
                  read(files, { ranges: next });
                }}
              ></textarea>
            </label>
          `,
        )}
        <label>
          <span>spot starts on the</span>
          <select
            value=${street}
            onChange=${(event) => {
              setStreet(event.target.value);
              read(files, { street: event.target.value });
            }}
          >
            ${STREETS.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
          </select>
        </label>
      </div>
    </section>
    ${data?.problems.map((text) => html`<${ErrorMessage} key=${text} error=${{ message: text }} />`)}
    ${
      data?.left_out > 0 &&
      html`<p class="notice">${data.left_out} more hands are not shown; drop fewer files.</p>`
    }
    ${data?.hands.map(
      (hand, index) =>
        html`<${PlayedHand} key=${`${state.version} ${index}`} hand=${hand} index=${index} />`,
    )}
    <${CommandLineHint}>
      counterplay review hand.phh --oop RANGE --ip RANGE
    </${CommandLineHint}>
  `;
}

function PlayedHand({ hand, index }) {
  const [state, setState] = useState({});
  const { spot } = hand;
  const known = spot?.decisions.filter((decision) => decision.hand) || [];
  const price = async () => {
    setState({ progress: {} });
    try {
      const data = await requestUntilReady("POST", "/api/spot/price", {
        body: {
          spot: spot.spot,
          target: PRICE_TARGET,
          decisions: known.map(({ history, hand: cards, action }) => ({
            history,
            hand: cards,
            action,
          })),
        },
        onProgress: (progress) => setState({ progress }),
      });
      setState({ data });
    } catch (error) {
      setState({ error });
    }
  };
  const { data, progress, error } = state;
  const link =
    spot &&
    `/spots?${new URLSearchParams({
      s: JSON.stringify(spot.spot),
      solve: String(PRICE_TARGET),
    })}`;
  return html`
    <section class="card">
      <h2>Hand ${hand.number || index + 1}: ${hand.names.join(", ")}</h2>
      ${
        spot
          ? html`
              <p>
                <${Cards} cards=${parseBoard(spot.spot.board)} /> pot ${formatNumber(spot.spot.pot)};
                OOP ${spot.names[0]}, IP ${spot.names[1]}
              </p>
              <div class="actions">
                <button class="primary" disabled=${!!progress || !known.length} onClick=${price}>
                  Price ${known.length} decisions
                </button>
                <${Link} class="button" to=${link}>Open the spot</${Link}>
              </div>
              ${progress && html`<${ProgressMessage} progress=${progress} />`}
              <${ErrorMessage} error=${error} retry=${price} />
              <div class="scroll">
                <table>
                  <thead>
                    <tr>
                      <th scope="col">player</th>
                      <th scope="col">street</th>
                      <th scope="col">cards</th>
                      <th scope="col">line</th>
                      <th scope="col">action</th>
                      <th scope="col" class="num">EV loss</th>
                      <th scope="col">best</th>
                      <th scope="col" class="num">frequency</th>
                    </tr>
                  </thead>
                  <tbody>
                    ${spot.decisions.map((decision) => {
                      const found = data?.prices[known.indexOf(decision)];
                      const chosen = found?.actions?.indexOf(decision.action) ?? -1;
                      return html`
                        <tr key=${decision.history}>
                          <td>${decision.player}</td>
                          <td>${decision.street}</td>
                          <td><code>${decision.hand || "unknown"}</code></td>
                          <td><code>${decision.history || "–"}</code></td>
                          <td>${decision.played}</td>
                          <td class="num" title=${found?.ev_loss}>
                            ${
                              found?.problem
                                ? "not in range"
                                : found && !found.is_reached
                                  ? "not reached"
                                  : found
                                    ? html`${formatNumber(found.ev_loss)}${" "}
                                      <small>${formatPercent(found.pot_fraction)} of the pot</small>`
                                    : ""
                            }
                          </td>
                          <td>${found?.is_reached ? found.best_action : ""}</td>
                          <td class="num">
                            ${chosen >= 0 ? formatPercent(found.frequencies[chosen]) : ""}
                          </td>
                        </tr>
                      `;
                    })}
                  </tbody>
                </table>
              </div>
            `
          : html`
              <p class="muted">${hand.reason}.</p>
              <p class="small">
                ${hand.decisions
                  .map(({ player, street, action }) => `${street}: ${player} ${action}`)
                  .join("; ")}
              </p>
            `
      }
    </section>
  `;
}
