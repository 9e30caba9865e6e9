// Requests to the studio's server. The token arrives in the address after #, which browsers never
// send, and goes into the Authorization header of every request.

const TOKEN_STORAGE_KEY = "counterplay-token";
const FAST_POLLS = 5; // polls before the pause between them grows
const FAST_POLL_MS = 150;
const SLOW_POLL_MS = 500;

let token = "";
const unauthorizedListeners = new Set();

/** An error answer of the server, or no answer at all (status 0). */
class ApiError extends Error {
  /**
   * @param {number} status HTTP status; 0 if the server cannot be reached
   * @param {{ message?: string, code?: string, hint?: string, field?: string }} body
   */
  constructor(status, body) {
    super(body.message || "the studio does not answer");
    this.status = status;
    this.code = body.code || "";
    this.hint = body.hint || "";
    this.field = body.field || "";
    this.body = body;
  }
}

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * Read the token from the address (fragment or query parameter) and remove it there; without one,
 * read it from storage.
 * @returns {boolean} true if the token differs from the one in use before
 */
export function loadToken() {
  const previous = token;
  const query = new URLSearchParams(location.search);
  const fragment = new URLSearchParams(location.hash.slice(1));
  const addressToken = fragment.get("token") || query.get("token");
  if (addressToken) {
    storeToken(addressToken);
    query.delete("token");
    const rest = query.toString();
    history.replaceState(null, "", location.pathname + (rest ? `?${rest}` : ""));
  } else {
    try {
      token = localStorage.getItem(TOKEN_STORAGE_KEY) || "";
    } catch {
      token = "";
    }
  }
  return token !== previous;
}

/**
 * Use a token from now on, and store it for later visits.
 * @param {string} text
 * @returns {void}
 */
export function storeToken(text) {
  token = text.trim();
  try {
    localStorage.setItem(TOKEN_STORAGE_KEY, token);
  } catch {
    // Storage is disabled: the token is valid for this page only.
  }
}

/**
 * Call a function whenever the server refuses the token.
 * @param {() => void} listener
 * @returns {() => void} function that removes the listener
 */
export function onUnauthorized(listener) {
  unauthorizedListeners.add(listener);
  return () => unauthorizedListeners.delete(listener);
}

/**
 * Send a request with the token.
 * @param {string} method
 * @param {string} path
 * @param {{ body?: unknown, signal?: AbortSignal, key?: string }} [options] `key` is the
 *   idempotency key: the server carries out requests with the same key once
 * @returns {Promise<Response>}
 * @throws {ApiError} with status 0 if the server cannot be reached
 */
export async function fetchApi(method, path, { body, signal, key } = {}) {
  const headers = { Authorization: `Bearer ${token}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  try {
    return await fetch(path, {
      method,
      headers,
      signal,
      credentials: "omit",
      cache: "no-store",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { code: "offline", hint: "is `counterplay studio` still running?" });
  }
}

/**
 * Send a request and parse the JSON answer.
 * @param {string} method
 * @param {string} path
 * @param {{ body?: unknown, signal?: AbortSignal, key?: string }} [options] as for `fetchApi`
 * @returns {Promise<any>}
 * @throws {ApiError} for every status other than 200
 */
export async function requestJson(method, path, options) {
  const requestToken = token;
  const response = await fetchApi(method, path, options);
  let content = {};
  try {
    content = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error; // else: not JSON, so there is no message in it
  }
  if (response.status === 401 && requestToken === token) {
    unauthorizedListeners.forEach((listener) => listener());
  }
  if (response.status !== 200) throw new ApiError(response.status, content.error || {});
  return content;
}

/**
 * @param {string} path
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {Promise<any>} the JSON answer
 */
export const get = (path, options) => requestJson("GET", path, options);

/**
 * @param {string} path
 * @param {object} [body]
 * @param {{ signal?: AbortSignal, key?: string }} [options]
 * @returns {Promise<any>} the JSON answer
 */
export const post = (path, body = {}, options = {}) =>
  requestJson("POST", path, { ...options, body });

/**
 * Send a DELETE request.
 * @param {string} path
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {Promise<any>} the JSON answer
 */
export const del = (path, options) => requestJson("DELETE", path, options);

/**
 * Repeat a request while the server answers 202 (still computing).
 * @param {string} method
 * @param {string} path
 * @param {{ body?: unknown, signal?: AbortSignal, onProgress?: (progress: object) => void }}
 *   [options]
 * @returns {Promise<any>} the JSON answer
 */
export async function requestUntilReady(method, path, { onProgress, signal, ...options } = {}) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await requestJson(method, path, { signal, ...options });
    } catch (error) {
      if (error.status !== 202) throw error;
      onProgress?.(error.body.progress || {});
      await sleep(attempt < FAST_POLLS ? FAST_POLL_MS : SLOW_POLL_MS);
      if (signal?.aborted) throw new DOMException("", "AbortError");
    }
  }
}

/**
 * Download a file from the server, once it is ready, and save it.
 * @param {string} path
 * @param {string} name file name
 * @returns {Promise<void>}
 */
export async function downloadFile(path, name) {
  for (;;) {
    const response = await fetchApi("GET", path);
    if (response.status === 200) {
      saveBlob(await response.blob(), name);
      return;
    }
    const { error } = await response.json().catch(() => ({}));
    if (response.status !== 202) throw new ApiError(response.status, error || {});
    await sleep(SLOW_POLL_MS);
  }
}

/**
 * Let the browser save a blob as a file.
 * @param {Blob} blob
 * @param {string} name file name
 * @returns {void}
 */
export function saveBlob(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/**
 * Build a query string; values that are undefined, null or empty are left out.
 * @param {Record<string, unknown>} values
 * @returns {URLSearchParams}
 */
export const buildQuery = (values) =>
  new URLSearchParams(
    Object.entries(values).filter(
      ([, value]) => value !== undefined && value !== null && value !== "",
    ),
  );
