// Numbers, times and names as text. Numbers have three digits; pages put the exact number into the
// title attribute.

const SUPERSCRIPT_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const SECONDS_PER_HOUR = 3600;
const SECONDS_PER_DAY = 86400;

/**
 * @param {number} exponent an integer
 * @returns {string} the exponent in superscript digits
 */
export const toSuperscript = (exponent) =>
  (exponent < 0 ? "⁻" : "") +
  [...String(Math.abs(exponent))].map((digit) => SUPERSCRIPT_DIGITS[digit]).join("");

/**
 * Format a number with few digits; large numbers are rounded to integers.
 * @param {number | null | undefined} x
 * @param {number} [digits] significant digits
 * @returns {string} "–" for null, undefined and NaN
 */
export function formatNumber(x, digits = 3) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e15) return x.toExponential(1);
  if (size >= 1000) return Math.round(x).toLocaleString("en").replace("-", "−");
  if (size < 1e-3) {
    const [mantissa, exponent] = x.toExponential(digits - 1).split("e");
    return `${mantissa.replace("-", "−")}·10${toSuperscript(Number(exponent))}`;
  }
  return String(Number(x.toPrecision(digits))).replace("-", "−");
}

/**
 * @param {number} x
 * @returns {string} an integer with thousands separators
 */
export const formatCount = (x) =>
  x >= 1e15 ? x.toExponential(1) : Math.round(x).toLocaleString("en");

/**
 * @param {number} probability
 * @returns {string} for example "12 %" or "<0.1 %"
 */
export function formatPercent(probability) {
  if (probability > 0 && probability < 0.0005) return "<0.1 %";
  const percent = 100 * probability;
  if (percent >= 99.95 || percent === 0) return `${Math.round(percent)} %`;
  return `${percent.toFixed(percent >= 10 ? 0 : 1)} %`;
}

/**
 * @param {number} x
 * @returns {string} a number with its sign
 */
export const formatSigned = (x) => (x > 0 ? "+" : "") + formatNumber(x);

/**
 * @param {number} seconds
 * @returns {string} for example "340 ms", "12 s" or "3.4 h"
 */
export function formatDuration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds > 0 && seconds < 0.001) return "less than 1 ms";
  if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < SECONDS_PER_HOUR) return `${Math.round(seconds / 60)} min`;
  if (seconds < 2 * SECONDS_PER_DAY) return `${(seconds / SECONDS_PER_HOUR).toFixed(1)} h`;
  return `${Math.round(seconds / SECONDS_PER_DAY)} days`;
}

/**
 * @param {number} size in bytes
 * @returns {string}
 */
export function formatBytes(size) {
  if (size < 2 ** 20) return `${Math.ceil(size / 1024)} KB`;
  if (size < 2 ** 30) return `${formatNumber(size / 2 ** 20, 2)} MB`;
  return `${formatNumber(size / 2 ** 30, 2)} GB`;
}

/**
 * @param {string | null} time ISO time
 * @returns {string} for example "12 s ago"
 */
export function formatAge(time) {
  if (!time) return "–";
  const seconds = Math.max((Date.now() - new Date(time)) / 1000, 0);
  return seconds < 5 ? "now" : `${formatDuration(Math.round(seconds))} ago`;
}

/**
 * @param {import("./live_runs.js").Run} run
 * @returns {number} NaN if the rate is unknown or the run is at its last step
 */
export const secondsLeft = (run) =>
  run.rate > 0 && run.max_steps > run.step ? (run.max_steps - run.step) / run.rate : NaN;

/**
 * @param {string} spec game spec, for example "kuhn_poker(players=3)"
 * @returns {string} title for people, for example "kuhn poker (players=3)"
 */
export function gameTitle(spec) {
  const isUpload = spec.startsWith("upload:");
  const name = isUpload ? `file ${spec.slice(7, 13)}…` : spec.replace(/^.*\//, "");
  return name
    .replace(/_/g, " ")
    .replace("(", " (")
    .replace(/,(?=\S)/g, ", ");
}

/**
 * @param {number} player index, -1 for chance, -2 at terminal nodes
 * @returns {string}
 */
export function playerName(player) {
  if (player === -1) return "chance";
  return player === -2 ? "terminal" : `player ${player}`;
}

/**
 * @param {string[]} names action names
 * @param {number[]} policy probability of each action
 * @returns {string} for example "check 60 %, bet 40 %"
 */
export const describePolicy = (names, policy) =>
  names.map((name, index) => `${name} ${formatPercent(policy[index])}`).join(", ");

/**
 * @param {string} text
 * @returns {string} one argument of a shell command
 */
export const quoteForShell = (text) =>
  /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
