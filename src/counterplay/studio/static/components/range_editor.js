// A range painted on the 13 x 13 grid, its text, and the library of saved ranges.

import { get, post, requestJson } from "../lib/api.js";
import { CELLS, CELL_BY_NAME, HAND_CLASSES, NUM_HANDS, SUIT_SIGNS } from "../lib/cards.js";
import { cellsFrom, cellWeight } from "../lib/cards.js";
import { adjacentCell } from "../lib/focus.js";
import { formatNumber, formatPercent } from "../lib/format.js";
import { debounceRequest } from "../lib/hooks.js";
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { ErrorMessage } from "./common.js";

const PARSE_DELAY_MS = 250;
const BRUSHES = [1, 0.75, 0.5, 0.25, 0];
const NO_WEIGHTS = new Array(NUM_HANDS).fill(0);

/**
 * The editor of one range. The grid and the text show the same range: painting rewrites the text,
 * and typing repaints the grid.
 * @param {{ label: string, text: string, setText: (text: string) => void, board: string[] }} props
 *   `board` marks the hands that it makes impossible
 */
export function RangeEditor({ label, text, setText, board }) {
  const [weights, setWeights] = useState(NO_WEIGHTS);
  const [brush, setBrush] = useState(1);
  const [cellName, setCellName] = useState("AA");
  const [problem, setProblem] = useState("");
  const parsedText = useRef(null); // the text that the weights stand for
  const latestWeights = useRef(weights);
  latestWeights.current = weights;
  useEffect(() => {
    if (parsedText.current === text) {
      setProblem("");
      return undefined;
    }
    const isFirst = parsedText.current === null;
    const send = (signal) => post("/api/range", { text }, { signal });
    const onData = (data) => {
      setProblem(data.problem || "");
      if (!data.weights) return;
      parsedText.current = text;
      setWeights(data.weights);
    };
    const onError = (error) => setProblem(error.message);
    return debounceRequest(isFirst ? 0 : PARSE_DELAY_MS, send, onData, onError);
  }, [text]);
  const writeText = async (next) => {
    try {
      const { text: newText } = await post("/api/range", { weights: next });
      if (latestWeights.current !== next) return; // painted on meanwhile
      parsedText.current = newText;
      setProblem("");
      setText(newText);
    } catch (error) {
      setProblem(error.message);
    }
  };
  const paint = (hands, weight) => {
    const next = latestWeights.current.slice();
    for (const hand of hands) next[hand.index] = weight;
    latestWeights.current = next;
    setWeights(next);
    return next;
  };
  const paintAndWrite = (hands, weight) => writeText(paint(hands, weight));
  const combos = weights.reduce((sum, weight) => sum + weight, 0);
  const cell = CELL_BY_NAME.get(cellName);
  return html`
    <section class="range-editor" aria-label=${`Range of ${label}`}>
      <div class="range-head">
        <h2>${label}</h2>
        <span class="muted small" role="status">
          ${formatNumber(combos, 4)} combos, ${formatPercent(combos / NUM_HANDS)} of hands
        </span>
      </div>
      <div class="brushes" role="group" aria-label=${`Brush for ${label}`}>
        ${BRUSHES.map(
          (weight) => html`
            <button
              type="button"
              key=${weight}
              class="small ${weight === brush ? "active" : ""}"
              aria-pressed=${weight === brush}
              onClick=${() => setBrush(weight)}
            >
              ${weight ? formatPercent(weight) : "erase"}
            </button>
          `,
        )}
        <label class="inline small">
          <span>weight</span>
          <input
            type="number"
            min="0"
            max="100"
            value=${Math.round(100 * brush)}
            aria-label=${`Weight of the brush for ${label}, in percent`}
            onInput=${(event) =>
              setBrush(Math.min(Math.max(Number(event.target.value) / 100, 0), 1))}
          />
        </label>
      </div>
      <${PaintGrid}
        label=${label}
        weights=${weights}
        brush=${brush}
        board=${board}
        paint=${paint}
        commit=${() => writeText(latestWeights.current)}
        focusCell=${setCellName}
        focusedName=${cellName}
      />
      <div class="brushes" role="group" aria-label=${`Classes of hands for ${label}`}>
        ${HAND_CLASSES.map(
          ([name, test]) => html`
            <button
              type="button"
              key=${name}
              class="small"
              onClick=${() =>
                paintAndWrite(
                  CELLS.flat()
                    .filter(test)
                    .flatMap((entry) => entry.hands),
                  brush,
                )}
            >
              ${name}
            </button>
          `,
        )}
        <button
          type="button"
          class="small"
          onClick=${() =>
            paintAndWrite(
              CELLS.flat().flatMap((entry) => entry.hands),
              0,
            )}
        >
          clear
        </button>
      </div>
      <div class="brushes combos" role="group" aria-label=${`Combos of ${cellName} for ${label}`}>
        <span class="small">${cellName}:</span>
        ${cell.hands.map((hand) => {
          const weight = weights[hand.index];
          const isBlocked = board.some((card) => hand.name.includes(card));
          return html`
            <button
              type="button"
              key=${hand.name}
              class="small combo ${weight > 0 ? "active" : ""}"
              aria-pressed=${weight > 0}
              aria-label=${`${hand.name}, ${formatPercent(weight)}`}
              disabled=${isBlocked}
              onClick=${() => paintAndWrite([hand], weight === brush ? 0 : brush)}
            >
              ${SUIT_SIGNS[hand.name[1]]}${SUIT_SIGNS[hand.name[3]]}
            </button>
          `;
        })}
      </div>
      <textarea
        class="code"
        rows="3"
        spellcheck="false"
        aria-label=${`Range of ${label} as text`}
        value=${text}
        onInput=${(event) => setText(event.target.value)}
      ></textarea>
      ${problem && html`<p class="problem" role="alert">${problem}</p>`}
      <${RangeLibrary} label=${label} text=${text} setText=${setText} />
    </section>
  `;
}

