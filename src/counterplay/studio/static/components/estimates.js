// Estimates before a run starts: the size of the tree and the duration.

import { post, requestUntilReady } from "../lib/api.js";
import { formatBytes, formatCount, formatDuration, formatNumber } from "../lib/format.js";
import { debounceRequest } from "../lib/hooks.js";
import { html, useEffect, useState } from "../lib/preact.js";
import { formatGameSpec } from "../lib/specs.js";

const DURATION_DELAY_MS = 900;
const SIZE_DELAY_MS = 400;
const MIN_RELATIVE_ERROR = 0.005; // smaller standard errors are not shown

/**
 * How long runs of a config take, measured on a few steps.
 * @param {{ config: object, numRuns: number }} props
 */
export function DurationEstimate({ config, numRuns }) {
  const [{ data, error }, setState] = useState({});
  const configKey = JSON.stringify({ ...config, name: "", spec: { ...config.spec, seed: 0 } });
  useEffect(() => {
    const body = { config: { ...config, name: "trial" } };
    setState({});
    return debounceRequest(
      DURATION_DELAY_MS,
      (signal) => requestUntilReady("POST", "/api/estimate/run", { body, signal }),
      (response) => setState({ data: response }),
      (problem) => setState({ error: problem }),
    );
  }, [configKey]);
  if (error) {
    return html`<p class="muted small">The duration cannot be estimated: ${error.message}.</p>`;
  }
  if (!data) {
    return html`<p class="muted small" role="status">Estimating the duration …</p>`;
  }
  const perRun = numRuns > 1 ? " for each run" : "";
  const rate = `${formatNumber(data.rate)} steps a second`;
  const evaluation = `${formatDuration(data.judging)} for each evaluation`;
  return html`<p class="muted small">
    About <b>${formatDuration(Math.max(data.seconds, 0.1))}</b>${perRun} on this machine${
      data.rate ? `: ${rate}, ${evaluation}` : ""
    }.
  </p>`;
}

/**
 * The size of a game's tree.
 * @param {{ game: { name: string, params: object }, onEstimate?: (sizeCheck: object) => void }}
 *   props `onEstimate` receives the answer of the server
 */
export function SizeEstimate({ game, onEstimate }) {
  const [state, setState] = useState({});
  const spec = formatGameSpec(game);
  useEffect(() => {
    if (!game.name) return undefined;
    return debounceRequest(
      SIZE_DELAY_MS,
      (signal) => post("/api/estimate", { game: spec }, { signal }),
      (data) => {
        setState({ data });
        onEstimate?.(data);
      },
      (error) => {
        setState({ error });
        onEstimate?.({ fits: false, reason: error.message, incomplete: true });
      },
    );
  }, [spec]);
  if (state.error) return html`<p class="muted small">${state.error.message}</p>`;
  if (!state.data) return html`<p class="muted small">Estimating the size …</p>`;
  const { nodes, error, bytes, free, fits } = state.data;
  const uncertainty = error > MIN_RELATIVE_ERROR * nodes ? ` ± ${formatNumber(error, 2)}` : "";
  const advice = ' Choose smaller parameters, or an algorithm that samples with "arena": "rules".';
  return html`<p class=${fits ? "muted small" : "problem"}>
    About ${formatCount(nodes)}${uncertainty} nodes; the tree needs up to ${formatBytes(bytes)} of
    ${" "}${formatBytes(free)} free memory.${!fits && advice}
  </p>`;
}
