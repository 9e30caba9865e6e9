// Infosets by regret: the terms that the exploitability consists of.

import { policyGradient } from "../lib/colours.js";
import { describePolicy, formatCount, formatNumber, formatPercent } from "../lib/format.js";
import { useApi } from "../lib/hooks.js";
import { html } from "../lib/preact.js";
import { updateQuery, useLocation } from "../lib/router.js";
import { ErrorMessage, Tabs } from "./common.js";

const PAGE_SIZE = 100;

/**
 * The infosets with the largest regret.
 * @param {{ policyQuery: URLSearchParams, goToNode: (node: number) => void, facts: object }} props
 */
export function RegretTable({ policyQuery, goToNode, facts }) {
  const { query } = useLocation();
  const player = query.get("player") || "";
  const start = Number(query.get("from") || 0);
  const { data, error, reload } = useApi(
    `/api/explore/leaks?${policyQuery}&start=${start}${player ? `&player=${player}` : ""}`,
  );
  if (error) return html`<${ErrorMessage} error=${error} retry=${reload} />`;
  if (!data) return html`<p class="muted">…</p>`;
  const playerOptions = [
    ["", "all"],
    ...data.by_player.map((_, index) => [String(index), `player ${index}`]),
  ];
  const maxRegret = data.leaks[0]?.loss || 1;
  return html`
    <div class="grid-head">
      <p>
        NashConv${" "}
        <b title=${data.nash_conv}>${formatNumber(data.nash_conv)}</b>; exploitability${" "}
        (divided by ${facts.players} players)${" "}
        <b>${formatNumber(data.exploitability)}</b>
      </p>
      <${Tabs}
        label="Player"
        value=${player}
        options=${playerOptions}
        choose=${(key) => updateQuery({ player: key, from: "" })}
      />
    </div>
    ${
      !data.leaks.length
        ? html`<p>No regret: no best response gains anything.</p>`
        : html`
            <div class="scroll">
              <table class="regret-table">
                <thead>
                  <tr>
                    <th scope="col">infoset</th>
                    <th scope="col" class="num">regret</th>
                    <th scope="col">share</th>
                    <th scope="col" class="num">cumulative</th>
                    <th scope="col" class="num">reach</th>
                    <th scope="col">policy</th>
                    <th scope="col">best action</th>
                  </tr>
                </thead>
                <tbody>
                  ${data.leaks.slice(0, PAGE_SIZE).map(
                    (entry) => html`
                      <tr key=${entry.infoset}>
                        <th scope="row">
                          <button class="quiet" onClick=${() => goToNode(entry.node)}>
                            <code>${entry.key || "(empty)"}</code>
                          </button> <small class="p${entry.player}">player ${entry.player}</small>
                        </th>
                        <td class="num" title=${entry.loss}>${formatNumber(entry.loss)}</td>
                        <td>
                          <span
                            class="bar"
                            style=${{ "--part": `${(100 * entry.loss) / maxRegret}%` }}
                          ></span>
                        </td>
                        <td class="num">${formatPercent(entry.sum)}</td>
                        <td class="num">${formatNumber(entry.probability)}</td>
                        <td
                          class="policy-bar small"
                          title=${describePolicy(entry.names, entry.policy)}
                          style=${{
                            backgroundImage: policyGradient(entry.names, entry.names, entry.policy),
                          }}
                        >
                          <span class="visually-hidden">
                            ${describePolicy(entry.names, entry.policy)}
                          </span>
                        </td>
                        <td>${entry.best}</td>
                      </tr>
                    `,
                  )}
                </tbody>
              </table>
            </div>
            ${
              data.total > start + PAGE_SIZE &&
              html`
                <p class="pager">
                  <button onClick=${() => updateQuery({ from: start + PAGE_SIZE })}>
                    ${formatCount(data.total - start - PAGE_SIZE)} more
                  </button>
                </p>
              `
            }
          `
    }
    <p class="muted small">
      The regret of an infoset is the EV that its player loses per episode by its actions there, if
      it plays a best response afterwards. All terms are nonnegative and sum to NashConv.
    </p>
  `;
}
