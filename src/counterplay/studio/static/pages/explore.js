// A game tree with a policy: outline, infoset, and a grid, a regret table or a drawing.

import {
  CommandLineHint,
  ErrorMessage,
  Link,
  ProgressMessage,
  Tabs,
} from "../components/common.js";
import { CELL_MODES, InfosetGrid } from "../components/infoset_grid.js";
import { InfosetPanel } from "../components/infoset_panel.js";
import { LockList } from "../components/lock_editor.js";
import { PolicyPicker } from "../components/policy_picker.js";
import { RegretTable } from "../components/regret_table.js";
import { TreeDrawing } from "../components/tree_drawing.js";
import { TreeOutline } from "../components/tree_outline.js";
import { TreeOverview } from "../components/tree_overview.js";
import { buildQuery, del, get, post, requestUntilReady } from "../lib/api.js";
import { formatCount, formatNumber, gameTitle, quoteForShell } from "../lib/format.js";
import { ignoreAfterAbort, useApi, useLiveRuns, useShortcuts } from "../lib/hooks.js";
import { html, useEffect, useState } from "../lib/preact.js";
import { updateQuery, useLocation } from "../lib/router.js";

const DIGITS = [..."123456789"];

const VIEWS = [
  ["grid", "Grid"],
  ["leaks", "Regret"],
  ["drawing", "Drawing"],
  ["overview", "Overview"],
];

/** The page that shows a policy on a game tree. */
export function Explore() {
  const { query } = useLocation();
  const { runs } = useLiveRuns();
  const game = query.get("game") || "";
  const policy = query.get("policy") || (game ? "uniform" : "");
  const run = runs.get(policy.replace(/^run:/, "").split("@")[0]);
  const node = Number(query.get("node") || 0);
  const start = Number(query.get("start") || 0);
  const otherPolicy = query.get("vs") || "";
  const tab = query.get("tab") || "grid";
  const mode = query.get("mode") || "policy";
  const lock = query.get("lock") || "";
  const policyQuery = buildQuery({ game, policy, vs: otherPolicy, lock });
  const hasSource = game || policy;
  const infoset = query.get("infoset");
  const viewQuery = buildQuery({ node, start, at: run?.checkpoint });
  const viewPath =
    hasSource && infoset === null ? `/api/explore/view?${policyQuery}&${viewQuery}` : "";
  const { data, error, progress, loading, reload } = useApi(viewPath);
  const [lookupProgress, setLookupProgress] = useState(null);
  const spec = game || run?.game || data?.facts.spec || "";

  useEffect(() => {
    // A link to an infoset goes to its likeliest node.
    if (infoset === null || !hasSource) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    requestUntilReady("GET", `/api/explore/infoset?${policyQuery}&infoset=${infoset}`, {
      signal,
      onProgress: ignoreAfterAbort(signal, setLookupProgress),
    }).then(
      ignoreAfterAbort(signal, (infosetView) =>
        updateQuery({ infoset: "", node: infosetView.members[0].node }, { replace: true }),
      ),
      ignoreAfterAbort(signal, () => updateQuery({ infoset: "" }, { replace: true })),
    );
    return () => controller.abort();
  }, [infoset, hasSource, policyQuery.toString()]);

  const goToNode = (target) => updateQuery({ node: target || "", start: "" });
  // Shortcuts wait until the view of the current node is loaded.
  const currentView = data?.node === node ? data : null;
  const parent = currentView && (currentView.path.length > 1 ? currentView.path.at(-2).node : 0);
  const children = currentView?.children || [];
  const modes = CELL_MODES.map(([key]) => key);
  useShortcuts({
    ArrowLeft: () => (currentView?.path.length ? goToNode(parent) : false),
    ArrowRight: () =>
      children.length
        ? goToNode([...children].sort((a, b) => b.probability - a.probability)[0].node)
        : false,
    ArrowDown: () => goToSibling(currentView, 1, goToNode, policyQuery),
    ArrowUp: () => goToSibling(currentView, -1, goToNode, policyQuery),
    Home: () => goToNode(0),
    v: () => updateQuery({ mode: modes[(modes.indexOf(mode) + 1) % modes.length] }),
    i: () => {
      const members = currentView?.infoset?.members || [];
      const index = members.findIndex((member) => member.node === node);
      return members.length ? goToNode(members[(index + 1) % members.length].node) : false;
    },
    ...Object.fromEntries(
      DIGITS.map((digit) => {
        const child = children[Number(digit) - 1];
        return [digit, () => (child ? goToNode(child.node) : false)];
      }),
    ),
  });

  if (!hasSource) {
    return html`
      <h1>Explore</h1>
      <p>
        Choose a <${Link} to="/games">game</${Link}> or a <${Link} to="/">run</${Link}>
        ${" "}to explore.
      </p>
    `;
  }
  const cancel = () => {
    del(`/api/desk?${policyQuery}`).catch(() => {});
    history.back();
  };
  const hasNoCheckpoint = error?.message.includes("no checkpoint yet");
  return html`
    <div class="head explore-head">
      <h1>${gameTitle(spec)}</h1>
      <span class="grow"></span>
      <${PolicyPicker}
        game=${spec}
        policy=${policy}
        otherPolicy=${otherPolicy}
        facts=${data?.facts}
      />
    </div>
    ${
      hasNoCheckpoint
        ? html`<${MissingCheckpoint} run=${run} reload=${reload} />`
        : html`<${ErrorMessage} error=${error} retry=${reload} />`
    }
    ${
      !data &&
      !error &&
      html`<${ProgressMessage} progress=${progress || lookupProgress} cancel=${cancel} />`
    }
    ${
      data &&
      html`
        <${PolicyFacts} facts=${data.facts} run=${run} />
        ${lock && html`<${LockList} facts=${data.facts} lock=${lock} />`}
        ${progress && loading && html`<${ProgressMessage} progress=${progress} />`}
        <div class="explore">
          <${TreeOutline} view=${data} goToNode=${goToNode} policyQuery=${policyQuery} />
          <section class="middle" aria-label="View">
            <${Tabs}
              label="View"
              value=${tab}
              options=${VIEWS}
              choose=${(key) => updateQuery({ tab: key === "grid" ? "" : key })}
            />
            ${renderView(tab, {
              policyQuery,
              node,
              goToNode,
              mode,
              view: data,
              otherPolicy,
              facts: data.facts,
            })}
          </section>
          <${InfosetPanel}
            view=${data}
            goToNode=${goToNode}
            otherPolicy=${otherPolicy}
            policyQuery=${policyQuery}
            policy=${policy}
            game=${spec}
            lock=${lock}
          />
        </div>
      `
    }
    <${CommandLineHint}>
      counterplay${" "}
      ${run ? `show runs/${policy.replace(/^run:/, "")}` : `inspect ${quoteForShell(spec)}`}
    </${CommandLineHint}>
  `;
}

