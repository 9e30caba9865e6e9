// Elements that many pages share.

import { downloadFile } from "../lib/api.js";
import { formatCount, formatPercent } from "../lib/format.js";
import { html, useState } from "../lib/preact.js";
import { navigate } from "../lib/router.js";

const COPY_NOTICE_MS = 1500;

// Sign and explanation of each state of a run.
const RUN_STATES = {
  running: ["▶", "running now"],
  finished: ["✓", "reached its last step"],
  stopped: ["❚❚", "stopped on request"],
  failed: ["✕", "ended with an error"],
  aborted: ["✕", "ended by a second Ctrl-C"],
  killed: ["⊘", "killed, or the machine went down"],
  lost: ["?", "on another machine, which sends no heartbeat"],
  new: ["○", "not started"],
  ended: ["–", "ended; the reason was not recorded"],
  damaged: ["!", "its folder cannot be read"],
  queued: ["…", "waits for a free core"],
  held: ["?", "not queued by you: needs your approval"],
  starting: ["◔", "building the game tree"],
};

/**
 * A link within the studio, which does not load the page again.
 * @param {{ to: string, children: any, onClick?: (event: MouseEvent) => void }} props other props
 *   become attributes of the link
 */
export function Link({ to, children, ...attributes }) {
  const onClick = (event) => {
    attributes.onClick?.(event);
    const opensElsewhere = event.metaKey || event.ctrlKey || event.shiftKey || event.button;
    if (event.defaultPrevented || opensElsewhere) return;
    event.preventDefault();
    navigate(to);
  };
  return html`<a href=${to} ...${attributes} onClick=${onClick}>${children}</a>`;
}

/**
 * The state of a run, as a sign and a word.
 * @param {{ state: string }} props
 */
export function RunStateBadge({ state }) {
  const [sign, explanation] = RUN_STATES[state] || ["·"];
  return html`<span class="state ${state}" title=${explanation}
    ><i aria-hidden="true">${sign}</i> ${state}</span
  >`;
}

/**
 * An error with its hint; nothing if there is no error.
 * @param {{ error?: { message: string, hint?: string }, retry?: () => void }} props
 */
export function ErrorMessage({ error, retry }) {
  if (!error) return null;
  return html`<div class="problem" role="alert">
    <p>
      <strong>${error.message}</strong>
      ${error.hint && html`<br />${error.hint}`}
    </p>
    ${retry && html`<button onClick=${retry}>Try again</button>`}
  </div>`;
}

/**
 * A button that downloads a file; errors are shown beside it.
 * @param {{ path: string, name: string, children: any }} props `name` is the file's name
 */
export function DownloadButton({ path, name, children }) {
  const [state, setState] = useState({});
  const download = async () => {
    setState({ busy: true });
    try {
      await downloadFile(path, name);
      setState({});
    } catch (error) {
      setState({ error });
    }
  };
  return html`<button class="quiet" disabled=${state.busy} onClick=${download}>${children}</button>
    <${ErrorMessage} error=${state.error} />`;
}

/**
 * A progress bar for a computation of the server.
 * @param {{ progress?: { doing?: string, done?: number, total?: number }, cancel?: () => void }}
 *   props
 */
export function ProgressMessage({ progress, cancel }) {
  const { doing, done, total } = progress || {};
  const task = doing ? `${doing[0].toUpperCase()}${doing.slice(1)}` : "Working";
  const amount = done ? `: ${formatCount(done)}` : "";
  const estimate = total ? ` of about ${formatCount(total)}` : "";
  return html`<div class="working" role="status">
    <p>${task}${amount}${estimate} …</p>
    <progress
      aria-label=${doing || "working"}
      value=${total ? done : undefined}
      max=${total || undefined}
    ></progress>
    ${cancel && html`<button onClick=${cancel}>Cancel</button>`}
  </div>`;
}

/**
 * The command that does the same as the page.
 * @param {{ children: string | string[] }} props
 */
export function CommandLineHint({ children }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText([children].flat().join(""));
      setCopied(true);
      setTimeout(() => setCopied(false), COPY_NOTICE_MS);
    } catch {
      setCopied(false);
    }
  };
  return html`<footer class="command">
    <span>The same on the command line</span>
    <code>${children}</code>
    <button class="quiet" onClick=${copy}>${copied ? "Copied" : "Copy"}</button>
  </footer>`;
}

/**
 * A bar that is filled in part.
 * @param {{ fraction: number, label?: string }} props
 */
export function FractionBar({ fraction, label }) {
  const percent = 100 * Math.min(Math.max(fraction, 0), 1);
  return html`<span
    class="bar"
    role="img"
    aria-label=${label || formatPercent(fraction)}
    style=${{ "--part": `${percent}%` }}
  ></span>`;
}

/**
 * A row of buttons, one of which is pressed.
 * @param {{ label: string, value: string, options: [key: string, name: string][],
 *   choose: (key: string) => void }} props
 */
export function Tabs({ label, value, options, choose }) {
  return html`<div class="tabs" role="group" aria-label=${label}>
    ${options.map(
      ([key, name]) =>
        html`<button
          key=${key}
          class=${key === value ? "active" : ""}
          aria-pressed=${key === value}
          onClick=${() => choose(key)}
        >
          ${name}
        </button>`,
    )}
  </div>`;
}