/** The grid itself: click or drag paints with the brush, shift paints the better hands too. */
function PaintGrid({ label, weights, brush, board, paint, commit, focusCell, focusedName }) {
  const painting = useRef(null); // the weight that the current stroke paints; null without one
  useEffect(() => {
    const finish = () => {
      if (painting.current === null) return;
      painting.current = null;
      commit();
    };
    addEventListener("pointerup", finish);
    addEventListener("pointercancel", finish);
    return () => {
      removeEventListener("pointerup", finish);
      removeEventListener("pointercancel", finish);
    };
  });
  const handsOf = (cell, shift) => (shift ? cellsFrom(cell) : [cell]).flatMap((one) => one.hands);
  const strokeWeight = (cell) => (cellWeight(weights, cell) === brush ? 0 : brush);
  const start = (event, cell) => {
    if (event.button) return;
    event.preventDefault();
    event.target.releasePointerCapture?.(event.pointerId);
    painting.current = strokeWeight(cell);
    focusCell(cell.name);
    event.currentTarget.focus();
    paint(handsOf(cell, event.shiftKey), painting.current);
  };
  const enter = (event, cell) => {
    if (painting.current !== null) paint(handsOf(cell, event.shiftKey), painting.current);
  };
  const onTouchMove = (event) => {
    if (painting.current === null) return;
    const target = document.elementFromPoint(event.clientX, event.clientY)?.closest("td");
    const cell = target && CELL_BY_NAME.get(target.dataset.name);
    if (cell) paint(cell.hands, painting.current);
  };
  const onKeyDown = (event, cell) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      paint(handsOf(cell, event.shiftKey), strokeWeight(cell));
      commit();
      return;
    }
    const next = adjacentCell(event.currentTarget, event.key);
    if (next) {
      event.preventDefault();
      focusCell(next.dataset.name);
      next.focus();
    }
  };
  return html`
    <div class="scroll">
      <table class="hands paint" role="grid" aria-label=${`Hands of ${label}: suited above the diagonal`}>
        <tbody>
          ${CELLS.map(
            (row, index) => html`
              <tr key=${index}>
                ${row.map((cell) => {
                  const weight = cellWeight(weights, cell);
                  const isBlocked = cell.hands.every((hand) =>
                    board.some((card) => hand.name.includes(card)),
                  );
                  const title = `${cell.name}: ${formatPercent(weight)}${isBlocked ? ", impossible on this board" : ""}`;
                  return html`
                    <td
                      key=${cell.name}
                      data-name=${cell.name}
                      class="hand ${cell.kind} ${isBlocked ? "blocked" : ""} ${weight > 0 ? "in" : ""}"
                      style=${{ "--part": `${100 * weight}%` }}
                      title=${title}
                      aria-label=${title}
                      aria-selected=${weight > 0}
                      tabindex=${cell.name === focusedName ? 0 : -1}
                      onPointerDown=${(event) => start(event, cell)}
                      onPointerEnter=${(event) => enter(event, cell)}
                      onPointerMove=${onTouchMove}
                      onKeyDown=${(event) => onKeyDown(event, cell)}
                    >
                      ${cell.name}
                    </td>
                  `;
                })}
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}

/** Saved ranges: files that can be loaded, replaced and removed. */
function RangeLibrary({ label, text, setText }) {
  const [files, setFiles] = useState(null);
  const [name, setName] = useState("");
  const [state, setState] = useState({});
  const load = () =>
    get("/api/library/ranges").then(
      (data) => setFiles(data.files),
      (error) => setState({ error }),
    );
  const save = async () => {
    try {
      await post("/api/library/ranges", { name, text });
      setState({ message: `Saved as ${name}.` });
      await load();
    } catch (error) {
      setState({ error });
    }
  };
  const remove = async (file) => {
    try {
      await requestJson("DELETE", `/api/library/ranges/${encodeURIComponent(file)}`);
      await load();
    } catch (error) {
      setState({ error });
    }
  };
  return html`
    <details class="library" onToggle=${(event) => event.target.open && load()}>
      <summary>Saved ranges</summary>
      <div class="actions">
        <input
          value=${name}
          placeholder="name"
          aria-label=${`Name for the range of ${label}`}
          onInput=${(event) => setName(event.target.value)}
        />
        <button type="button" disabled=${!name.trim()} onClick=${save}>Save range</button>
        ${state.message && html`<span class="muted small" role="status">${state.message}</span>`}
      </div>
      <${ErrorMessage} error=${state.error} />
      ${
        files && !files.length
          ? html`<p class="muted small">No saved ranges yet.</p>`
          : html`
              <ul class="plain">
                ${files?.map(
                  (file) => html`
                    <li key=${file.name}>
                      <button type="button" class="quiet" onClick=${() => setText(file.text.trim())}>
                        ${file.name}
                      </button>
                      <button
                        type="button"
                        class="quiet small"
                        aria-label=${`Remove ${file.name}`}
                        onClick=${() => remove(file.name)}
                      >
                        ✕
                      </button>
                    </li>
                  `,
                )}
              </ul>
            `
      }
    </details>
  `;
}
