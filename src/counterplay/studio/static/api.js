// Questions to the server. The token comes in the address after #, which browsers never send, and
// goes into every request's header from then on.

const PLACE = "counterplay-token";
let token = "";

export class ApiError extends Error {
  constructor(status, body) {
    super(body.message || "the studio does not answer");
    this.status = status;
    this.code = body.code || "";
    this.hint = body.hint || "";
    this.field = body.field || "";
    this.body = body;
  }
}

/**
 * Takes the token out of the address, after # or as a query parameter, and hides it there.
 * @returns {boolean} whether it is another token than before
 */
export function takeToken() {
  const before = token;
  const query = new URLSearchParams(location.search);
  const given = new URLSearchParams(location.hash.slice(1)).get("token") || query.get("token");
  if (given) {
    keepToken(given);
    query.delete("token");
    const rest = query.toString();
    history.replaceState(null, "", location.pathname + (rest ? `?${rest}` : ""));
  } else {
    try {
      token = localStorage.getItem(PLACE) || "";
    } catch {
      token = "";
    }
  }
  return token !== before;
}

export function keepToken(text) {
  token = text.trim();
  try { localStorage.setItem(PLACE, token); } catch { /* then for this page only */ }
}

export async function send(method, path, { body, signal, key } = {}) {
  const headers = { Authorization: `Bearer ${token}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  try {
    return await fetch(path, {
      method, headers, signal, credentials: "omit", cache: "no-store",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { code: "offline", hint: "is `counterplay studio` still running?" });
  }
}

export async function ask(method, path, options) {
  const used = token;
  const answer = await send(method, path, options);
  let found = {};
  try { found = await answer.json(); } catch (error) {
    if (error.name === "AbortError") throw error;  // an answer that is no JSON says nothing
  }
  if (answer.status === 401 && used === token) listeners.forEach(listen => listen());
  if (answer.status !== 200) throw new ApiError(answer.status, found.error || {});
  return found;
}

export const get = (path, options) => ask("GET", path, options);
export const post = (path, body = {}, options = {}) => ask("POST", path, { ...options, body });
export const remove = (path, options) => ask("DELETE", path, options);

// Asks until the answer is there; `progress` hears how far it is meanwhile.
export async function wait(method, path, { progress, signal, ...options } = {}) {
  for (let turn = 0; ; turn++) {
    try {
      return await ask(method, path, { signal, ...options });
    } catch (error) {
      if (error.status !== 202) throw error;
      progress?.(error.body.progress || {});
      await new Promise(done => setTimeout(done, turn < 5 ? 150 : 500));
      if (signal?.aborted) throw new DOMException("", "AbortError");
    }
  }
}

export async function download(path, name) {
  for (;;) {
    const answer = await send("GET", path);
    if (answer.status === 200) return save(await answer.blob(), name);
    const { error } = await answer.json().catch(() => ({}));
    if (answer.status !== 202) throw new ApiError(answer.status, error || {});
    await new Promise(done => setTimeout(done, 300));
  }
}

export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const listeners = new Set();
export function onLocked(listen) {
  listeners.add(listen);
  return () => listeners.delete(listen);
}

export const query = values =>
  new URLSearchParams(Object.entries(values).filter(([, v]) => v !== undefined && v !== null && v !== ""));
