// Drills from a solution: random decisions, graded by EV loss, with statistics and repetition.

import { Cards } from "../components/board_picker.js";
import { CommandLineHint, ErrorMessage, Link, ProgressMessage } from "../components/common.js";
import { get, post, requestUntilReady } from "../lib/api.js";
import { parseBoard } from "../lib/cards.js";
import { seriesColour } from "../lib/colours.js";
import { formatCount, formatNumber, formatPercent, quoteForShell } from "../lib/format.js";
import { useShortcuts } from "../lib/hooks.js";
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { updateQuery, useLocation } from "../lib/router.js";
import { POSITIONS, solutionSource, useSpot } from "../lib/spots.js";

const TIME_LIMITS = [0, 10, 20, 30]; // seconds per question; 0 is no limit
const RIGHT_GRADES = ["best", "small loss"];
const TICK_MS = 200;

/** The page of drills: the choice of a solution, or the questions. */
export function Trainer() {
  const { query } = useLocation();
  const { spot, problem, loading } = useSpot(query);
  const hasSource = query.get("file") || (query.get("solve") && !problem);
  if (loading) return html`<${ProgressMessage} progress=${{ doing: "reading the spot" }} />`;
  return html`
    <div class="head"><h1>Trainer</h1></div>
    ${
      hasSource
        ? html`<${Drill} key=${location.search} source=${solutionSource(query, spot)} query=${query} />`
        : html`<${SolutionChoice} problem=${problem} />`
    }
  `;
}

function SolutionChoice({ problem }) {
  const [state, setState] = useState({});
  useEffect(() => {
    get("/api/library/solutions").then(
      ({ files }) => setState({ files }),
      (error) => setState({ error }),
    );
  }, []);
  const { files, error } = state;
  return html`
    <p>
      Random decisions of a solution: you choose an action, and see the EV that it loses. Mistakes
      come back until you know them.
    </p>
    ${problem && html`<${ErrorMessage} error=${{ message: problem }} />`}
    <${ErrorMessage} error=${error} />
    <section class="card">
      <h2>Saved solutions</h2>
      <ul class="plain">
        ${files?.map(
          (file) => html`
            <li key=${file.name}>
              <${Link} to=${`/train?file=${encodeURIComponent(file.name)}`}>${file.name}</${Link}>
            </li>
          `,
        )}
      </ul>
      ${
        files &&
        !files.length &&
        html`<p class="muted">
          None yet. <${Link} to="/spots">Solve a spot</${Link}>, then choose Train this spot.
        </p>`
      }
      <p><${Link} to="/train?solve=0.5">Train the example on the river</${Link}></p>
    </section>
    <${Statistics} source=${{}} version=${0} />
    <${CommandLineHint}>counterplay spot drill spot.cps</${CommandLineHint}>
  `;
}

function drillSettings(query) {
  const player = query.get("player");
  return {
    line: query.get("line") || "",
    street: query.get("street") || "",
    ...(player === "0" || player === "1" ? { player: Number(player) } : {}),
  };
}

