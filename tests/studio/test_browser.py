"""The pages as people use them: clicked, typed and looked at in a real browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from pathlib import Path
from urllib.parse import quote

import pytest

import counterplay as cp
from counterplay.experiment import run
from counterplay.experiment.metrics import load_metrics
from counterplay.experiment.run_status import read_status
from counterplay.studio.server.http_server import write_opening_page
from tests.core.test_trust import CODE
from tests.experiment.conftest import config
from tests.studio.browser import Browser, Keys
from tests.studio.conftest import Studio, free_port, wait_until

pytestmark = pytest.mark.browser

KUHN = "kuhn/20260101T000000Z"
PHONE_WIDTH = 390  # pixels
PUSH = [{"bet": "a", "raise": "a"}] * 2
RIVER = {"board": "2s3h4d6c7c", "ranges": ["AK,QQ,JTs", "KK,A5s"], "pot": 20, "stacks": [10, 10]}
RIVER["sizes"] = {"river": PUSH}
POLICY = f"run:{KUHN}@average"
SAMPLED = "&".join(f"r=sampled/20260101T00000{seed}Z" for seed in range(3))
PAGES = {
    "runs": "/",
    "run": f"/runs/{KUHN}",
    "damaged": "/runs/hurt/20260101T000000Z",
    "compare": f"/compare?r={KUHN}&{SAMPLED}",
    "new": "/new",
    "games": "/games",
    "game": "/games/leduc_poker",
    "wide": "/explore?game=kuhn_poker(num_cards=150)&policy=uniform",
    "grid": f"/explore?policy={POLICY}&node=4",
    "leaks": f"/explore?policy={POLICY}&tab=leaks",
    "drawing": f"/explore?policy={POLICY}&tab=drawing",
    "overview": f"/explore?policy={POLICY}&tab=overview",
    "play": f"/play?policy={POLICY}",
    "leduc": "/explore?game=leduc_poker&policy=solve:cfr_plus@100&infoset=500",
    "matrix": "/matrix?game=chicken",
    "learners": "/matrix?game=rock_paper_scissors&learner=regret_matching",
    "population": "/runs/pool/20260101T000000Z",
    "lock": f"/explore?policy={POLICY}&node=4&lock=0:0,1",
    "spots": "/spots",
    "spot": f"/spots?s={quote(json.dumps(RIVER))}&solve=2&cell=AKs",
    "nothing": "/nowhere",
}


@pytest.fixture(scope="module")
def browser():
    made = Browser()
    yield made
    made.driver.quit()


@pytest.fixture(autouse=True)
def _quiet(request):
    """Assert that the console has no errors and no violations of the security policy."""
    yield
    if "browser" in request.fixturenames:
        lines = request.getfixturevalue("browser").complaints()
        if request.node.get_closest_marker("noisy"):
            return
        assert [line for line in lines if "net::ERR" not in line] == []  # a studio was ended


def test_the_first_five_minutes(browser, fresh):
    """From an empty folder to a curve, a policy and an episode, by clicks alone."""
    made = fresh()
    browser.open(made)
    browser.see("h1", "No runs yet")
    assert "token" not in browser.driver.current_url
    browser.click(".cards button", "Start")
    browser.until(lambda: browser.path.startswith("/runs/kuhn/"), "the run")
    browser.see(".state", "finished")
    browser.see(".u-wrap canvas")
    browser.see(".facts dd", "20,000")
    browser.click("summary", "Data as a table")
    assert len(browser.until(lambda: browser.all(".data-table tbody tr"))) > 5
    browser.click(".actions a", "Explore")
    browser.see(".grid tbody tr")
    browser.keys("1")  # chance deals the jack, and so on
    browser.see(".path [aria-current]", "deal 0")
    browser.keys("1")
    browser.see(".infoset", "Jack")
    browser.click(".infoset a", "Play against it")
    browser.click("form button", "Play")
    while decide(browser):
        pass
    assert re.search("You win|You lose|A draw", browser.main.text)
    assert re.search("no regret|regret [0-9]", browser.main.text)
    browser.keys("n")
    browser.see(".head", "episode 2")


def decide(browser):
    """Take the first action, if the episode goes on; whether it did."""
    found = browser.until(lambda: browser.all(".choice:enabled, .play-card table"), "a decision")
    if found[0].tag_name == "table":
        return False
    before = len(browser.all(".decisions li"))
    browser.click(".choice", "")
    browser.until(lambda: len(browser.all(".decisions li")) > before, "what it was worth")
    return True


def test_start_stop_and_resume(browser, fresh):
    made = fresh()
    browser.open(made, "/new")
    field = browser.until(lambda: browser.all("textarea"))[0]
    whole = {"name": "long", "algorithm": "cfr", "game": "leduc_poker", "spec": {"max_steps": -1}}
    browser.until(lambda: field.get_attribute("value"), "the blank config")
    field.send_keys(Keys.CONTROL, "a")  # clear() tells the page nothing, which may write it again
    field.send_keys(json.dumps(whole))
    browser.see(".problem", "spec.max_steps is -1, must be at least 1")
    label = browser.see("label.wrong", "max steps")
    box = label.find_element("css selector", "input")
    box.send_keys(Keys.BACKSPACE * 4 + "100000000")
    browser.wait_until_absent("form .problem")
    browser.click("form button.primary", "Start")
    browser.until(lambda: browser.path.startswith("/runs/long/"), "the run")
    browser.see(".state", "running")
    browser.see(".u-wrap canvas")
    steps = browser.see(".facts dd").text
    browser.until(lambda: browser.see(".facts dd").text != steps, "another step")
    browser.click(".actions button", "Stop")
    browser.see(".head .state", "stopped")
    folder = made.root / browser.path.removeprefix("/runs/")
    assert read_status(folder).state == "stopped" and (folder / "checkpoint.npz").exists()
    browser.click(".actions button", "Resume")
    browser.see(".head .state", "running")
    browser.click(".actions button", "Stop")
    browser.see(".head .state", "stopped")


def test_late_answers_do_not_count(browser, studio):
    """The verdict on a config that was changed meanwhile comes after that on the last one."""
    browser.open(studio, "/new")
    field = browser.until(lambda: browser.all("textarea"))[0]
    browser.until(lambda: field.get_attribute("value"), "the blank config")
    browser.driver.execute_script("""
        const ask = window.fetch;
        window.fetch = async (...request) => {
          const answer = await ask(...request);
          if (String(request[0]).includes("/api/check") && !window.release) {
            await new Promise(done => { window.release = done; });
          }
          return answer;
        };""")
    field.send_keys(" ")
    browser.until(lambda: browser.driver.execute_script("return !!window.release"), "a question")
    whole = {"name": "x", "algorithm": "cfr", "game": "leduc_poker", "spec": {"max_steps": -1}}
    paste = """
        arguments[0].value = arguments[1];
        arguments[0].dispatchEvent(new Event("input", {bubbles: true}));"""
    browser.driver.execute_script(paste, field, json.dumps(whole))
    browser.see(".problem", "spec.max_steps is -1")
    browser.driver.execute_async_script("""
        const frames = n => (n ? requestAnimationFrame(() => frames(n - 1)) : arguments[0]());
        window.release();
        setTimeout(() => frames(3));""")
    assert browser.all("label.wrong") and not browser.all("form button.primary:enabled")


def test_a_late_list_undoes_nothing(browser, fresh):
    """The state from an event stays when an older list arrives after it."""
    made = fresh()
    run(config(max_steps=10) | {"name": "first"}, made.root / "first" / "1")
    browser.open(made, "/")
    browser.see("tbody.runs tr", "first")
    browser.driver.execute_script("""
        const ask = window.fetch;
        window.fetch = async (...request) => {
          const answer = await ask(...request);
          if (request[0] === "/api/runs" && !window.release) {
            await new Promise(done => { window.release = done; });
          }
          return answer;
        };
        document.dispatchEvent(new Event("visibilitychange"));""")
    browser.until(lambda: browser.driver.execute_script("return !!window.release"), "a question")
    run(config(max_steps=10) | {"name": "second"}, made.root / "second" / "1")
    browser.see("tbody.runs tr", "second")
    browser.driver.execute_async_script("window.release(); setTimeout(arguments[0], 300);")
    assert len(browser.all("tbody.runs tr")) == 2


def test_compare_three(browser, studio):
    browser.open(studio, "/?q=sampled")
    browser.until(lambda: len(browser.all("tbody.runs tr")) == 3)
    for row in range(3):
        browser.keys("j")
        browser.keys("x")
        browser.see(".toolbar", f"{row + 1} selected")
    browser.keys("c")
    browser.see("h1", "Compare")
    browser.see(".card tbody tr", "3")
    browser.see(".u-wrap canvas")
    assert browser.see(".legend", "sampled, 3 runs")
    browser.see("th", "spec.seed")
    assert len(browser.all(".picker input:checked")) == 3


def test_drop_a_game(browser, studio, tmp_path):
    cp.save_game(cp.load_game("kuhn_poker"), tmp_path / "mine.efg")
    browser.open(studio, "/games")
    browser.see(".card h3", "kuhn poker")
    drop = """
        const files = new DataTransfer();
        files.items.add(new File([arguments[0]], arguments[1]));
        document.querySelector(".drop").dispatchEvent(
            new DragEvent("drop", {dataTransfer: files, bubbles: true, cancelable: true}));
    """
    browser.driver.execute_script(drop, "EFG 2 R nonsense", "broken.efg")
    browser.see(".drop .problem", "broken.efg")
    browser.complaints()  # the refusal is one, and was seen
    browser.driver.execute_script(drop, (tmp_path / "mine.efg").read_text(), "mine.efg")
    browser.see("h1", "mine.efg")
    browser.see("p", "nodes")
    browser.click(".actions a", "Explore")
    browser.see(".facts", "58")


@pytest.mark.noisy
def test_the_connection_breaks(browser, tmp_path, runs_folder):
    """The page says so, keeps what it has, and catches up by itself."""
    port = str(free_port())
    made = Studio(runs_folder, tmp_path / "state", "--port", port)
    browser.open(made, "/")
    browser.see(".connection", "live")
    made.end()
    browser.see(".connection.lost", "last heard")
    assert browser.see("tbody.runs tr", "kuhn")
    again = Studio(runs_folder, tmp_path / "state", "--port", port)
    try:
        browser.see(".connection", "live")
        browser.click("tbody.runs a", "kuhn")
        browser.see(".u-wrap canvas")
    finally:
        again.end()


@pytest.mark.noisy
def test_a_curve_after_an_outage(browser, fresh):
    """No point is lost and none comes twice; and a folder that is deleted is said to be gone."""
    port = str(free_port())
    made = fresh("--port", port)
    whole = config("cfr", max_steps=10**9, game="leduc_poker", evaluate_every=200)
    made.post("/api/runs", {"config": whole | {"name": "live"}})
    name = next(iter(wait_until(made.runs)))
    browser.open(made, f"/runs/{name}")

    def points():
        found = browser.all(".chart")
        return int(found[0].get_attribute("data-points")) if found else 0

    browser.until(lambda: points() > 3, "a few points")
    made.end(signal.SIGKILL)
    browser.see(".connection.lost", "last heard")
    before = len(load_metrics(made.root / name))
    wait_until(lambda: len(load_metrics(made.root / name)) > before + 3)
    fresh("--port", port)
    browser.until(lambda: points() > before + 3, "what was missed")
    browser.click(".actions button", "Stop")
    browser.see(".head .state", "stopped")
    count = len(load_metrics(made.root / name))
    browser.until(lambda: points() == count, "all points once")
    shutil.rmtree(made.root / name)
    browser.see("p", "This run no longer exists")


@pytest.mark.noisy
def test_without_the_token(browser, fresh):
    made = fresh()
    browser.driver.get(made.url)
    browser.see("h1", "Enter the token")
    browser.see("input").send_keys(f"{made.url}/#token={made.token}")
    browser.click("form button", "Enter")
    browser.see("h1", "No runs yet")


def test_opened_by_the_command(browser, fresh, monkeypatch):
    """The file that the command lets a browser open leads to the page, and holds the token."""
    made = fresh()
    monkeypatch.setenv("XDG_STATE_HOME", str(made.state))
    file = write_opening_page(made.url, made.token)
    assert file.stat().st_mode & 0o777 == 0o600
    browser.driver.get(file.as_uri())
    browser.see("h1", "No runs yet")
    assert browser.driver.current_url == f"{made.url}/"


def test_an_entry_of_another_person_names_its_code_and_waits(browser, fresh, tmp_path):
    """Nothing starts until the button that stands beside the code's name is clicked."""
    code = tmp_path / "theirs.py"
    code.write_text(CODE.format(marker=str(tmp_path / "marker")))
    queue = tmp_path / "runs" / ".studio" / "queue"
    queue.mkdir(parents=True)
    whole = config(max_steps=20, game=f"{code}:Game") | {"name": "planted"}
    (queue / "00000000000000000001-abcdef.json").write_text(json.dumps(whole))
    made = fresh()
    browser.open(made, "/")
    browser.see(".queue code", str(code))
    assert not (tmp_path / "marker").exists()
    browser.click(".queue button", "Trust this code and run")
    wait_until(lambda: [one for one in made.runs().values() if one["state"] == "finished"])
    assert (tmp_path / "marker").exists()


