// Bet sizes as chips: one text field per size, a button that removes it, one that adds another.

import { html } from "../lib/preact.js";
import { DEFAULT_SIZES, POSITIONS } from "../lib/spots.js";

const NEW_SIZES = { bet: "75%", raise: "a" };

const splitSizes = (text) => (text || "").split(/[\s,]+/).filter(Boolean);

function ChipRow({ label, text, kind, setText }) {
  const sizes = splitSizes(text);
  const replaceSize = (index, value) =>
    setText(sizes.with(index, value.trim()).filter(Boolean).join(" "));
  return html`
    <div class="chips" role="group" aria-label=${label}>
      <span class="small">${label}</span>
      ${sizes.map(
        (size, index) => html`
          <span class="chip" key=${`${index} ${size}`}>
            <input
              value=${size}
              size=${Math.max(size.length, 2)}
              spellcheck="false"
              aria-label=${`${label}, size ${index + 1}`}
              onChange=${(event) => replaceSize(index, event.target.value)}
            />
            <button
              type="button"
              class="quiet"
              aria-label=${`Remove ${size} from ${label}`}
              onClick=${() => replaceSize(index, "")}
            >
              ✕
            </button>
          </span>
        `,
      )}
      <button
        type="button"
        class="quiet small"
        aria-label=${`Add a size to ${label}`}
        onClick=${() => setText([...sizes, NEW_SIZES[kind]].join(" "))}
      >
        + size
      </button>
    </div>
  `;
}

/**
 * The bet sizes of one street. Both players share them until they are separated.
 * @param {{ street: string, sizes?: object[], setSizes: (sizes: object[]) => void,
 *   isSeparate: boolean, separate: () => void }} props
 */
export function StreetSizes({ street, sizes, setSizes, isSeparate, separate }) {
  const both = sizes || [DEFAULT_SIZES, DEFAULT_SIZES];
  const areEqual = JSON.stringify(both[0]) === JSON.stringify(both[1]);
  const isShared = areEqual && !isSeparate;
  const players = isShared ? [[0, 1]] : [[0], [1]];
  return html`
    <fieldset class="street-sizes">
      <legend>${street[0].toUpperCase()}${street.slice(1)}</legend>
      ${players.map((group) =>
        ["bet", "raise"].map((kind) => {
          const who = isShared ? "" : `${POSITIONS[group[0]]} `;
          return html`
            <${ChipRow}
              key=${`${group} ${kind}`}
              label=${`${who}${kind}s on the ${street}`}
              kind=${kind}
              text=${both[group[0]]?.[kind]}
              setText=${(text) =>
                setSizes(
                  both.map((own, player) =>
                    group.includes(player) ? { ...own, [kind]: text } : own,
                  ),
                )}
            />
          `;
        }),
      )}
      ${
        isShared &&
        html`
          <button type="button" class="quiet small" onClick=${separate}>
            Different sizes for OOP and IP
          </button>
        `
      }
    </fieldset>
  `;
}
