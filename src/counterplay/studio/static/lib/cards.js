// Cards, hands of two cards, and the 13 x 13 grid, in the order of counterplay.core.cards.

/** Ranks from the ace down. */
export const RANKS = "AKQJT98765432";

/** Suits as rows of a deck show them. */
export const SUITS = "shdc";

export const SUIT_NAMES = { s: "spades", h: "hearts", d: "diamonds", c: "clubs" };
export const SUIT_SIGNS = { s: "♠", h: "♥", d: "♦", c: "♣" };
export const NUM_HANDS = 1326;

const CARD_RANKS = "23456789TJQKA";
const CARD_SUITS = "cdhs";

const cardIndex = (rank, suit) => 4 * CARD_RANKS.indexOf(rank) + CARD_SUITS.indexOf(suit);

const handIndex = (first, second) => {
  const [low, high] = first < second ? [first, second] : [second, first];
  return (high * (high - 1)) / 2 + low;
};

/**
 * @param {string} text such as "Td9d6h" or "Td 9d 6h"
 * @returns {string[]} the cards of a text; parts that are no cards are left out
 */
export const parseBoard = (text) =>
  (text.replace(/10/g, "T").match(/[2-9TJQKA][cdhs]/gi) || []).map(
    (card) => card[0].toUpperCase() + card[1].toLowerCase(),
  );

/**
 * A cell of the 13 x 13 grid. Suited hands are above the diagonal.
 * @typedef {{ name: string, kind: "pair" | "suited" | "offsuit", row: number, column: number,
 *   hands: { name: string, index: number }[] }} Cell
 */

/** @type {Cell[][]} the rows of the grid */
export const CELLS = [...RANKS].map((_, row) =>
  [...RANKS].map((__, column) => {
    const [high, low] = [RANKS[Math.min(row, column)], RANKS[Math.max(row, column)]];
    const kind = row === column ? "pair" : row < column ? "suited" : "offsuit";
    const suffix = { pair: "", suited: "s", offsuit: "o" }[kind];
    const hands = [];
    for (const first of SUITS) {
      for (const second of SUITS) {
        const isSuited = first === second;
        if (kind === "pair" ? SUITS.indexOf(first) >= SUITS.indexOf(second) : false) continue;
        if (kind !== "pair" && isSuited !== (kind === "suited")) continue;
        hands.push({
          name: high + first + low + second,
          index: handIndex(cardIndex(high, first), cardIndex(low, second)),
        });
      }
    }
    return { name: high + low + suffix, kind, row, column, hands };
  }),
);

/** @type {Map<string, Cell>} the cells by name */
export const CELL_BY_NAME = new Map(CELLS.flat().map((cell) => [cell.name, cell]));

const isBroadway = (cell) => cell.row <= 4 && cell.column <= 4;

/** Classes of hands that a brush paints at once: name and test of a cell. */
export const HAND_CLASSES = [
  ["pairs", (cell) => cell.kind === "pair"],
  ["suited", (cell) => cell.kind === "suited"],
  ["offsuit", (cell) => cell.kind === "offsuit"],
  ["broadway", isBroadway],
  ["suited aces", (cell) => cell.kind === "suited" && cell.row === 0],
  ["suited connectors", (cell) => cell.kind === "suited" && cell.column - cell.row === 1],
  ["all", () => true],
];

/**
 * The cells that a shift-click paints: the cell and the better ones, as "A8s+" and "77+" read.
 * @param {Cell} cell
 * @returns {Cell[]}
 */
export function cellsFrom(cell) {
  if (cell.kind === "pair") return CELLS.slice(0, cell.row + 1).map((row, index) => row[index]);
  const high = Math.min(cell.row, cell.column);
  const low = Math.max(cell.row, cell.column);
  const cells = [];
  for (let rank = high + 1; rank <= low; rank++) {
    cells.push(cell.kind === "suited" ? CELLS[high][rank] : CELLS[rank][high]);
  }
  return cells;
}

/**
 * @param {number[]} weights by hand
 * @param {Cell} cell
 * @returns {number} mean weight of the cell's hands
 */
export const cellWeight = (weights, cell) =>
  cell.hands.reduce((sum, hand) => sum + weights[hand.index], 0) / cell.hands.length;
