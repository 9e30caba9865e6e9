// A spot solved on many flops: averages by texture, and a sortable table of flops.

import { Cards } from "../components/board_picker.js";
import { CommandLineHint, ErrorMessage, Link, Tabs } from "../components/common.js";
import { SortableHead, sortRows } from "../components/sortable_head.js";
import { post, requestUntilReady } from "../lib/api.js";
import { parseBoard } from "../lib/cards.js";
import { policyGradient, seriesColour } from "../lib/colours.js";
import { describePolicy, formatCount, formatNumber, formatPercent } from "../lib/format.js";
import { ignoreAfterAbort } from "../lib/hooks.js";
import { html, useEffect, useState } from "../lib/preact.js";
import { updateQuery, useLocation } from "../lib/router.js";
import { POSITIONS, useSpot } from "../lib/spots.js";

const FLOP_SETS = [
  ["25", "25 flops"],
  ["49", "49 flops"],
  ["95", "95 flops"],
  ["184", "184 flops"],
  ["all", "all 1,755 flops"],
];
const PAGE_ROWS = 40;

/** The page of reports over flops: a form, or the report that the address names. */
export function FlopReport() {
  const { query } = useLocation();
  const { spot, problem, loading } = useSpot(query);
  const flops = query.get("flops") || "";
  const target = Number(query.get("solve")) || 0.5;
  if (loading) return html`<h1>Report over flops</h1>`;
  return html`
    <div class="head"><h1>Report over flops</h1></div>
    <p>
      The same ranges, pot, stacks and bet sizes, solved on a weighted set of flops. The board of
      the spot does not matter.
    </p>
    ${problem && html`<${ErrorMessage} error=${{ message: problem }} />`}
    ${
      flops
        ? html`<${Report} key=${location.search} spot=${spot} flops=${flops} target=${target} />`
        : html`<${ReportForm} />`
    }
    <${CommandLineHint}>
      counterplay spot report spot.json --flops ${flops || "25"} --target ${target}%
    </${CommandLineHint}>
  `;
}

function ReportForm() {
  const [flops, setFlops] = useState("25");
  const [list, setList] = useState("");
  const start = (event) => {
    event.preventDefault();
    updateQuery({ flops: list.trim() || flops });
  };
  return html`
    <form class="card form" onSubmit=${start}>
      <label>
        <span>flops</span>
        <select value=${flops} onChange=${(event) => setFlops(event.target.value)}>
          ${FLOP_SETS.map(([key, name]) => html`<option key=${key} value=${key}>${name}</option>`)}
        </select>
      </label>
      <label>
        <span>or these flops</span>
        <input
          value=${list}
          placeholder="QsJh2h,Kd7c2s"
          spellcheck="false"
          onInput=${(event) => setList(event.target.value)}
        />
      </label>
      <button class="primary large">Solve all flops</button>
      <p class="muted small">
        Every solved flop is kept: a report that was stopped goes on where it was.
      </p>
    </form>
  `;
}

function Report({ spot, flops, target }) {
  const [state, setState] = useState({});
  const [attempt, setAttempt] = useState(0);
  const source = { spot, flops, target };
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    setState((previous) => ({ report: previous.report, isSolving: true }));
    requestUntilReady("POST", "/api/report", {
      body: source,
      signal,
      onProgress: ignoreAfterAbort(signal, (progress) =>
        setState((previous) => ({
          report: progress.report || previous.report,
          progress,
          isSolving: true,
        })),
      ),
    }).then(
      ignoreAfterAbort(signal, (report) => setState({ report })),
      ignoreAfterAbort(signal, (error) => setState({ error })),
    );
    return () => controller.abort();
  }, [attempt]);
  const { report, progress, error, isSolving } = state;
  const stop = () => post("/api/report/stop", source).catch(() => {});
  const numSolved = report?.rows.length || 0;
  return html`
    <${ErrorMessage} error=${error} retry=${() => setAttempt(attempt + 1)} />
    ${
      isSolving &&
      html`
        <div class="working">
          <p role="status">
            ${progress?.doing || "working"}: ${formatCount(numSolved)}${" "}
            ${report ? `of ${formatCount(report.num_flops)}` : ""} flops …
          </p>
          <progress
            aria-label="solving flops"
            value=${report ? numSolved : undefined}
            max=${report?.num_flops}
          ></progress>
          <button onClick=${stop}>Stop after this flop</button>
        </div>
      `
    }
    ${
      !isSolving &&
      report &&
      !report.finished &&
      html`
        <p class="notice">
          Stopped after ${numSolved} of ${report.num_flops} flops.${" "}
          <button class="primary" onClick=${() => setAttempt(attempt + 1)}>Go on</button>
        </p>
      `
    }
    ${numSolved > 0 && html`<${ReportTables} report=${report} spot=${spot} target=${target} />`}
  `;
}

/** Frequencies as a bar with one segment per action. */
function PolicyBar({ names, frequencies }) {
  return html`<span
    class="policy-strip"
    role="img"
    aria-label=${describePolicy(names, frequencies)}
    title=${describePolicy(names, frequencies)}
    style=${{ backgroundImage: policyGradient(names, names, frequencies) }}
  ></span>`;
}

