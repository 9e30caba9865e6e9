// The infoset of a node: actions with frequency, EV and regret, and its histories.

import { buildQuery } from "../lib/api.js";
import { seriesColour } from "../lib/colours.js";
import { formatCount, formatNumber, formatPercent } from "../lib/format.js";
import { html } from "../lib/preact.js";
import { nodePath } from "../lib/router.js";
import { DownloadButton, Link } from "./common.js";
import { LockEditor } from "./lock_editor.js";

/**
 * The panel beside the tree.
 * @param {{ view: object, goToNode: (node: number) => void, otherPolicy: string,
 *   policyQuery: URLSearchParams, policy: string, game: string, lock: string }} props
 */
export function InfosetPanel({ view, goToNode, otherPolicy, policyQuery, policy, game, lock }) {
  const { infoset } = view;
  return html`
    <aside class="infoset" aria-label="Infoset">
      ${view.board && html`<pre class="board">${view.board}</pre>`}
      ${
        !infoset
          ? html`<${PlayerValues} view=${view} />`
          : html`
              <h2>
                <span class="p${infoset.player}">Player ${infoset.player}</span>${" "}
                <code>${infoset.key || "(empty)"}</code>
              </h2>
              <p>${view.words}</p>
              <${InfosetActions} view=${view} otherPolicy=${otherPolicy} />
              <dl class="small-facts">
                <div>
                  <dt>Reach</dt>
                  <dd>${formatNumber(infoset.probability)}</dd>
                </div>
                <div>
                  <dt>EV</dt>
                  <dd>${formatNumber(infoset.value)}</dd>
                </div>
                <div>
                  <dt>Regret</dt>
                  <dd title=${infoset.loss}>${formatNumber(infoset.loss)}</dd>
                </div>
                <div>
                  <dt>Histories</dt>
                  <dd>${formatCount(infoset.size)}</dd>
                </div>
              </dl>
              ${
                infoset.cf_reach === 0 &&
                html`
                  <p class="notice">
                    The other players never reach this infoset: values are not defined.
                  </p>
                `
              }
              ${infoset.size > 1 && html`<${HistoryList} view=${view} goToNode=${goToNode} />`}
            `
      }
      ${
        infoset &&
        html`<${LockEditor} key=${`${infoset.number} ${lock}`} infoset=${infoset} lock=${lock} />`
      }
      <p class="actions">
        ${
          !lock &&
          html`
            <${Link} class="button" to=${`/play?${buildQuery({ game, policy })}`}>
              Play against it
            </${Link}>
          `
        }
        <${DownloadButton} path=${`/api/explore/export?${policyQuery}&form=csv`} name="policy.csv">
          CSV
        </${DownloadButton}>
        <${DownloadButton}
          path=${`/api/explore/game_file?${policyQuery}`}
          name=${`${game.split("(")[0]}.efg`}
        >
          .efg
        </${DownloadButton}>
      </p>
    </aside>
  `;
}

/** The EV of each player at a node without a decision. */
function PlayerValues({ view }) {
  return html`
    <p class="muted">
      ${view.player === -1 ? "Chance node." : "Terminal node."}
    </p>
    <table class="plain">
      <tbody>
        ${view.value.map(
          (value, player) => html`
            <tr key=${player}>
              <th scope="row">player ${player}</th>
              <td class="num" title=${value}>${formatNumber(value)}</td>
            </tr>
          `,
        )}
      </tbody>
    </table>
  `;
}

/** The actions of an infoset. */
function InfosetActions({ view, otherPolicy }) {
  const { infoset } = view;
  return html`
    <div class="scroll">
      <table class="actions-table">
        <thead>
          <tr>
            <th scope="col">action</th>
            <th scope="col" class="num">frequency</th>
            ${otherPolicy && html`<th scope="col" class="num">other</th>`}
            <th scope="col" class="num">EV</th>
            <th scope="col" class="num">regret</th>
          </tr>
        </thead>
        <tbody>
          ${infoset.actions.map(
            (action, index) => html`
              <tr key=${index}>
                <th scope="row">
                  <i class="swatch" style=${{ background: seriesColour(index) }}></i>
                  <${Link}
                    to=${nodePath(view.children[index]?.node)}
                  >
                    ${view.children[index]?.words || action.name}
                  </${Link}>
                </th>
                <td class="num" title=${action.probability}>
                  ${formatPercent(action.probability)}
                </td>
                ${otherPolicy && html`<td class="num">${formatPercent(action.versus)}</td>`}
                <td class="num" title=${action.value}>${formatNumber(action.value)}</td>
                <td class="num" title=${action.loss}>
                  ${infoset.cf_reach > 0 ? formatNumber(action.loss) : "–"}
                </td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
  `;
}

/** The histories of an infoset: nodes that its player cannot distinguish. */
function HistoryList({ view, goToNode }) {
  const { infoset } = view;
  return html`
    <details>
      <summary>Histories (${formatCount(infoset.size)})</summary>
      <ul class="members">
        ${infoset.members.map(
          (member) => html`
            <li key=${member.node}>
              <button
                class="quiet"
                aria-current=${member.node === view.node ? "true" : undefined}
                onClick=${() => goToNode(member.node)}
              >
                node ${formatCount(member.node)}
              </button> <small>reach ${formatNumber(member.reach)}</small>
            </li>
          `,
        )}
      </ul>
    </details>
  `;
}
