"""Measure the time from an answer of the server to the drawn page, in a real browser.

python -m benchmarks.studio.draw_times [PATH...]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from tests.studio.browser import Browser
from tests.studio.conftest import Studio

PATHS = (
    "/trace?t=3&infoset=4",
    "/trace?game=leduc_poker&algorithm=dcfr&t=50&infoset=30",
    "/trace?learner=regret_matching&t=200",
)
REPEATS = 9
SCRIPT = """
const done = arguments[arguments.length - 1];
const ask = window.originalFetch || window.fetch;
window.originalFetch = ask;
window.fetch = async (...request) => {
  const answer = await ask(...request);
  if (!String(request[0]).includes("/api/trace")) return answer;
  const read = answer.json.bind(answer);
  answer.json = async () => {
    const content = await read();
    const start = performance.now();
    if (answer.status === 200)
      requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
    return content;
  };
  return answer;
};
[...document.querySelectorAll("button")].find(e => /Forward/.test(e.textContent)).click();
"""


def main() -> None:
    """Print the median and the largest time of stepping forward on each page."""
    with tempfile.TemporaryDirectory() as folder:
        studio = Studio(Path(folder) / "runs", Path(folder) / "state")
        browser = Browser()
        try:
            for path in sys.argv[1:] or PATHS:
                browser.open(studio, path)
                browser.see(".equations")
                browser.settle()
                times = [browser.driver.execute_async_script(SCRIPT) for _ in range(REPEATS)]
                print(f"{path}: {median(times):.0f} ms, at most {max(times):.0f} ms")
        finally:
            browser.driver.quit()
            studio.end()


if __name__ == "__main__":
    main()