def test_eight_tabs(browser, studio):
    """All show the same, one of them listens, and nothing waits."""
    browser.open(studio, "/")
    first = browser.driver.current_window_handle
    for _ in range(7):
        browser.driver.switch_to.new_window("tab")
        browser.open(studio, "/")
        browser.see("tbody.runs tr", "kuhn")
    wait_until(lambda: studio.get("/api/hello")["listeners"] == 1)
    browser.driver.get(f"{studio.url}/runs/{KUHN}")
    browser.see(".u-wrap canvas")
    for handle in browser.driver.window_handles:
        if handle != first:
            browser.driver.switch_to.window(handle)
            browser.driver.close()
    browser.driver.switch_to.window(first)
    browser.see("tbody.runs tr", "kuhn")


def test_keyboard_shortcuts_work(browser, studio):
    browser.open(studio, "/")
    browser.see("tbody.runs tr")
    browser.keys("?")
    browser.see("dialog", "parent, likeliest child")
    browser.keys(Keys.ESCAPE)
    browser.wait_until_absent("dialog")
    browser.keys("gm")
    browser.see("h1", "Matrix")
    browser.keys("gr")
    browser.see("tbody.runs tr")
    browser.keys("/")
    browser.keys("state:damaged")
    browser.until(lambda: len(browser.all("tbody.runs tr")) == 1)
    browser.until(lambda: browser.path == "/?q=state%3Adamaged", "the address")
    browser.keys(Keys.ESCAPE)
    browser.keys("t")
    look = "return document.documentElement.dataset.theme"
    browser.until(lambda: browser.driver.execute_script(look) == "dark", "the dark theme")
    browser.keys("t", "t")
    browser.open(studio, f"/explore?policy={POLICY}")
    browser.see(".children a", "deal 0")
    browser.keys(Keys.ARROW_RIGHT)
    browser.see(".path [aria-current]", "deal 0")
    browser.keys(Keys.ARROW_DOWN)
    browser.see(".path [aria-current]", "deal 1")
    browser.keys("2")
    browser.until(lambda: len(browser.all(".path li")) == 3)
    browser.keys("i")
    browser.until(lambda: len(browser.all(".path li")) == 3)
    browser.keys(Keys.HOME)
    browser.until(lambda: len(browser.all(".path li")) == 1)


