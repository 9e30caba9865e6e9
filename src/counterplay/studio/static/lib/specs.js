// Text forms of games, configs and seeds.

const MAX_SEEDS = 100;

/**
 * @param {string} text
 * @returns {any} the JSON value, or the text itself if it is not JSON
 */
export function parseJsonOrText(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * @param {string} text for example "0-4, 7"
 * @returns {number[] | null} for example [0, 1, 2, 3, 4, 7]; null if the text is not a list of
 *   seeds, or has more than 100
 */
export function parseSeeds(text) {
  const seeds = [];
  const parts = text.split(",").map((part) => part.trim());
  for (const part of parts.filter(Boolean)) {
    const [first, last = first] = part.split("-").map(Number);
    if (!Number.isInteger(first) || !Number.isInteger(last)) return null;
    if (last < first || last - first >= MAX_SEEDS) return null;
    for (let seed = first; seed <= last; seed++) seeds.push(seed);
  }
  return seeds.length <= MAX_SEEDS ? seeds : null;
}

/**
 * @param {{ game?: string | { name: string, params?: object } }} config
 * @returns {{ name: string, params?: object }} the game of a run's config
 */
export function gameFromConfig(config) {
  if (typeof config.game === "string") return { name: config.game, params: {} };
  return config.game || { name: "", params: {} };
}

function formatLiteral(value) {
  if (Array.isArray(value)) return `(${value.map((item) => `${formatLiteral(item)},`).join("")})`;
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value);
}

/**
 * @param {{ name: string, params?: object }} game
 * @returns {string} game spec, for example "kuhn_poker(players=3)"
 */
export function formatGameSpec(game) {
  const params = Object.entries(game.params || {})
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([key, value]) => `${key}=${formatLiteral(value)}`);
  return params.length ? `${game.name}(${params.join(",")})` : game.name;
}

/**
 * @param {string} spec game spec, for example "kuhn_poker(players=3)"
 * @returns {Record<string, unknown>} its parameters, for example { players: 3 }
 */
export function parseSpecParams(spec) {
  const argumentText = spec.match(/\((.*)\)$/s)?.[1] || "";
  const params = {};
  for (const [, key, value] of argumentText.matchAll(/(\w+)=("[^"]*"|'[^']*'|\([^)]*\)|[^,]+)/g)) {
    const text = value
      .replace(/'/g, '"')
      .replace(/^\((.*?),?\)$/s, "[$1]")
      .replace(/\bTrue\b/g, "true")
      .replace(/\bFalse\b/g, "false");
    try {
      params[key] = JSON.parse(text);
    } catch {
      params[key] = value;
    }
  }
  return params;
}

/**
 * @param {string} text infosets and policies, for example "17:0,1;20:0.5,0.5"
 * @returns {Map<string, string>} policies by infoset
 */
export const parseLocks = (text) =>
  new Map(
    text
      .split(";")
      .filter(Boolean)
      .map((part) => part.split(":")),
  );

/**
 * @param {Map<string, string>} locks policies by infoset
 * @returns {string} for example "17:0,1;20:0.5,0.5"
 */
export const formatLocks = (locks) =>
  [...locks].map(([infoset, policy]) => `${infoset}:${policy}`).join(";");