function Drill({ source, query }) {
  const settings = drillSettings(query);
  const limit = TIME_LIMITS.includes(Number(query.get("seconds")))
    ? Number(query.get("seconds"))
    : 0;
  const [state, setState] = useState({});
  const [version, setVersion] = useState(0); // grows with every answer
  const [score, setScore] = useState({ count: 0, right: 0, loss: 0 });
  const startTime = useRef(0);
  const { question, grade, progress, error } = state;
  const nextQuestion = () => {
    setState({ progress: {} });
    requestUntilReady("POST", "/api/spot/question", {
      body: { ...source, ...settings },
      onProgress: (latest) => setState({ progress: latest }),
    }).then(
      (data) => {
        startTime.current = Date.now();
        setState({ question: data });
      },
      (problem) => setState({ error: problem }),
    );
  };
  useEffect(nextQuestion, []);
  const answer = async (action, isLate = false) => {
    if (!question || grade || state.isSending) return;
    setState({ question, isSending: true });
    try {
      const result = await requestUntilReady("POST", "/api/spot/answer", {
        body: {
          ...source,
          history: question.history,
          hand: question.hand,
          action,
          late: isLate,
          seconds: (Date.now() - startTime.current) / 1000,
        },
      });
      setState({ question, grade: result });
      setVersion((number) => number + 1);
      setScore((previous) => ({
        count: previous.count + 1,
        right: previous.right + RIGHT_GRADES.includes(result.grade),
        loss: previous.loss + result.pot_fraction,
      }));
    } catch (problem) {
      setState({ question, error: problem });
    }
  };
  useShortcuts({
    ...Object.fromEntries(
      (question?.actions || [])
        .slice(0, 9)
        .map((name, index) => [String(index + 1), () => answer(name)]),
    ),
    n: () => grade && nextQuestion(),
    Enter: (event) => {
      if (!grade || event.target.closest("button, a, select")) return false;
      nextQuestion();
      return true;
    },
  });
  return html`
    <${DrillOptions} settings=${settings} limit=${limit} />
    ${!question && !error && html`<${ProgressMessage} progress=${progress} />`}
    <${ErrorMessage} error=${error} retry=${nextQuestion} />
    ${
      question &&
      html`
        <section class="card drill" aria-label="Question">
          <p>
            ${question.repeated && html`<b>Again:</b>`} ${question.street}, you are${" "}
            <b class="p${question.player}">${POSITIONS[question.player]}</b>;${" "}
            ${question.history ? html`<code>${question.history}</code>` : "first to act"}
          </p>
          <p>
            <${Cards} cards=${parseBoard(question.board)} /> pot ${formatCount(question.pot)}
            ${
              question.to_call > 0
                ? html`, ${formatCount(question.to_call)} to call: pot odds${" "}
                    ${formatPercent(question.to_call / (question.pot + question.to_call))}`
                : ""
            }
          </p>
          <p class="drill-hand"><${Cards} cards=${parseBoard(question.hand)} /></p>
          ${limit > 0 && !grade && html`<${Countdown} key=${question.history + question.hand} seconds=${limit} end=${() => answer("", true)} />`}
          <div class="drill-choices" role="group" aria-label="Actions">
            ${question.actions.map(
              (name, index) => html`
                <button
                  key=${name}
                  class="choice"
                  disabled=${!!grade || state.isSending}
                  onClick=${() => answer(name)}
                >
                  <kbd>${index + 1}</kbd> ${name}
                </button>
              `,
            )}
          </div>
          ${grade && html`<${Verdict} question=${question} grade=${grade} next=${nextQuestion} />`}
        </section>
      `
    }
    <p class="muted" role="status">
      This session: ${score.count} answered, ${score.right} right${
        score.count
          ? `, ${formatPercent(score.loss / score.count)} of the pot lost per decision`
          : ""
      }.
    </p>
    <${Statistics} source=${source} version=${version} />
    <${CommandLineHint}>
      counterplay spot drill ${source.file ? quoteForShell(`${source.file}.cps`) : "spot.cps"}
    </${CommandLineHint}>
  `;
}

function DrillOptions({ settings, limit }) {
  const select = (label, value, options, key) => html`
    <label class="inline">
      <span>${label}</span>
      <select value=${value} onChange=${(event) => updateQuery({ [key]: event.target.value })}>
        ${options.map(([id, name]) => html`<option key=${id} value=${id}>${name}</option>`)}
      </select>
    </label>
  `;
  return html`
    <div class="toolbar">
      ${select(
        "you are",
        settings.player ?? "",
        [["", "OOP or IP"], ...POSITIONS.map((name, player) => [String(player), name])],
        "player",
      )}
      ${select(
        "street",
        settings.street,
        [["", "all"], ...["flop", "turn", "river"].map((name) => [name, name])],
        "street",
      )}
      ${select(
        "time",
        String(limit),
        TIME_LIMITS.map((seconds) => [
          seconds ? String(seconds) : "0",
          seconds ? `${seconds} s` : "no limit",
        ]),
        "seconds",
      )}
      ${
        settings.line &&
        html`
          <span>line <code>${settings.line}</code></span>
          <button class="quiet" onClick=${() => updateQuery({ line: "" })}>✕ all lines</button>
        `
      }
      <span class="muted small">keys: <kbd>1</kbd>–<kbd>9</kbd> answer, <kbd>n</kbd> next</span>
    </div>
  `;
}

