// Hold'em spots as pages use them: presets, addresses, and the solution that a page asks about.

import { get, post } from "./api.js";
import { useEffect, useState } from "./preact.js";

/** Names of the two players; the first acts first on every street. */
export const POSITIONS = ["OOP", "IP"];

/** Streets that are left to play, by the number of cards on the board. */
export const STREETS = { 3: ["flop", "turn", "river"], 4: ["turn", "river"], 5: ["river"] };

export const DEFAULT_SIZES = { bet: "50% a", raise: "60% a" }; // as in counterplay.public.spot
const MAX_ADDRESS_LENGTH = 4000; // characters of a spot; longer ones are stored as a file

const sameSizes = (bet, raise) => [
  { bet, raise },
  { bet, raise },
];

/** The spot of a page without an address. */
export const EXAMPLE_SPOT = {
  board: "Td9d6hQc7s",
  ranges: [
    "66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s",
    "QQ-22,AQs-A2s,ATo+,K5s+,KJo+,Q8s+,J8s+,T7s+,96s+,86s+,75s+,64s+,53s+",
  ],
  pot: 200,
  stacks: [900, 900],
  sizes: { river: sameSizes("50% a", "60% a") },
};

// Ten chips are one big blind; stacks are 100 big blinds before the flop. The ranges are typical
// ones to start from, not solutions.
const FLOP_SIZES = {
  flop: sameSizes("33%", "60%"),
  turn: sameSizes("75%", "a"),
  river: sameSizes("75% a", "a"),
};

/** Typical spots to start from. */
export const PRESETS = [
  {
    key: "srp",
    name: "Single-raised pot",
    detail: "button opens, big blind calls",
    spot: {
      ranges: [
        "22-99:0.9,TT:0.5,A2s-A9s,ATs:0.6,A7o-ATo,K2s-KTs,KJs:0.5,K9o-KJo,Q4s-QJs,Q9o-QJo," +
          "J6s-JTs,J9o-JTo,T6s-T9s,T9o,95s-98s,98o,85s-87s,74s-76s,63s-65s,53s-54s,43s",
        "22+,A2s+,A4o+,K3s+,K9o+,Q5s+,Q9o+,J7s+,J9o+,T7s+,T9o,97s+,98o,86s+,76s,75s,65s,54s",
      ],
      pot: 55,
      stacks: [975, 975],
      sizes: FLOP_SIZES,
    },
  },
  {
    key: "3bet",
    name: "3-bet pot",
    detail: "big blind 3-bets, button calls",
    spot: {
      ranges: [
        "TT+,99:0.5,ATs+,A5s-A2s:0.7,AQo+,AJo:0.3,KTs+,KQo:0.5,QJs,JTs:0.6,T9s:0.4,76s:0.4",
        "JJ-55,QQ:0.3,A9s-AJs,AQs:0.7,A5s-A4s,AJo:0.6,AQo:0.8,KTs-KQs,KQo:0.6,QTs+,J9s+,T9s,98s,87s",
      ],
      pot: 225,
      stacks: [890, 890],
      sizes: FLOP_SIZES,
    },
  },
  {
    key: "bvb",
    name: "Blind against blind",
    detail: "small blind raises, big blind calls",
    spot: {
      ranges: [
        "22+,A2s+,A5o+,K4s+,K9o+,Q7s+,QTo+,J7s+,JTo,T7s+,97s+,86s+,76s,65s,54s",
        "22-TT,A2s-ATs,A2o-ATo,K2s-KJs,K7o-KJo,Q4s-QJs,Q8o-QJo,J6s-JTs,J8o-JTo,T6s-T9s,T8o-T9o," +
          "96s-98s,98o,85s-87s,75s-76s,64s-65s,54s",
      ],
      pot: 60,
      stacks: [970, 970],
      sizes: FLOP_SIZES,
    },
  },
];

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isPair = (value, test) => Array.isArray(value) && value.length === 2 && value.every(test);
const isText = (value) => typeof value === "string";
const isAmount = (value) => ["string", "number"].includes(typeof value);
const areSizes = (value) => isObject(value) && Object.values(value).every(isText);