function ReportTables({ report, spot, target }) {
  const [nodeIndex, setNodeIndex] = useState(0);
  const [sort, setSort] = useState({ key: "oop", isAscending: false });
  const [texture, setTexture] = useState("");
  const [numRows, setNumRows] = useState(PAGE_ROWS);
  const node = report.nodes[nodeIndex];
  const columns = [
    { key: "flop", name: "flop", value: (row) => row.name },
    { key: "weight", name: "weight", value: (row) => row.weight, text: formatPercent },
    { key: "equity", name: "OOP equity", value: (row) => row.equity, text: formatPercent },
    { key: "oop", name: "EV OOP", value: (row) => row.values[0], text: (x) => formatNumber(x, 4) },
    { key: "ip", name: "EV IP", value: (row) => row.values[1], text: (x) => formatNumber(x, 4) },
    ...node.actions.map((name, index) => ({
      key: `action ${index}`,
      name,
      colour: seriesColour(index),
      value: (row) => row.nodes[nodeIndex].frequencies[index],
      text: formatPercent,
    })),
  ];
  const rows = sortRows(
    report.rows.filter((row) => !texture || Object.values(row.texture).includes(texture)),
    columns,
    sort,
  );
  const flopAddress = (flop) =>
    `/spots?${new URLSearchParams({
      s: JSON.stringify({ ...spot, board: flop }),
      solve: String(target),
    })}`;
  const { average } = report;
  return html`
    <dl class="facts compact">
      <div>
        <dt>Flops</dt>
        <dd>${report.rows.length}</dd>
      </div>
      <div>
        <dt>OOP equity</dt>
        <dd>${formatPercent(average.equity)}</dd>
      </div>
      ${POSITIONS.map(
        (name, player) => html`
          <div key=${name}>
            <dt>EV of ${name}</dt>
            <dd>${formatNumber(average.values[player], 4)}</dd>
          </div>
        `,
      )}
    </dl>
    <${Tabs}
      label="Decision"
      value=${String(nodeIndex)}
      options=${report.nodes.map(({ line, player }, index) => [
        String(index),
        `${POSITIONS[player]} ${line ? `after ${line}` : "first to act"}`,
      ])}
      choose=${(key) => setNodeIndex(Number(key))}
    />
    <p class="legend">
      ${node.actions.map(
        (name, index) => html`
          <span key=${name}>
            <i style=${{ background: seriesColour(index) }}></i>
            ${name} <small>${formatPercent(average.nodes[nodeIndex].frequencies[index])}</small>
          </span>
        `,
      )}
    </p>
    <div class="two">
      ${Object.entries(report.groups).map(
        ([group, values]) => html`
          <section class="card" key=${group}>
            <h2>By ${group}</h2>
            <table>
              <thead>
                <tr>
                  <th scope="col">${group}</th>
                  <th scope="col" class="num">flops</th>
                  <th scope="col" class="num">EV OOP</th>
                  <th scope="col">${POSITIONS[node.player]}</th>
                </tr>
              </thead>
              <tbody>
                ${values.map(
                  (row) => html`
                    <tr key=${row.name}>
                      <th scope="row">
                        <button
                          class="quiet"
                          aria-pressed=${texture === row.name}
                          onClick=${() => setTexture(texture === row.name ? "" : row.name)}
                        >
                          ${row.name}
                        </button>
                      </th>
                      <td class="num">${row.num_flops}</td>
                      <td class="num">${formatNumber(row.values[0], 4)}</td>
                      <td>
                        <${PolicyBar}
                          names=${node.actions}
                          frequencies=${row.nodes[nodeIndex].frequencies}
                        />
                      </td>
                    </tr>
                  `,
                )}
              </tbody>
            </table>
          </section>
        `,
      )}
    </div>
    <section class="card">
      <h2>
        ${texture ? `Flops: ${texture}` : "All flops"}${" "}
        ${
          texture &&
          html`<button class="quiet small" onClick=${() => setTexture("")}>show all</button>`
        }
      </h2>
      <div class="scroll">
        <table class="hand-table">
          <thead>
            <tr>
              <${SortableHead} columns=${columns} sort=${sort} setSort=${setSort} />
            </tr>
          </thead>
          <tbody>
            ${rows.slice(0, numRows).map(
              (row) => html`
                <tr key=${row.name}>
                  <th scope="row">
                    <${Link} to=${flopAddress(row.name)} aria-label=${`Solve ${row.name}`}>
                      <${Cards} cards=${parseBoard(row.name)} />
                    </${Link}>
                  </th>
                  ${columns.slice(1).map(
                    ({ key, value, text }) => html`
                      <td key=${key} class="num" title=${value(row)}>${text(value(row))}</td>
                    `,
                  )}
                </tr>
              `,
            )}
          </tbody>
        </table>
      </div>
      ${
        rows.length > numRows &&
        html`
          <button class="quiet" onClick=${() => setNumRows(numRows + PAGE_ROWS)}>
            Show more of ${rows.length}
          </button>
        `
      }
    </section>
  `;
}
