// Preact with htm templates: the only module that imports the vendored copies.

import htm from "../vendor/htm.js";
import { h, render } from "../vendor/preact.js";

/** Template tag that builds Preact elements: html`<p>${text}</p>`. */
export const html = htm.bind(h);

export { render };
export {
  useEffect,
  useErrorBoundary,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "../vendor/hooks.js";