function renderView(tab, props) {
  const View = { leaks: RegretTable, drawing: TreeDrawing, overview: TreeOverview }[tab];
  return html`<${View || InfosetGrid} ...${props} />`;
}

/** Go to the next (offset 1) or previous (offset -1) child of the parent. */
async function goToSibling(view, offset, goToNode, policyQuery) {
  if (!view?.path.length) return;
  const parent = view.path.length > 1 ? view.path.at(-2).node : 0;
  const parentView = await get(`/api/explore/view?${policyQuery}&node=${parent}`).catch(() => null);
  const index = parentView
    ? parentView.children.findIndex((child) => child.node === view.node)
    : -1;
  const currentNode = Number(new URLSearchParams(location.search).get("node") || 0);
  if (index >= 0 && currentNode === view.node && parentView.children[index + offset]) {
    goToNode(parentView.children[index + offset].node);
  }
}

function PolicyFacts({ facts, run }) {
  return html`
    <dl class="facts compact">
      <div>
        <dt>Exploitability</dt>
        <dd title=${facts.exploitability}>${formatNumber(facts.exploitability)}</dd>
      </div>
      ${facts.values.map(
        (value, player) => html`
          <div key=${player}>
            <dt>EV of player ${player}</dt>
            <dd title=${value}>${formatNumber(value)}</dd>
          </div>
        `,
      )}
      <div>
        <dt>Nodes</dt>
        <dd>${formatCount(facts.nodes)}</dd>
      </div>
      <div>
        <dt>Infosets</dt>
        <dd>${formatCount(facts.infosets)}</dd>
      </div>
      ${
        facts.step !== null &&
        html`
          <div>
            <dt>At step</dt>
            <dd>
              ${formatCount(facts.step)}${
                run?.state === "running"
                  ? html`
                      ${" "}
                      <small>of a run in progress</small>
                    `
                  : ""
              }
            </dd>
          </div>
        `
      }
    </dl>
  `;
}

function MissingCheckpoint({ run, reload }) {
  const [isRequested, setIsRequested] = useState(false);
  useEffect(() => {
    if (isRequested && run?.checkpoint) reload();
  }, [run?.checkpoint]);
  const request = async () => {
    try {
      await post(`/api/runs/${run.id}/checkpoint`);
      setIsRequested(true);
    } catch {
      reload();
    }
  };
  return html`
    <div class="problem">
      <p>This run has not written a checkpoint yet, so there is no policy to explore.</p>
      ${
        run?.state === "running" &&
        html`
          <button class="primary" disabled=${isRequested} onClick=${request}>
            ${isRequested ? "Requested …" : "Request a checkpoint"}
          </button>
        `
      }
    </div>
  `;
}