function Countdown({ seconds, end }) {
  const [left, setLeft] = useState(seconds);
  const latestEnd = useRef(end);
  latestEnd.current = end;
  useEffect(() => {
    const deadline = Date.now() + 1000 * seconds;
    const timer = setInterval(() => {
      const rest = Math.max(deadline - Date.now(), 0) / 1000;
      setLeft(rest);
      if (rest > 0) return;
      clearInterval(timer);
      latestEnd.current();
    }, TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return html`<progress
    max=${seconds}
    value=${left}
    aria-label=${`Time left: ${Math.ceil(left)} seconds`}
  ></progress>`;
}

function Verdict({ question, grade, next }) {
  const isRight = RIGHT_GRADES.includes(grade.grade);
  const explanation =
    grade.grade === "best"
      ? "Best."
      : grade.grade === "too late"
        ? `Too late; ${grade.best_action} is best.`
        : `${grade.grade[0].toUpperCase()}${grade.grade.slice(1)}: ${grade.best_action} is better by ${formatNumber(
            grade.ev_loss,
          )} chips, ${formatPercent(grade.pot_fraction)} of the pot.`;
  return html`
    <div class="notice drill-verdict ${isRight ? "right" : "wrong"}" role="status">
      <p><b>${explanation}</b></p>
      <table>
        <thead>
          <tr>
            <th scope="col">action</th>
            <th scope="col" class="num">EV</th>
            <th scope="col" class="num">frequency</th>
          </tr>
        </thead>
        <tbody>
          ${question.actions.map(
            (name, index) => html`
              <tr key=${name}>
                <th scope="row">
                  <i class="swatch" style=${{ background: seriesColour(index) }}></i>${" "}
                  ${name}${name === grade.action ? " (you)" : ""}
                </th>
                <td class="num" title=${grade.action_values[index]}>
                  ${formatNumber(grade.action_values[index], 4)}
                </td>
                <td class="num">${formatPercent(grade.frequencies[index])}</td>
              </tr>
            `,
          )}
        </tbody>
      </table>
      <button class="primary" onClick=${next}>Next <kbd>n</kbd></button>
    </div>
  `;
}

function ScoreTable({ caption, rows, name }) {
  return html`
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          <th scope="col">${name}</th>
          <th scope="col" class="num">answers</th>
          <th scope="col" class="num">right</th>
          <th scope="col" class="num">EV loss</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) => html`
            <tr key=${row[name]}>
              <th scope="row"><code>${row[name] || "first to act"}</code></th>
              <td class="num">${row.count}</td>
              <td class="num">${formatPercent(row.num_right / row.count)}</td>
              <td class="num">${formatPercent(row.mean_loss)}</td>
            </tr>
          `,
        )}
      </tbody>
    </table>
  `;
}

function Statistics({ source, version }) {
  const [state, setState] = useState({});
  useEffect(() => {
    post("/api/drills", source).then(
      (data) => setState({ data }),
      (error) => setState({ error }),
    );
  }, [version]);
  const { data, error } = state;
  if (error) return html`<${ErrorMessage} error=${error} />`;
  if (!data?.total.length) return null;
  const [total] = data.total;
  const lines = data.lines.toSorted((first, second) => second.mean_loss - first.mean_loss);
  return html`
    <section class="card">
      <h2>Statistics</h2>
      <p>
        ${formatCount(total.count)} answers, ${formatPercent(total.num_right / total.count)} right,
        ${" "}${formatPercent(total.mean_loss)} of the pot lost per decision; ${data.due} mistakes
        due again. Kept in <code>${data.path}</code>.
      </p>
      <div class="two">
        <${ScoreTable} caption="By street" rows=${data.streets} name="street" />
        <${ScoreTable} caption="By line, the costliest first" rows=${lines.slice(0, 10)} name="line" />
      </div>
    </section>
  `;
}
