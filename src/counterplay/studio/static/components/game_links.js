// Links to explore, solve and play a game.

import { html } from "../lib/preact.js";
import { Link } from "./common.js";

/**
 * Links to the pages that support a game; if its tree is too large, the reason.
 * @param {{ spec: string, sizeCheck?: { fits: boolean, reason: string, incomplete?: boolean },
 *   button?: boolean }} props
 */
export function GameLinks({ spec, sizeCheck, button }) {
  const encodedSpec = encodeURIComponent(spec);
  const linkClass = button ? "button" : "";
  if (sizeCheck?.incomplete) {
    return html`<p class="muted small">${sizeCheck.reason}.</p>`;
  }
  const fits = sizeCheck ? sizeCheck.fits : true;
  return html`
    <p class="game-links">
      ${
        fits &&
        html`
          <${Link}
            class=${`${linkClass} ${button ? "primary" : ""}`}
            to=${`/explore?game=${encodedSpec}`}
          >
            Explore
          </${Link}>
        `
      }
      <${Link} class=${linkClass} to=${`/new?game=${encodedSpec}${fits ? "" : "&arena=rules"}`}>
        ${fits ? "Solve" : "Solve by sampling"}
      </${Link}>
      <${Link} class=${linkClass} to=${`/play?game=${encodedSpec}`}>Play</${Link}>
    </p>
    ${!fits && html`<p class="muted small">${sizeCheck.reason}: it cannot be explored.</p>`}
  `;
}