def test_an_infoset_is_locked(browser, studio):
    browser.open(studio, f"/explore?policy={POLICY}&node=4")
    before = browser.see(".facts dd").text
    browser.click(".lock summary", "Lock")
    for box, text in zip(browser.all(".lock input"), ("0", "100"), strict=True):
        box.send_keys(Keys.BACKSPACE * 8 + text)
    browser.click(".lock button", "Lock and solve again")
    browser.see(".notice", "Locked")
    browser.see(".actions-table tbody tr:nth-child(2)", "100 %")
    browser.until(lambda: browser.see(".facts dd").text != before, "another exploitability")
    browser.click(".notice button", "✕")
    browser.until(lambda: browser.see(".facts dd").text == before, "what was there before")


def test_how_long_it_will_take(browser, studio):
    browser.open(studio, "/new?game=kuhn_poker")
    browser.see("form p", "steps a second")


def test_what_is_typed_into_a_matrix(browser, studio):
    browser.open(studio, "/matrix?game=prisoners_dilemma")
    browser.see("h2", "Dominated")
    cell = browser.see(".matrix input")
    assert len(browser.all(".matrix th.dominated")) == 2
    cell.clear()
    cell.send_keys("100\t")
    browser.until(lambda: "m=" in browser.path, "the address to change")
    browser.wait_until_absent(".working")
    browser.until(lambda: browser.all(".matrix input")[0].get_attribute("value") == "100")