// Checks of the fields that an address may contain; the server checks the rest.
const SPOT_FIELD_CHECKS = {
  board: isText,
  ranges: (value) => isPair(value, isText),
  pot: isAmount,
  stacks: (value) => isPair(value, isAmount),
  sizes: (value) => isObject(value) && Object.values(value).every((both) => isPair(both, areSizes)),
};

/**
 * Read a spot from JSON text; invalid fields have the values of an example.
 * @param {string} text
 * @returns {{ spot: object, problem: string }}
 */
export function parseSpot(text) {
  let fields;
  try {
    fields = JSON.parse(text);
  } catch {
    fields = null;
  }
  if (!isObject(fields)) {
    return {
      spot: EXAMPLE_SPOT,
      problem: "The address contains no valid spot; this is an example.",
    };
  }
  const invalidFields = Object.keys(SPOT_FIELD_CHECKS).filter(
    (key) => !SPOT_FIELD_CHECKS[key](fields[key] ?? EXAMPLE_SPOT[key]),
  );
  const missingFields = Object.keys(EXAMPLE_SPOT).filter(
    (key) => fields[key] === undefined && key !== "sizes",
  );
  const spot = { ...EXAMPLE_SPOT, sizes: {}, ...fields };
  for (const key of invalidFields) spot[key] = EXAMPLE_SPOT[key];
  const names = [...invalidFields, ...missingFields].join(", ");
  const problem = names && `The spot in the address has no usable ${names}; these are examples.`;
  return { spot, problem };
}

const shortHash = (text) => {
  let hash = 5381;
  for (const letter of text) hash = (hash * 33 + letter.codePointAt(0)) % 2 ** 48;
  return hash.toString(36);
};

/**
 * Return the query parameters that stand for a spot. A spot too long for an address is stored as a
 * file of the library first.
 * @param {object} spot
 * @returns {Promise<{ s: string, spot: string }>}
 */
export async function spotParameters(spot) {
  const text = JSON.stringify(spot);
  if (encodeURIComponent(text).length <= MAX_ADDRESS_LENGTH) return { s: text, spot: "" };
  const { name } = await post("/api/library/spots", {
    name: `long ${shortHash(text)}`,
    text: JSON.stringify(spot, null, 2),
  });
  return { s: "", spot: name };
}

/**
 * Hook: the spot of an address, from the parameter `s` or from a file of the library.
 * @param {URLSearchParams} query
 * @returns {{ spot?: object, problem: string, loading: boolean }}
 */
export function useSpot(query) {
  const name = query.get("spot") || "";
  const text = query.get("s") || "";
  const [stored, setStored] = useState({});
  useEffect(() => {
    if (!name || text) return;
    get("/api/library/spots").then(
      ({ files }) => {
        const file = files.find((entry) => entry.name === name);
        setStored({ name, ...(file ? parseSpot(file.text) : missingSpot(name)) });
      },
      (error) => setStored({ name, spot: EXAMPLE_SPOT, problem: error.message }),
    );
  }, [name, text]);
  if (text) return { ...parseSpot(text), loading: false };
  if (!name) return { spot: EXAMPLE_SPOT, problem: "", loading: false };
  if (stored.name !== name) return { problem: "", loading: true };
  return { ...stored, loading: false };
}

const missingSpot = (name) => ({
  spot: EXAMPLE_SPOT,
  problem: `There is no saved spot “${name}”; this is an example.`,
});

/**
 * The parameters of requests about the solution of an address: a file, or a spot with its target.
 * @param {URLSearchParams} query
 * @param {object} spot
 * @returns {object}
 */
export function solutionSource(query, spot) {
  let variant;
  try {
    variant = JSON.parse(query.get("variant") || "null");
  } catch {
    variant = null;
  }
  const extra = isObject(variant) ? { variant } : {};
  const file = query.get("file");
  const target = Number(query.get("solve")) || 0.5;
  return file ? { file, target, ...extra } : { spot, target, ...extra };
}

/**
 * @param {string} line history so far
 * @param {string} action
 * @returns {string} the history after an action
 */
export const appendAction = (line, action) => (line ? `${line},${action}` : action);
