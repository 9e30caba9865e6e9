// Addresses. Everything a page shows follows from its address, so links and reloads keep it.

import { useEffect, useState } from "./preact.js";

const navigationListeners = new Set();
const notifyNavigation = () => navigationListeners.forEach((listener) => listener());
addEventListener("popstate", notifyNavigation);

/**
 * Go to another address of the studio without loading the page again.
 * @param {string} path path and query
 * @param {{ replace?: boolean }} [options] `replace`: without a new entry in the history
 * @returns {void}
 */
export function navigate(path, { replace = false } = {}) {
  if (path === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", path);
  notifyNavigation();
}

/**
 * Hook: the current address; the component renders again when it changes.
 * @returns {{ path: string, query: URLSearchParams }}
 */
export function useLocation() {
  const [, setVersion] = useState(0);
  useEffect(() => {
    const listener = () => setVersion((version) => version + 1);
    navigationListeners.add(listener);
    return () => navigationListeners.delete(listener);
  }, []);
  return { path: decodeURI(location.pathname), query: new URLSearchParams(location.search) };
}

/**
 * Change query parameters of the current address; empty values remove theirs.
 * @param {Record<string, string | number | null | undefined>} patch
 * @param {{ replace?: boolean }} [options] as for `navigate`
 * @returns {void}
 */
export function updateQuery(patch, options) {
  const params = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined || value === null || value === "") params.delete(key);
    else params.set(key, value);
  }
  const text = params.toString();
  navigate(location.pathname + (text ? `?${text}` : ""), options);
}

/**
 * @param {string} id run id, "NAME/TIME"
 * @returns {string} address of the run's page
 */
export const runPath = (id) => `/runs/${id}`;

/**
 * @param {number | undefined} node of the tree on the page that explores it
 * @returns {string} address of the node, with the policy and the view of the current address
 */
export function nodePath(node) {
  const params = new URLSearchParams(location.search);
  params.delete("start");
  if (node !== undefined) params.set("node", node);
  return `/explore?${params}`;
}
