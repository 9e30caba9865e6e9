// Hooks and request helpers that pages share: shortcuts, live runs, requests and their state.

import { requestJson, requestUntilReady } from "./api.js";
import { liveRuns, subscribe } from "./live_runs.js";
import { useEffect, useLayoutEffect, useRef, useState } from "./preact.js";

const INPUT_SELECTOR = "input, textarea, select, [contenteditable], dialog";

/**
 * Wrap a callback so that it is not called after an abort: late answers are ignored.
 * @template T
 * @param {AbortSignal} signal
 * @param {(value: T) => void} use
 * @returns {(value: T) => void}
 */
export const ignoreAfterAbort = (signal, use) => (value) => {
  if (!signal.aborted) use(value);
};

/**
 * Send a request after a delay, unless it is cancelled first. An answer that arrives after the
 * cancellation is ignored.
 * @param {number} delay milliseconds
 * @param {(signal: AbortSignal) => Promise<any>} send
 * @param {(data: any) => void} onData
 * @param {(error: Error) => void} onError
 * @returns {() => void} function that cancels the request
 */
export function debounceRequest(delay, send, onData, onError) {
  const controller = new AbortController();
  const { signal } = controller;
  const timer = setTimeout(
    () => send(signal).then(ignoreAfterAbort(signal, onData), ignoreAfterAbort(signal, onError)),
    delay,
  );
  return () => {
    clearTimeout(timer);
    controller.abort();
  };
}

/**
 * Hook: keyboard shortcuts, inactive while the user types into a field. The handlers of the last
 * render are called.
 * @param {Record<string, (event: KeyboardEvent) => unknown>} shortcuts handlers by key; one that
 *   returns false leaves the key to the browser
 * @returns {void}
 */
export function useShortcuts(shortcuts) {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useLayoutEffect(() => {
    const onKeyDown = (event) => {
      if (event.target.closest?.(INPUT_SELECTOR) || event.defaultPrevented) return;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const handler = latest.current[event.key];
      if (handler && handler(event) !== false) event.preventDefault();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}

/**
 * Hook: the runs; the component renders again when they change.
 * @returns {typeof liveRuns}
 */
export function useLiveRuns() {
  const [, setVersion] = useState(0);
  useEffect(() => subscribe(() => setVersion((version) => version + 1)), []);
  return liveRuns;
}

/**
 * Hook: the JSON answer to a GET request, sent again when the path changes. The previous answer
 * stays until the next one arrives.
 * @param {string} path "" sends no request
 * @returns {{ data?: any, error?: Error, loading?: boolean, progress?: object,
 *   reload: () => void }}
 */
export function useApi(path) {
  const [state, setState] = useState({});
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    if (!path) {
      setState({});
      return undefined;
    }
    const controller = new AbortController();
    const { signal } = controller;
    const onProgress = (progress) => setState((previous) => ({ ...previous, progress }));
    setState((previous) => ({ data: previous.data, loading: true }));
    requestUntilReady("GET", path, {
      signal,
      onProgress: ignoreAfterAbort(signal, onProgress),
    }).then(
      ignoreAfterAbort(signal, (data) => setState({ data })),
      ignoreAfterAbort(signal, (error) => setState({ error })),
    );
    return () => controller.abort();
  }, [path, attempt]);
  return { ...state, reload: () => setAttempt((number) => number + 1) };
}

/**
 * Hook: requests that the user triggers.
 * @returns {[send: (method: string, path: string, body?: object, options?: object) =>
 *   Promise<any>, state: { busy?: boolean, error?: Error }, clear: () => void]} `send` resolves to
 *   the JSON answer, or to null if the request fails; then `error` says why
 */
export function useApiAction() {
  const [state, setState] = useState({});
  const send = async (method, path, body, options) => {
    setState({ busy: true });
    try {
      const response = await requestJson(method, path, { body, ...options });
      setState({});
      return response;
    } catch (error) {
      setState({ error });
      return null;
    }
  };
  return [send, state, () => setState({})];
}

/**
 * Hook: a function that queues runs.
 * @returns {[startRuns: (config: object, seeds?: number[]) => Promise<boolean>,
 *   state: { busy?: boolean, error?: Error }]} `startRuns` resolves to false if it fails
 */
export function useStartRuns() {
  const [send, state] = useApiAction();
  const startRuns = async (config, seeds) => {
    const key = crypto.randomUUID?.() || String(Math.random());
    return (await send("POST", "/api/runs", { config, seeds }, { key })) !== null;
  };
  return [startRuns, state];
}

/**
 * Hook: a value that changes at most once per interval, for what is costly to draw.
 * @template T
 * @param {T} value
 * @param {number} milliseconds
 * @returns {T}
 */
export function useThrottled(value, milliseconds) {
  const [current, setCurrent] = useState(value);
  const latest = useRef(value);
  latest.current = value;
  useEffect(() => {
    if (current === value) return undefined;
    const timer = setTimeout(() => setCurrent(latest.current), milliseconds);
    return () => clearTimeout(timer);
  }, [current === value]);
  return current;
}
