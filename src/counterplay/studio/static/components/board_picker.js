// Cards: a deck to choose from, and the board as cards.

import { RANKS, SUITS, SUIT_NAMES, SUIT_SIGNS } from "../lib/cards.js";
import { html } from "../lib/preact.js";

/**
 * Cards with the signs of their suits.
 * @param {{ cards: string[] }} props
 */
export function Cards({ cards }) {
  return html`<span class="cards-row" role="img" aria-label=${cards.join(" ")}>
    ${cards.map(
      (card) =>
        html`<span key=${card} class="playing-card suit-${card[1]}"
          >${card[0]}${SUIT_SIGNS[card[1]]}</span
        >`,
    )}
  </span>`;
}

/**
 * A deck of 52 buttons.
 * @param {{ isDisabled: (card: string) => boolean, isChosen?: (card: string) => boolean,
 *   choose: (card: string) => void, describe?: (card: string) => { style?: object, text?: string,
 *   title?: string } }} props `describe` adds a colour and a number to a card
 */
export function Deck({ isDisabled, isChosen = () => false, choose, describe = () => ({}) }) {
  return html`
    <div class="scroll">
      <table class="deck">
        <tbody>
          ${[...SUITS].map(
            (suit) => html`
              <tr key=${suit}>
                <th scope="row" title=${SUIT_NAMES[suit]}>
                  <span class="suit-${suit}" aria-label=${SUIT_NAMES[suit]} role="img"
                    >${SUIT_SIGNS[suit]}</span
                  >
                </th>
                ${[...RANKS].map((rank) => {
                  const card = rank + suit;
                  const { style, text, title } = describe(card);
                  return html`
                    <td key=${rank}>
                      <button
                        type="button"
                        class="${isChosen(card) ? "active" : ""} ${style ? "heat" : ""} suit-${suit}"
                        style=${style}
                        title=${title}
                        aria-label=${title ? `${card}: ${title}` : card}
                        aria-pressed=${isChosen(card)}
                        disabled=${isDisabled(card)}
                        onClick=${() => choose(card)}
                      >
                        ${rank}${SUIT_SIGNS[suit]}${text && html`<small>${text}</small>`}
                      </button>
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

/**
 * The board of a spot: 3 to 5 cards, clicked or typed.
 * @param {{ board: string[], text: string, setText: (text: string) => void }} props
 */
export function BoardPicker({ board, text, setText }) {
  const toggle = (card) =>
    setText(
      (board.includes(card) ? board.filter((one) => one !== card) : [...board, card]).join(""),
    );
  return html`
    <div class="board-picker">
      <div class="actions">
        <label class="inline">
          <span>board</span>
          <input
            class="code"
            spellcheck="false"
            value=${text}
            onInput=${(event) => setText(event.target.value)}
          />
        </label>
        <${Cards} cards=${board} />
        <button type="button" class="small" disabled=${!board.length} onClick=${() => setText("")}>
          Clear board
        </button>
      </div>
      <${Deck}
        isChosen=${(card) => board.includes(card)}
        isDisabled=${(card) => board.length >= 5 && !board.includes(card)}
        choose=${toggle}
      />
    </div>
  `;
}
