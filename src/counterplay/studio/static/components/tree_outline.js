// The path to a node of the tree, its children, and a search for infosets.

import { formatCount, formatNumber, formatPercent, playerName } from "../lib/format.js";
import { useApi } from "../lib/hooks.js";
import { html, useState } from "../lib/preact.js";
import { nodePath, updateQuery } from "../lib/router.js";
import { FractionBar, Link } from "./common.js";

const CHILDREN_PER_PAGE = 100;
const UNREACHED_TEXT = ": never reached, so the policy here is arbitrary";
const MAX_MATCHES = 50;

/**
 * The outline of the tree around a node.
 * @param {{ view: object, goToNode: (node: number) => void, policyQuery: URLSearchParams }} props
 *   `view` of the node, as the server sends it
 */
export function TreeOutline({ view, goToNode, policyQuery }) {
  const [searchText, setSearchText] = useState("");
  const { data: matches } = useApi(
    searchText ? `/api/explore/find?${policyQuery}&text=${encodeURIComponent(searchText)}` : "",
  );
  const numRemaining = view.total - view.start - view.children.length;
  const previousStart = Math.max(view.start - CHILDREN_PER_PAGE, 0) || "";
  const shownReach = view.children.reduce((sum, child) => sum + child.reach, 0);
  return html`
    <nav class="outline" aria-label="Path and children">
      <label class="search">
        <span class="visually-hidden">Find an infoset by its key</span>
        <input
          data-search
          type="search"
          placeholder="Find infoset"
          value=${searchText}
          onInput=${(event) => setSearchText(event.target.value)}
        />
      </label>
      ${
        searchText &&
        html`
          <ul class="matches">
            ${(matches || []).slice(0, MAX_MATCHES).map(
              (match) => html`
                <li key=${match.infoset}>
                  <button
                    class="quiet"
                    onClick=${() => {
                      goToNode(match.node);
                      setSearchText("");
                    }}
                  >
                    <code>${match.key || "(empty)"}</code> <small>player ${match.player}</small>
                  </button>
                </li>
              `,
            )}
            ${
              matches &&
              !matches.length &&
              html`<li class="muted">No key contains “${searchText}”.</li>`
            }
          </ul>
        `
      }
      <ol class="path">
        <li>
          <${Link}
            to=${nodePath(0)}
            aria-current=${view.node === 0 ? "step" : undefined}
          >
            root
          </${Link}>
        </li>
        ${view.path.map(
          (step) => html`
            <li key=${step.node}>
              <small class="p${step.player}">${playerName(step.player)}</small>${" "}
              <${Link}
                to=${nodePath(step.node)}
                aria-current=${step.node === view.node ? "step" : undefined}
              >
                ${step.name}
              </${Link}>
            </li>
          `,
        )}
      </ol>
      ${
        view.children.length === 0
          ? html`
              <p class="muted">
                Terminal node:${" "}
                ${view.value
                  .map((value, player) => `player ${player} ${formatNumber(value)}`)
                  .join(", ")}.
              </p>
            `
          : html`
              <p class="turn">
                <b class="p${view.player}">${playerName(view.player)}</b>
                ${" "}${view.player === -1 ? "deals" : "acts"}
              </p>
              <ul class="children">
                ${view.children.map(
                  (child, index) => html`
                    <li key=${child.node}>
                      <${Link}
                        to=${nodePath(child.node)}
                        title="reach ${formatNumber(child.reach)}, ${formatCount(child.size)} nodes"
                      >
                        <span>
                          ${view.total <= 9 && html`<kbd>${index + 1}</kbd>${" "}`}${child.words}
                        </span>
                        <${FractionBar} fraction=${child.probability} />
                        <small>${formatPercent(child.probability)}</small>
                      </${Link}>
                    </li>
                  `,
                )}
              </ul>
              ${
                (numRemaining > 0 || view.start > 0) &&
                html`
                  <p class="pager">
                    ${
                      view.start > 0 &&
                      html`
                        <button
                          onClick=${() => updateQuery({ start: previousStart })}
                        >
                          previous
                        </button>
                      `
                    }
                    ${
                      numRemaining > 0 &&
                      html`
                        <button
                          onClick=${() => updateQuery({ start: view.start + view.children.length })}
                        >
                          ${formatCount(numRemaining)} more
                        </button>
                        <small class="muted">
                          reach ${formatNumber(Math.max(view.reach - shownReach, 0))}
                        </small>
                      `
                    }
                  </p>
                `
              }
            `
      }
      <p class="muted small">
        ${formatCount(view.size)} nodes in this subtree, reach${" "}
        ${formatNumber(view.reach)}${view.reach === 0 && UNREACHED_TEXT}
      </p>
    </nav>
  `;
}
