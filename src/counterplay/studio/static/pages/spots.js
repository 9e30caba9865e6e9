// Hold'em spots after the flop: the editor, or the solution that the address names.

import { ProgressMessage } from "../components/common.js";
import { html } from "../lib/preact.js";
import { useLocation } from "../lib/router.js";
import { useSpot } from "../lib/spots.js";
import { SpotEditor } from "./spot_editor.js";
import { SpotSolution } from "./spot_solution.js";

/** The page of hold'em spots. */
export function Spots() {
  const { query } = useLocation();
  const { spot, problem, loading } = useSpot(query);
  const file = query.get("file");
  const solve = query.get("solve");
  if (file) return html`<${SpotSolution} key=${`file ${file}`} />`;
  if (loading) {
    return html`<h1>Hold'em spots</h1>
      <${ProgressMessage} progress=${{ doing: "reading the spot" }} />`;
  }
  const name = `${query.get("s")} ${query.get("spot")}`;
  if (!solve || problem) {
    return html`<${SpotEditor} key=${name} initialSpot=${spot} problem=${problem} />`;
  }
  return html`<${SpotSolution} key=${`${name} ${solve}`} spot=${spot} />`;
}