def findings(browser, rules):
    """Serious findings of axe-core on the current page."""
    found = browser.driver.execute_async_script(
        "axe.run({resultTypes: ['violations'], ...arguments[0]}).then(arguments[1])", rules
    )
    return [
        (one["id"], one["nodes"][0]["html"][:200], one["nodes"][0]["failureSummary"][:300])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def test_every_page_is_accessible(browser, studio):
    """No serious finding of axe-core in either theme, few elements, no scrolling sideways."""
    from axe_core_python import selenium as axe

    bundled = Path(axe.__file__).parent / "axe.min.js"
    script = Path(os.environ.get("COUNTERPLAY_AXE", bundled)).read_text()
    browser.open(studio, "/")
    bad = {}
    try:
        for name, path in PAGES.items():
            browser.driver.get(f"{studio.url}{path}")
            browser.see("h1")
            browser.settle()
            assert browser.count() < 1500, name
            browser.driver.execute_script(script)
            for theme in ("light", "dark"):  # colours are all that a theme changes
                browser.theme(theme)
                rules = {"runOnly": ["color-contrast"]} if theme == "dark" else {}
                bad[name, theme] = findings(browser, rules)
                picture(browser, f"{name}-{theme}")
            browser.theme("light")
            browser.set_width(PHONE_WIDTH)
            browser.until(lambda: browser.beyond() <= 0, f"{name} within {PHONE_WIDTH} pixels")
            picture(browser, f"{name}-phone")
            if name == "runs":
                assert_visible_on_phone(browser, "td .state")
                assert_visible_on_phone(browser, "td.num[title]:not(.roomy)")
            if name in ("spot", "spots"):  # all thirteen columns
                assert_visible_on_phone(browser, ".hands tr:first-child td")
                grids = 2 if name == "spots" else 1
                assert len(browser.all(".hands tr:first-child td")) == 13 * grids
            browser.set_width()
        assert {page: found for page, found in bad.items() if found} == {}
        for name in ("runs", "run", "compare", "new", "leduc", "matrix", "spot", "population"):
            browser.driver.get(f"{studio.url}{PAGES[name]}")
            browser.see("h1")
            browser.settle()
            for width in (420, 800, 1600):
                browser.driver.set_window_size(width, 900)
                browser.until(lambda: browser.beyond() <= 0, f"{name} within {width} pixels")
                picture(browser, f"{name}-{width}")
    finally:
        browser.set_width()
        browser.driver.set_window_size(1280, 900)
        browser.theme("light")


def assert_visible_on_phone(browser, css):
    """All elements are laid out, and inside the window."""
    script = "return arguments[0].map(e => e.getBoundingClientRect()).map(r => [r.width, r.right])"
    boxes = browser.driver.execute_script(script, browser.all(css))
    assert boxes and all(width > 0 and right <= PHONE_WIDTH for width, right in boxes), boxes


JUNK = ["x", "{", "[]", '{"board":"x"}', '{"ranges":5,"sizes":{"river":1}}', "null", "-1", "[[[[["]


ADDRESSES = [
    "/spots?s={}",
    "/spots?s={}&solve=1",
    "/explore?game=kuhn_poker&node={}",
    "/explore?policy={}",
    "/play?game={}",
    "/play?play={}",
    "/matrix?game={}",
    "/matrix?game=chicken&learner={}",
    "/trace?game={}&t={}",
    "/trace?learner=hedge&m={}&initial={}",
    "/new?from={}",
    "/new?game={}",
    "/games/{}",
    "/runs/{}",
    "/compare?r={}",
    "/?sort={}&page={}",
]


@pytest.mark.parametrize("page", ADDRESSES)
@pytest.mark.noisy  # refused requests are in the console
def test_no_address_is_a_blank_page(browser, studio, page):
    browser.open(studio, "/")
    for junk in JUNK:
        browser.driver.get(f"{studio.url}{page.format(quote(junk), quote(junk))}")
        browser.until(lambda: browser.all("main h1, main .problem"), f"{page} with {junk}")
        browser.settle()
        assert "failed to render" not in browser.main.text, (page, junk, browser.main.text)


@pytest.mark.noisy  # so are those with a wrong token
def test_a_token_pasted_into_the_same_tab(browser, fresh):
    made = fresh()
    for place in ("#token=", "?token="):
        browser.open(made)
        browser.see("h1", "No runs yet")
        browser.driver.get(f"{made.url}/#token=wrong")
        browser.see("h1", "Enter the token")
        browser.driver.get(f"{made.url}/{place}{made.token}")
        browser.see("h1", "No runs yet")
        assert "token" not in browser.driver.current_url


def test_games_offer_what_works(browser, studio):
    browser.open(studio, "/games")
    browser.see(".card", "Solve by sampling")
    cards = {e.text.split("\n")[0]: e.text for e in browser.all(".card")}
    assert "Explore" in cards["kuhn poker"] and "Solve" in cards["kuhn poker"]
    assert "Explore" not in cards["kriegspiel"] and "do not fit" in cards["kriegspiel"]
    assert "Explore" not in cards["matrix game"] and "payoffs" in cards["matrix game"]
    browser.driver.get(f"{studio.url}/games/kriegspiel")
    browser.click(".game-links a", "Solve by sampling")
    browser.see("h1", "New run")
    browser.until(lambda: "outcome_sampling" in browser.all("textarea")[0].get_attribute("value"))
    browser.until(lambda: browser.all("button.primary.large:not([disabled])"), "a config to start")


def test_pictures_for_the_docs(browser, tmp_path, fresh):
    """The screenshots of docs/studio.md, made anew when there is a folder for them."""
    root = tmp_path / "runs"
    leduc = {"game": "leduc_poker", "evaluate_every": 10, "checkpoint_every": 10**6}
    for name in ("cfr_plus", "cfr", "dcfr"):
        whole = config(name, max_steps=1000, **leduc) | {"name": name}
        run(whole, root / name / "20260101T120000Z")
    for seed in range(3):
        steps = leduc | {"evaluate_every": 100}
        whole = config("external_sampling", max_steps=10_000, seed=seed, **steps)
        run(whole | {"name": "sampled"}, root / "sampled" / f"20260101T12000{seed}Z")
    made = fresh(root=root)
    policy = "policy=run:cfr_plus/20260101T120000Z@average"
    compared = [f"{name}/20260101T120000Z" for name in ("cfr_plus", "cfr", "dcfr")]
    compared += [f"sampled/20260101T12000{seed}Z" for seed in range(3)]
    pages = {
        "runs": "/",
        "run": "/runs/cfr_plus/20260101T120000Z",
        "explore": f"/explore?{policy}&infoset=700",
        "leaks": f"/explore?{policy}&tab=leaks",
        "drawing": f"/explore?{policy}&tab=drawing&node=20",
        "compare": "/compare?" + "&".join(f"r={name}" for name in compared),
    }
    browser.open(made)
    for name, path in pages.items():
        browser.theme("dark" if name in ("explore", "drawing") else "light")
        browser.driver.get(f"{made.url}{path}")
        browser.settle()
        words = {"runs": "sampled", "compare": "sampled"}
        browser.see("main", words.get(name, "cfr_plus"))
        picture(browser, name, "COUNTERPLAY_DOCS")
    browser.theme("light")
    browser.driver.get(f"{made.url}/play?{policy}")
    browser.click("form button", "Play")
    browser.click(".choice", "check")
    browser.until(lambda: browser.all(".decisions li"), "a decision")
    if browser.all(".choice"):
        browser.keys("h")
        browser.see(".choice small", "%")
    picture(browser, "play", "COUNTERPLAY_DOCS")


def picture(browser, name, place="COUNTERPLAY_SCREENSHOTS"):
    """Keep a screenshot, if the environment names a folder for them."""
    folder = os.environ.get(place)
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        browser.driver.save_screenshot(str(Path(folder) / f"{name}.png"))
