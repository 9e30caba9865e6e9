// Colours of series, players and actions.

// The palette of Okabe and Ito (2008), which people with any kind of colour vision can distinguish.
const SERIES_COLOURS = [
  "#0072b2",
  "#e69f00",
  "#009e73",
  "#cc79a7",
  "#56b4e9",
  "#d55e00",
  "#b8a900",
  "#7d7d7d",
];

/**
 * @param {number} index any integer; colours repeat
 * @returns {string} CSS colour
 */
export function seriesColour(index) {
  const { length } = SERIES_COLOURS;
  return SERIES_COLOURS[((index % length) + length) % length];
}

/**
 * Build a bar with one segment per action, as wide as the action is probable.
 * @param {string[]} names actions of the policy
 * @param {string[]} actions all actions of the page, which fix the colours
 * @param {number[]} policy probability of each name
 * @returns {string} CSS gradient
 */
export function policyGradient(names, actions, policy) {
  let start = 0;
  const stops = [];
  policy.forEach((probability, index) => {
    if (probability <= 0) return;
    const end = start + probability;
    const colour = seriesColour(actions.indexOf(names[index]));
    stops.push(`${colour} ${(100 * start).toFixed(2)}% ${(100 * end).toFixed(2)}%`);
    start = end;
  });
  return `linear-gradient(90deg, ${stops.join(", ")})`;
}
