// The list of runs, with their states, exploitability and actions, and the queue.

import { CommandLineHint, ErrorMessage, Link, RunStateBadge } from "../components/common.js";
import { Sparkline } from "../components/sparkline.js";
import { del, post } from "../lib/api.js";
import {
  formatAge,
  formatCount,
  formatDuration,
  formatNumber,
  gameTitle,
  secondsLeft,
} from "../lib/format.js";
import { useLiveRuns, useShortcuts, useStartRuns } from "../lib/hooks.js";
import { html, useEffect, useState } from "../lib/preact.js";
import { navigate, runPath, updateQuery, useLocation } from "../lib/router.js";

const PAGE_SIZE = 50;
const MAX_QUEUE_ENTRIES = 20;

// Key, title, sort key, class. Columns of class "roomy" are hidden on phones.
const COLUMNS = [
  ["name", "Run", (run) => run.id],
  ["game", "Game", (run) => run.game, "roomy"],
  ["algorithm", "Algorithm", (run) => run.algorithm, "roomy"],
  ["seed", "Seed", (run) => run.seed, "num roomy"],
  ["state", "State", (run) => run.state],
  ["step", "Step", (run) => run.step, "num roomy"],
  ["value", "Exploitability", (run) => run.value ?? Infinity, "num"],
  ["best", "Best", (run) => run.best ?? Infinity, "num roomy"],
  ["", "", null, "roomy"],
  ["left", "Time left", (run) => secondsLeft(run) || Infinity, "num roomy"],
  ["began", "Started", (run) => -new Date(run.began || 0), "num roomy"],
];

const EXAMPLE_RUNS = [
  {
    title: "Solve Kuhn poker",
    text: "Three cards, one bet, 12 infosets: solved in seconds.",
    name: "kuhn",
    config: {
      name: "kuhn",
      algorithm: "cfr_plus",
      game: "kuhn_poker",
      spec: { max_steps: 20000, evaluate_every: 50 },
    },
  },
  {
    title: "Solve Leduc poker",
    text: "Six cards, two rounds, 936 infosets: the standard benchmark.",
    name: "leduc",
    config: {
      name: "leduc",
      algorithm: "cfr_plus",
      game: "leduc_poker",
      spec: { max_steps: 10000, evaluate_every: 25 },
    },
  },
  {
    title: "Sample liar's dice",
    text: "External sampling on 294,883 nodes, one episode at a time.",
    name: "dice",
    config: {
      name: "dice",
      algorithm: "external_sampling",
      game: "liars_dice",
      spec: { max_steps: 100000, evaluate_every: 1000 },
    },
  },
];

/** Return true if a run has all words of the filter; "state:running" asks for one field. */
function matchesFilter(run, filter) {
  return filter
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .every((word) => {
      const [key, value] = word.includes(":") ? word.split(/:(.*)/s) : ["", word];
      const field = {
        game: run.game,
        state: run.state,
        algorithm: run.algorithm,
        algo: run.algorithm,
        seed: String(run.seed),
        name: run.id,
      }[key];
      if (field !== undefined) {
        return key === "seed" ? field === value : field.toLowerCase().includes(value);
      }
      return `${run.id} ${run.game} ${run.algorithm} ${run.state}`.toLowerCase().includes(word);
    });
}

/** The page of all runs. */
export function Runs() {
  const { query } = useLocation();
  const { runs, queue, loaded, problem } = useLiveRuns();
  const [selected, setSelected] = useState(new Set());
  const [cursor, setCursor] = useState(-1);
  const [trashTickets, setTrashTickets] = useState(null);
  const [error, setError] = useState(null);
  const [startedExample, setStartedExample] = useState(null); // its name
  useEffect(() => {
    if (startedExample && runs.size) navigate(runPath([...runs.keys()][0]));
  }, [runs.size, startedExample]);
  const filter = query.get("q") || "";
  const sort = query.get("sort") || "began";
  const descending = query.get("down") === "1";
  const sortDirection = descending ? "descending" : "ascending";
  const sortBy = (key) => updateQuery({ sort: key, down: sort === key && !descending ? "1" : "" });
  const page = Number(query.get("page") || 0);
  const sortKey = (COLUMNS.find(([key]) => key === sort) || COLUMNS.at(-1))[2];
  const matches = [...runs.values()]
    .filter((run) => matchesFilter(run, filter))
    .sort((a, b) => {
      const [keyA, keyB] = [sortKey(a), sortKey(b)];
      return (keyA < keyB ? -1 : keyA > keyB ? 1 : a.id < b.id ? 1 : -1) * (descending ? -1 : 1);
    });
  const visibleRuns = matches.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE);
  const selectedIds = [...selected].filter((id) => runs.has(id));
  const toggle = (id) =>
    setSelected((previous) => {
      const next = new Set(previous);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  const applyToEach = async (ids, act) => {
    setError(null);
    for (const id of ids) {
      try {
        await act(id);
      } catch (problem) {
        setError(problem);
      }
    }
  };
  const compare = () =>
    navigate(`/compare?${new URLSearchParams(selectedIds.map((id) => ["r", id]))}`);
  const stop = () =>
    applyToEach(
      selectedIds.filter((id) => runs.get(id).state === "running"),
      (id) => post(`/api/runs/${id}/stop`),
    );
  const resume = () => applyToEach(selectedIds, (id) => post(`/api/runs/${id}/resume`));
  const trash = () =>
    applyToEach(selectedIds, async (id) => {
      const { ticket } = await post(`/api/runs/${id}/trash`);
      setTrashTickets((previous) => [...(previous || []), ticket]);
      setSelected(new Set());
    });
  const restore = async () => {
    await applyToEach(trashTickets, (ticket) => post("/api/restore", { ticket }));
    setTrashTickets(null);
  };
  const moveCursor = (offset) => () => {
    const next = Math.min(Math.max(cursor + offset, 0), visibleRuns.length - 1);
    setCursor(next);
    document.querySelectorAll("tbody.runs tr")[next]?.querySelector("a")?.focus();
  };
  useShortcuts({
    j: moveCursor(1),
    k: moveCursor(-1),
    x: () => visibleRuns[cursor] && toggle(visibleRuns[cursor].id),
    c: () => (selectedIds.length ? compare() : false),
    s: () => (selectedIds.length ? stop() : false),
  });

  if (!loaded) {
    return html`
      <h1>Runs</h1>
      ${
        problem
          ? html`<${ErrorMessage} error=${{ message: problem }} />`
          : html`<p class="muted">Loading …</p>`
      }
    `;
  }
  if (
    !runs.size &&
    (startedExample ? !queue.some((entry) => entry.state === "failed") : !queue.length)
  ) {
    return html`
      <${EmptyRunsPage}
        problem=${problem}
        trashTickets=${trashTickets}
        restore=${restore}
        startedExample=${startedExample}
        setStartedExample=${setStartedExample}
      />
    `;
  }
  return html`
    <div class="head">
      <h1>Runs</h1>
      <span class="muted">
        ${matches.length < runs.size && `${formatCount(matches.length)} of `}
        ${formatCount(runs.size)}
      </span>
      <span class="grow"></span>
      <label class="search">
        <span class="visually-hidden">Filter runs</span>
        <input
          data-search
          type="search"
          placeholder="Filter: leduc state:running"
          value=${filter}
          onInput=${(event) => {
            updateQuery({ q: event.target.value, page: "" }, { replace: true });
            setCursor(-1);
          }}
        />
      </label>
      <${Link} class="button primary" to="/new">New run</${Link}>
    </div>
    ${problem && html`<${ErrorMessage} error=${{ message: problem }} />`}
    <${ErrorMessage} error=${error} />
    ${
      trashTickets &&
      html`
        <p class="notice" role="status">
          ${trashTickets.length === 1 ? "One run is" : `${trashTickets.length} runs are`} in
          the trash. <button onClick=${restore}>Undo</button>
        </p>
      `
    }
    ${
      selectedIds.length > 0 &&
      html`
        <div class="toolbar" role="toolbar" aria-label="Selected runs">
          <span>${selectedIds.length} selected</span>
          <button class="primary" onClick=${compare}>Compare</button>
          <button onClick=${stop}>Stop</button>
          <button onClick=${resume}>Resume</button>
          <button onClick=${trash}>Trash</button>
          <button class="quiet" onClick=${() => setSelected(new Set())}>Clear selection</button>
        </div>
      `
    }
    ${queue.length > 0 && html`<${RunQueue} queue=${queue} />`}
    <div class="scroll">
      <table class="list">
        <thead>
          <tr>
            <th><span class="visually-hidden">Select</span></th>
            ${COLUMNS.map(
              ([key, name, , className]) => html`
                <th
                  key=${key}
                  scope="col"
                  class=${className}
                  aria-sort=${key && key === sort ? sortDirection : undefined}
                >
                  ${
                    key
                      ? html`
                          <button class="sort" onClick=${() => sortBy(key)}>
                            ${name}${key === sort ? (descending ? " ↓" : " ↑") : ""}
                          </button>
                        `
                      : html`<span class="visually-hidden">Curve</span>`
                  }
                </th>
              `,
            )}
          </tr>
        </thead>
        <tbody class="runs">
          ${visibleRuns.map(
            (run, index) => html`
              <${RunRow}
                key=${run.id}
                run=${run}
                selected=${selected.has(run.id)}
                current=${index === cursor}
                toggle=${() => toggle(run.id)}
              />
            `,
          )}
        </tbody>
      </table>
    </div>
    ${
      !matches.length &&
      html`
        <p class="muted">
          No run matches “${filter}”.${" "}
          <button class="quiet" onClick=${() => updateQuery({ q: "" })}>Show all</button>
        </p>
      `
    }
    ${
      matches.length > PAGE_SIZE &&
      html`
        <nav class="pager" aria-label="Pages of runs">
          <button disabled=${page === 0} onClick=${() => updateQuery({ page: page - 1 || "" })}>
            Newer
          </button>
          <span>
            ${page * PAGE_SIZE + 1} to ${Math.min((page + 1) * PAGE_SIZE, matches.length)}
          </span>
          <button
            disabled=${(page + 1) * PAGE_SIZE >= matches.length}
            onClick=${() => updateQuery({ page: page + 1 })}
          >
            Older
          </button>
        </nav>
      `
    }
    <${CommandLineHint}>counterplay compare runs</${CommandLineHint}>
  `;
}

function RunRow({ run, selected, current, toggle }) {
  const fraction = run.max_steps ? run.step / run.max_steps : 0;
  const running = run.state === "running";
  return html`
    <tr class=${current ? "current" : ""} aria-selected=${selected}>
      <td>
        <input
          type="checkbox"
          checked=${selected}
          onChange=${toggle}
          aria-label="Select ${run.id}"
        />
      </td>
      <td class="name">
        <${Link} to=${runPath(run.id)}>${run.name}</${Link}>
        <small>${run.id.split("/").slice(1).join("/")}</small>
        <small class="phone">
          ${[gameTitle(run.game), run.algorithm].filter(Boolean).join(", ")}
        </small>
        ${run.damage && html`<small class="phone">${run.damage}</small>`}
      </td>
      <td class="roomy">${gameTitle(run.game)}</td>
      <td class="roomy">${run.algorithm}</td>
      <td class="num roomy">${run.seed}</td>
      <td><${RunStateBadge} state=${run.state} /></td>
      <td class="num roomy" title="${formatCount(run.step)} of ${formatCount(run.max_steps)}">
        ${formatCount(run.step)}
        ${running && html`<span class="bar" style=${{ "--part": `${100 * fraction}%` }}></span>`}
      </td>
      ${
        run.damage
          ? html`<td colspan="5" class="muted roomy">${run.damage}</td>`
          : html`
              <td class="num" title=${run.value}>${run.exact ? formatNumber(run.value) : "–"}</td>
              <td class="num roomy" title=${run.best}>${formatNumber(run.best)}</td>
              <td class="roomy">
                <${Sparkline} points=${run.exact ? run.sketch : []} running=${running} />
              </td>
              <td class="num roomy">${running ? formatDuration(secondsLeft(run)) : ""}</td>
              <td class="num muted roomy">${formatAge(run.began)}</td>
            `
      }
    </tr>
  `;
}

function RunQueue({ queue }) {
  const [error, setError] = useState(null);
  const removeEntry = async (ticket) => {
    try {
      await del(`/api/queue/${ticket}`);
    } catch (problem) {
      setError(problem);
    }
  };
  const approve = async (entry) => {
    setError(null);
    try {
      await post(`/api/queue/${entry.ticket}/approve`, { digest: entry.digest });
    } catch (problem) {
      setError(problem);
    }
  };
  return html`
    <section class="card queue" aria-label="Queue">
      <h2>Queue</h2>
      <${ErrorMessage} error=${error} />
      <ul>
        ${queue.slice(0, MAX_QUEUE_ENTRIES).map(
          (entry) => html`
            <li key=${entry.ticket}>
              <${RunStateBadge} state=${entry.state} /> <b>${entry.config.name}</b>
              <span class="muted">
                ${entry.config.algorithm}, seed ${entry.config.spec?.seed ?? 0}
              </span>
              ${" "}${entry.problem}
              ${
                entry.state === "held" &&
                html`
                  <span>
                    was not queued by you.${" "}
                    ${
                      entry.code
                        ? html`It runs the code of <code>${entry.code}</code>.`
                        : "It runs only code of Counterplay."
                    }
                  </span>
                  <button onClick=${() => approve(entry)} aria-label="Run ${entry.config.name}">
                    ${entry.code ? "Trust this code and run" : "Run"}
                  </button>
                `
              }
              ${
                entry.state !== "starting" &&
                html`
                  <button
                    class="quiet"
                    onClick=${() => removeEntry(entry.ticket)}
                    aria-label="Remove ${entry.config.name}"
                  >
                    Remove
                  </button>
                `
              }
            </li>
          `,
        )}
      </ul>
      ${
        queue.length > MAX_QUEUE_ENTRIES &&
        html`<p class="muted">and ${queue.length - MAX_QUEUE_ENTRIES} more</p>`
      }
    </section>
  `;
}

function EmptyRunsPage({ problem, trashTickets, restore, startedExample, setStartedExample }) {
  const [startRuns, { busy, error }] = useStartRuns();
  return html`
    <section class="empty">
      <h1>No runs yet</h1>
      <p>
        A run is one algorithm, one game and one seed, stored in a folder. Start a run, watch its
        exploitability fall, explore its policy, and play against it.
      </p>
      ${problem && html`<${ErrorMessage} error=${{ message: problem }} />`}
      ${
        trashTickets &&
        html`
          <p class="notice" role="status">
            In the trash. <button onClick=${restore}>Undo</button>
          </p>
        `
      }
      <${ErrorMessage} error=${error} />
      <div class="cards">
        ${EXAMPLE_RUNS.map(
          (example) => html`
            <article class="card" key=${example.name}>
              <h2>${example.title}</h2>
              <p>${example.text}</p>
              <button
                class="primary"
                disabled=${busy || startedExample}
                onClick=${async () => {
                  if (await startRuns(example.config)) setStartedExample(example.name);
                }}
              >
                ${startedExample === example.name ? "Starting …" : "Start"}
              </button>
            </article>
          `,
        )}
      </div>
      <p>
        Or <${Link} to="/games">choose a game</${Link}>, upload an <code>.efg</code> file, or${" "}
        <${Link} to="/new">write a config</${Link}>.
      </p>
    </section>
    <${CommandLineHint}>counterplay run config.json</${CommandLineHint}>
  `;
}
