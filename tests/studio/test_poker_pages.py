"""The poker pages as players use them: ranges painted, spots solved, drills, reviews."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from selenium.webdriver import ActionChains

from counterplay.arenas.holdem.hand_ranges import Range, grid_cell
from counterplay.arenas.holdem.inspection import inspect_node
from counterplay.arenas.holdem.solution import load_solution
from counterplay.play.spot_drill import DrillProgress
from tests.interop.test_hand_history import DWAN_IVEY
from tests.studio.browser import Browser, Keys
from tests.studio.conftest import wait_until
from tests.studio.test_browser import findings, picture

pytestmark = pytest.mark.browser

MAX_CLICKS = 25
SIZES = [{"bet": "50%", "raise": "a"}] * 2
TURN = {
    "board": "Td9d6h2c",
    "ranges": ["QQ+,AKs,T9s,87s,ATs", "JJ-66,AQs,KQs,JTs"],
    "pot": 60,
    "stacks": [150, 150],
    "sizes": {"turn": SIZES, "river": SIZES},
}
ALL_IN_SIZES = [{"bet": "a", "raise": ""}] * 2
FLOP = TURN | {"board": "Td9d6h", "ranges": ["QQ+", "JJ-TT"], "stacks": [60, 60]}
FLOP["sizes"] = dict.fromkeys(("flop", "turn", "river"), ALL_IN_SIZES)
WIDE = TURN | {"ranges": ["random", "random"]}
TWO_SIZES = [{"bet": "40%,a", "raise": "50%,a"}] * 2
LONG = WIDE | {"stacks": [600, 600], "sizes": {"turn": TWO_SIZES, "river": TWO_SIZES}}  # minutes


def address(spot, target="1", **more):
    query = "".join(f"&{name}={quote(str(value))}" for name, value in more.items())
    return f"/spots?s={quote(json.dumps(spot))}&solve={target}{query}"


@pytest.fixture(scope="module")
def browser():
    made = Browser(1280, 1000)
    yield made
    made.driver.quit()


@pytest.fixture(autouse=True)
def _quiet(request):
    """Assert that the console has no errors and no violations of the security policy."""
    yield
    if "browser" in request.fixturenames:
        lines = request.getfixturevalue("browser").complaints()
        if not request.node.get_closest_marker("noisy"):
            assert [line for line in lines if "net::ERR" not in line] == []


class Person:
    """A person with a mouse: counts clicks and strokes."""

    def __init__(self, browser):
        self.browser, self.clicks = browser, 0

    def click(self, css, text=""):
        self.browser.click(css, text)
        self.clicks += 1

    def cell(self, label, name):
        """Return a cell, scrolled out from below the navigation."""
        css = f'section[aria-label="Range of {label}"] td[data-name="{name}"]'
        cell = self.browser.until(lambda: next(iter(self.browser.all(css)), None), css)
        script = "arguments[0].scrollIntoView({block: 'center'})"
        self.browser.driver.execute_script(script, cell)
        return cell

    def drag(self, label, *names):
        """Press on the first cell, move over the others, release: one stroke."""
        cells = [self.cell(label, name) for name in reversed(names)][::-1]
        chain = ActionChains(self.browser.driver, duration=20).move_to_element(cells[0])
        chain.click_and_hold()
        for cell in cells[1:]:
            chain.move_to_element(cell)
        chain.release().perform()
        self.clicks += 1

    def text(self, label):
        box = self.browser.all(f'textarea[aria-label="Range of {label} as text"]')[0]
        return box.get_attribute("value")


def weights_on_grid(browser, label):
    """Weights by cell as the grid says them."""
    css = f'section[aria-label="Range of {label}"] td'
    script = "return arguments[0].map(e => [e.dataset.name, e.style.getPropertyValue('--part')])"
    cells = browser.driver.execute_script(script, browser.all(css))
    return {name: float(part.removesuffix("%")) / 100 for name, part in cells}


def test_a_new_user_finds_the_ev_of_a_hand(browser, fresh):
    """From the empty page to the EV of kings on a flop, with painted ranges, by few clicks."""
    made = fresh()
    browser.open(made, "/")
    person = Person(browser)
    person.click("nav a", "Spots")
    browser.see("div[role=status] p", "infosets")
    for label in ("OOP", "IP"):
        person.click(f'[aria-label="Classes of hands for {label}"] button', "clear")
    person.drag("OOP", "AA", "KK", "QQ")
    person.drag("OOP", "AKs", "AQs")
    person.drag("IP", "JJ", "TT", "99")
    person.drag("IP", "AJs", "ATs")
    person.click("button", "Clear board")
    for card in ("T♦", "7♠", "2♣"):
        person.click(".deck button", card)
    browser.until(lambda: person.text("OOP") == "QQ+,AQs+", "the text of the range")
    browser.until(lambda: person.text("IP") == "JJ-99,AJs-ATs", "the text of the range")
    for street in ("flop", "turn", "river"):  # small sizes, so that the test is quick
        person.click(f'button[aria-label="Remove a from bets on the {street}"]')
        person.click(f'button[aria-label="Remove 60% from raises on the {street}"]')
    person.click('section[aria-label="Board, pot and stacks"] label', "stack")
    browser.keys(Keys.BACKSPACE * 4 + "150")
    browser.see("div[role=status] p", "OOP 26 combos")
    picture(browser, "editor", "COUNTERPLAY_SCREENSHOTS")
    browser.until(lambda: browser.all("button.primary.large:not([disabled])"), "an estimate")
    person.click("button.primary.large", "Solve")
    browser.until(lambda: len(browser.all(".hands td")) == 169, "the grid")
    person.click(".hand", "KK")
    browser.see("h2", "Combos of KK")
    row = browser.see(".hand-table tbody tr", "KsKh").text
    assert person.clicks <= MAX_CLICKS, person.clicks
    recent = list((made.root / ".studio" / "solutions" / "recent").glob("*.cps"))
    view = inspect_node(load_solution(recent[0]).policy)
    value = view.value[view.hands.index("KsKh")]
    assert f"{value:.3g}" in row.split() or f"{value:.2f}"[:4] in row, (value, row)


def test_a_painted_range_round_trips_to_text(browser, studio):
    browser.open(studio, "/spots")
    browser.see("div[role=status] p", "infosets")
    person = Person(browser)
    person.click('[aria-label="Classes of hands for OOP"] button', "clear")
    person.click('[aria-label="Brush for OOP"] button', "50 %")
    person.drag("OOP", "A5s", "A4s", "A3s", "A2s")
    person.click('[aria-label="Brush for OOP"] button', "100 %")
    keys = ActionChains(browser.driver).key_down(Keys.SHIFT)
    keys.click(person.cell("OOP", "88")).click(person.cell("OOP", "KTs")).key_up(Keys.SHIFT)
    keys.perform()
    person.click('[aria-label="Classes of hands for OOP"] button', "suited connectors")
    person.cell("OOP", "AQo").click()
    browser.until(lambda: "AQo" in person.text("OOP"), "the painted cell")
    person.click('[aria-label="Combos of AQo for OOP"] button', "♠♥")
    browser.until(lambda: "AsQd" in person.text("OOP"), "single combos")
    text = person.text("OOP")
    painted = Range.parse(text).weights
    cells = [grid_cell(row, column) for row in range(13) for column in range(13)]
    expected = {name: painted[hands].mean() for name, hands in cells}
    assert weights_on_grid(browser, "OOP") == pytest.approx(expected)
    assert {name for name, part in expected.items() if part == 0.5} == {"A5s", "A4s", "A3s", "A2s"}
    assert expected["88"] == expected["KQs"] == expected["32s"] == 1.0
    assert expected["77"] == 0.0 and 0.0 < expected["AQo"] < 1.0
    box = browser.all('textarea[aria-label="Range of IP as text"]')[0]
    box.clear()
    box.send_keys(text)  # typed into the other range, it paints the same grid
    browser.until(lambda: weights_on_grid(browser, "IP") == pytest.approx(expected), "the grid")
    box.send_keys(",jump")
    browser.see("p.problem", "cannot read")
    box.send_keys(Keys.BACKSPACE * 5)
    browser.wait_until_absent("p.problem")


def test_random_ranges_round_trip_through_the_server(studio):
    rng = np.random.default_rng(4)
    for _ in range(20):
        weights = rng.choice([0.0, 0.25, 1.0], 1326, p=[0.7, 0.1, 0.2])
        text = studio.post("/api/range", {"weights": weights.tolist()})["text"]
        assert studio.post("/api/range", {"text": text})["weights"] == weights.tolist()
    assert studio.post("/api/range", {"text": ""})["combos"] == 0
    assert "position 4" in studio.post("/api/range", {"text": "AA,jump"})["problem"]
    for wrong in ([1], [2] * 1326, ["1"] * 1326, "AA"):
        assert studio.ask("POST", "/api/range", {"weights": wrong})[0] == 422


@pytest.mark.noisy  # refused requests are in the console
def test_ranges_spots_and_solutions_are_files(browser, fresh):
    """Saved under a name, listed, opened, compared, removed."""
    made = fresh()
    library = made.root / ".studio"
    browser.open(made, "/spots")
    browser.see("div[role=status] p", "infosets")
    browser.click(".library summary", "Saved ranges")
    box = browser.see('input[aria-label="Name for the range of OOP"]')
    box.send_keys("river OOP")
    browser.click("button", "Save range")
    browser.see(".library button", "river OOP")
    assert Range.parse((library / "ranges" / "river OOP.txt").read_text()).num_combos > 0
    browser.see('input[aria-label="Name of this spot"]').send_keys("my spot")
    browser.click("button", "Save spot")
    browser.see("section button", "my spot")
    assert json.loads((library / "spots" / "my spot.json").read_text())["pot"] == 200
    for name, pot in (("first", 60), ("second", 90)):
        browser.driver.get(f"{made.url}{address(TURN | {'pot': pot})}")
        browser.see("h2", "Actions")
        browser.see('input[aria-label="Name of the solution"]').send_keys(name)
        browser.click("button", "Save solution")
        browser.see(".toolbar [role=status]", "Saved as")
        assert load_solution(library / "solutions" / f"{name}.cps").spot.pot == pot
    browser.driver.get(f"{made.url}/spots?file=first")
    browser.see("h2", "Actions")
    browser.click(".toolbar select option", "second")
    browser.see(".problem", "other hands or actions")  # bets differ with the pot
    browser.driver.get(f"{made.url}{address(TURN, '0.3')}&versus=first")
    browser.see(".notice", "Compared with first")
    browser.click(".tabs button", "EV difference")
    browser.see(".hand.heat")
    browser.driver.get(f"{made.url}/spots")
    browser.click('button[aria-label="Remove second"]')
    wait_until(lambda: not (library / "solutions" / "second.cps").exists())
    assert made.ask("POST", "/api/library/ranges", {"name": "../x", "text": "AA"})[0] == 422
    assert made.ask("POST", "/api/library/nothing", {"name": "x", "text": "AA"})[0] == 404
    assert made.ask("DELETE", "/api/library/ranges/..%2fx")[0] == 404


def test_lines_hands_and_runouts(browser, studio):
    browser.open(studio, address(TURN))
    browser.see("h2", "Actions")
    browser.click(".hand-table th button", "equity")
    equities = [
        float(cell.get_attribute("title")) for cell in browser.all(".hand-table td:nth-child(6)")
    ]
    assert equities == sorted(equities, reverse=True) and len(equities) == 30
    browser.click(".toolbar select option", "straight")
    browser.until(lambda: "straight" in browser.see(".hand-table tbody tr").text)
    assert len(browser.all(".hand-table tbody tr")) == 4  # 87s
    browser.click(".toolbar select option", "all")
    browser.see('.toolbar input[placeholder="Ah or K"]').send_keys("Ad")
    browser.until(lambda: all("Ad" in r.text for r in browser.all(".hand-table tbody tr")))
    browser.click(".decision.current .line-action", "check")
    browser.see(".decision.current", "IP")
    browser.click(".decision.current .line-action", "bet 30")
    browser.see("p", "pot odds 25 %")
    browser.click(".decision.current .line-action", "call")
    browser.see("summary", "48 cards as a table")
    picture(browser, "runouts", "COUNTERPLAY_SCREENSHOTS")
    browser.click(".tabs button", "OOP bets")
    browser.click(".deck button", "Q♥")
    browser.see(".decision.current", "OOP")
    browser.keys(Keys.BACKSPACE)
    browser.see("h2", "Next card")
    browser.keys(Keys.HOME)
    browser.see(".decision.current", "OOP")


def test_locks_by_brush_and_over_folds(browser, studio):
    browser.open(studio, address(TURN))
    before = float(browser.see(".facts dd[title]").get_attribute("title"))
    browser.click(".lock summary", "Lock hands")
    browser.click(".hand", "AA")
    browser.click(".hand", "KK")
    browser.click("button.primary", "Lock 2 cells")
    browser.see(".notice", "Locked: start @ AA,KK = check 1")
    browser.until(lambda: "check 100 %" in cell_label(browser, "AA"), "the locked hands")
    assert before > 0
    browser.click(".notice button", "Remove")
    browser.until(lambda: not browser.all(".notice"), "no locks")
    browser.click(".lock summary", "over-folds")
    browser.click("button", "Lock and solve again")
    notice = browser.see(".notice", "IP folds 10 points more often").text
    assert "EV of OOP +" in notice and "of IP \N{MINUS SIGN}" in notice


def cell_label(browser, name):
    cells = browser.all(f'td[data-name="{name}"]')
    return cells[0].get_attribute("aria-label") if cells else ""


def test_a_solve_is_stopped_and_goes_on_in_two_tabs(browser, fresh):
    """Stopping keeps the solution so far; closing the tab and another tab lose nothing."""
    made = fresh()
    path = address(LONG, "0.01")
    browser.open(made, path)
    browser.see(".working dd", "% of the pot")
    first = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("tab")
    browser.driver.get(f"{made.url}{path}")
    browser.see(".working dd", "% of the pot")  # the same solve
    assert len(made.children()) <= 3
    browser.driver.close()  # in the middle of the solve
    browser.driver.switch_to.window(first)
    before = iterations(browser)
    browser.until(lambda: iterations(browser) > before, "more iterations")
    browser.click(".working button", "Stop")
    browser.see("dt", "Stopped after")
    stopped = made.post("/api/spot/node", {"spot": LONG, "target": 0.01, "record": ""})["facts"]
    assert stopped["stopped"] and stopped["iterations"] >= 10
    browser.click("button.primary", "Go on solving")
    browser.until(lambda: iterations(browser) > stopped["iterations"], "more iterations")
    browser.click(".working button", "Stop")
    browser.see("dt", "Stopped after")
    made.post("/api/spot/end", {"spot": LONG, "target": 0.01})


def iterations(browser):
    text = next((e.text for e in browser.all(".working p[role=status]")), "")
    digits = "".join(letter for letter in text if letter.isdigit())
    return int(digits or 0)


def test_a_solution_survives_the_studio(fresh, tmp_path):
    """A solved spot is answered from its file after a restart."""
    made = fresh()
    facts = made.post("/api/spot/node", {"spot": TURN, "target": 1, "record": ""})["facts"]
    made.end()
    again = fresh()
    stored = again.post("/api/spot/node", {"spot": TURN, "target": 1, "record": ""})["facts"]
    assert stored["seconds"] == 0.0 and stored["iterations"] == facts["iterations"]
    assert stored["values"] == facts["values"]
    better = again.post("/api/spot/end", {"spot": TURN, "target": 1})
    assert better == {"closed": True}
    solved = again.post("/api/spot/node", {"spot": TURN, "target": 0.5, "record": ""})["facts"]
    assert solved["percent"] <= 0.5 and solved["seconds"] > 0.0


def test_bad_spots_get_one_sentence(browser, studio):
    browser.open(studio, "/spots")
    browser.see("div[role=status] p", "infosets")
    box = browser.all('textarea[aria-label="Range of OOP as text"]')[0]
    box.clear()
    box.send_keys("TdTh,9d9s")  # all of it on the board
    problem = browser.see(".problem", "holds a card of the board").text
    assert problem.count("\n") == 0 and not browser.all("button.primary.large:not([disabled])")
    box.clear()
    box.send_keys("TdTh,9d9s,QhQs")
    browser.see("p.small", "2 of 3 combos of OOP hold a card")
    sizes = "20% 33% 50% 75% 100% 150% a"
    large = WIDE | {"board": "Td9d6h", "pot": 10, "stacks": [20000, 20000]}
    large["sizes"] = {
        street: [{"bet": sizes, "raise": sizes}] * 2 for street in ("flop", "turn", "river")
    }
    found = studio.post("/api/spot", {"spot": large, "estimate": True})
    assert "offer fewer sizes" in found["problem"]
    heavy = WIDE | {"board": "Td9d6h", "stacks": [3000, 3000]}
    heavy["sizes"] = {
        street: [{"bet": "33% 75%", "raise": "60% a"}] * 2 for street in ("flop", "turn", "river")
    }
    found = studio.post("/api/spot", {"spot": heavy, "estimate": True})
    if not found["fits"]:
        assert found["cuts"] and all(cut["bytes"] < found["bytes"] for cut in found["cuts"])
        assert studio.ask("POST", "/api/spot", {"spot": heavy})[0] == 422
    status, answer = studio.ask("POST", "/api/spot/node", {"spot": TURN, "record": "jump"})
    assert status == 422 and "there is no 'jump' here" in answer["error"]["message"]


def test_a_long_range_fits_no_address_and_is_stored(browser, fresh):
    made = fresh()
    rng = np.random.default_rng(2)
    weights = np.round(rng.random(1326), 2)
    text = made.post("/api/range", {"weights": weights.tolist()})["text"]
    (made.root / ".studio" / "spots").mkdir(parents=True)
    spot = TURN | {"board": "Td9d6h2c3c", "ranges": [text, "KK,A5s"], "sizes": {"river": SIZES}}
    (made.root / ".studio" / "spots" / "long.json").write_text(json.dumps(spot))
    browser.open(made, "/spots?spot=long")
    browser.see("div[role=status] p", "infosets")
    browser.until(lambda: browser.all("button.primary.large:not([disabled])"), "an estimate")
    browser.click("button.primary.large", "Solve")
    browser.see("h2", "Actions")
    assert len(browser.path) < 200
    browser.driver.refresh()
    browser.see("h2", "Actions")


def test_drills_by_keyboard(browser, fresh, tmp_path):
    """Questions are answered and continued without a mouse; answers are in the user's file."""
    made = fresh()
    browser.open(made, address(TURN).replace("/spots", "/train"))
    browser.see(".drill-hand")
    for number in range(1, 4):
        browser.until(lambda: browser.all(".choice:not([disabled])"), "a question")
        browser.keys("1")
        browser.see(".drill-verdict")
        browser.see("p[role=status]", f"This session: {number} answered")
        browser.keys("n")
    progress = DrillProgress.load(made.state / "counterplay" / "drills.jsonl")
    assert len(progress.answers) == 3
    policy = load_solution(
        next((made.root / ".studio" / "solutions" / "recent").glob("*.cps"))
    ).policy
    for answer in progress.answers:
        view = inspect_node(policy, answer.history)
        values = view.action_value[:, view.hands.index(answer.hand)]
        loss = values.max() - values[view.actions.index(answer.action)]
        assert answer.ev_loss == pytest.approx(loss / view.pot, abs=1e-4)
    browser.see("h2", "Statistics")
    browser.see("caption", "By street")
    browser.driver.get(f"{made.url}{address(TURN).replace('/spots', '/train')}&line=check&player=1")
    browser.see("code", "check")
    browser.driver.get(f"{made.url}{address(TURN).replace('/spots', '/train')}&seconds=10")
    browser.see(".drill-hand")
    browser.see(".drill-verdict", "Too late")  # nothing was pressed


def test_a_report_over_flops(browser, fresh):
    """Solved flop by flop, sorted, filtered by texture; kept for the next studio."""
    made = fresh()
    browser.open(made, address(FLOP, "5").replace("/spots", "/report"))
    browser.see('input[placeholder="QsJh2h,Kd7c2s"]').send_keys("Kd7c2s,8h8d3c")
    browser.click("button.primary", "Solve all flops")
    browser.see("h2", "By pairing")
    browser.wait_until_absent(".working")
    browser.click(".hand-table th button", "EV OOP")
    first = browser.see(".hand-table tbody tr").text
    browser.click(".hand-table th button", "EV OOP")
    assert browser.see(".hand-table tbody tr").text != first
    browser.click("th button", "unpaired")
    browser.until(lambda: len(browser.all(".hand-table tbody tr")) == 1, "one unpaired flop")
    kept = list((made.root / ".studio" / "reports").glob("*/flops/*.json"))
    assert sorted(path.stem for path in kept) == ["8h8d3c", "Kd7c2s"]
    values = json.loads(kept[0].read_text())["values"]
    report = made.post("/api/report", {"spot": FLOP, "target": 5, "flops": "Kd7c2s,8h8d3c"})
    assert report["finished"] and values in [row["values"] for row in report["rows"]]
    status, answer = made.ask("POST", "/api/report", {"spot": TURN, "target": 5, "flops": "25"})
    assert status == 422 and "a spot on the flop" in answer["error"]["message"]


def test_dropped_hands_are_priced(browser, studio, tmp_path):
    file, junk = tmp_path / "hand.phh", tmp_path / "letter.txt"
    file.write_text(DWAN_IVEY)
    junk.write_text("Dear players")
    browser.open(studio, "/review")
    boxes = browser.all("textarea")
    for box, text in zip(boxes, ("A2o,AA,AJs,JJ", "76s,JJ,AJs,33"), strict=True):
        box.clear()
        box.send_keys(text + Keys.TAB)
    browser.click("select option", "turn")
    browser.all("input[type=file]")[0].send_keys(f"{file}\n{junk}")
    browser.see(".problem", "letter.txt: is no hand history")
    browser.see("h2", "Phil Ivey")
    browser.click("button.primary", "Price 4 decisions")
    browser.see("td small", "of the pot")
    rows = [row.text for row in browser.all("tbody tr")]
    assert len(rows) == 4 and "Ac2d" in rows[0] and "bet 90000" in rows[0]
    browser.click("a", "Open the spot")
    browser.see("h2", "Actions")


def test_hand_histories_that_are_none(studio):
    log = "STATE:0:c:AsKs|QsJs:1|-1:a|b"
    files = [{"name": "a.phh", "text": "x"}, {"name": "b.log", "text": log}]
    found = studio.post("/api/review", {"files": files})
    assert found["hands"] == [] and len(found["problems"]) == 2
    assert "drop its .game file" in found["problems"][1]
    assert studio.ask("POST", "/api/review", {"files": []})[0] == 422
    assert studio.ask("POST", "/api/review", {"files": "x"})[0] == 422


PAGES = {
    "editor": ("/spots", "div[role=status] p"),
    "solution": (address(TURN, cell="ATs"), ".hand-table"),
    "runouts": (address(TURN, record="check,check"), "summary"),
    "over-fold": (
        address(TURN, variant='{"overfold":{"player":1,"percent":10}}', versus="base"),
        ".notice",
    ),
    "report": (
        address(FLOP, "5", flops="Kd7c2s").replace("/spots", "/report"),
        ".hand-table",
    ),
    "report-form": (address(FLOP).replace("/spots", "/report"), "select"),
    "trainer": (address(TURN).replace("/spots", "/train"), ".drill-hand"),
    "drills": ("/train", ".card"),
    "review": ("/review", ".drop"),
}


def test_poker_pages_are_accessible(browser, studio):
    """No serious finding of axe-core, and no scrolling sideways, in three widths and two themes."""
    from axe_core_python import selenium as axe

    bundled = Path(axe.__file__).parent / "axe.min.js"
    script = Path(os.environ.get("COUNTERPLAY_AXE", bundled)).read_text()
    browser.open(studio, "/spots")
    bad = {}
    try:
        for name, (path, css) in PAGES.items():
            browser.driver.get(f"{studio.url}{path}")
            browser.see(css)
            browser.settle()
            if name == "trainer":
                browser.keys("1")
                browser.see(".drill-verdict")
            assert browser.count() < 1800, name
            browser.driver.execute_script(script)
            for width in (390, 1280, 1920):
                browser.set_width(width)
                browser.until(lambda: browser.beyond() <= 0, f"{name} within {width} pixels")
                for theme in ("light", "dark"):
                    browser.theme(theme)
                    bad[name, width, theme] = findings(browser, {})
                    picture(browser, f"{name}-{width}-{theme}")
            browser.theme("light")
            browser.set_width()
        assert {page: found for page, found in bad.items() if found} == {}
    finally:
        browser.set_width()
        browser.theme("light")


def test_pages_are_drawn_quickly(browser, studio):
    """The time from the answer of the server to the page, by the browser's clock."""
    browser.open(studio, address(TURN))
    browser.see(".hand-table")
    script = """
      const start = performance.now();
      document.querySelector('.hand-table th button').click();
      return new Promise((done) => requestAnimationFrame(() => done(performance.now() - start)));
    """
    times = [browser.driver.execute_script(script) for _ in range(5)]
    assert sorted(times)[2] < 300, times


def test_pictures_of_the_poker_pages(browser, fresh):
    """The screenshots of docs/studio.md, made anew when there is a folder for them."""
    if not os.environ.get("COUNTERPLAY_DOCS"):
        pytest.skip("COUNTERPLAY_DOCS names no folder for pictures")
    made = fresh()
    browser.open(made, "/spots")
    browser.see("div[role=status] p", "infosets")
    browser.click(".presets button", "3-bet pot")
    browser.see("div[role=status] p", "OOP 1")
    time.sleep(1)
    picture(browser, "spot-editor", "COUNTERPLAY_DOCS")
    pages = {
        "spot-lines": (address(TURN, record="check,bet 30", cell="ATs"), ".hand-table"),
        "spot-runouts": (address(TURN, record="check,check"), "summary"),
        "spot-drill": (address(TURN).replace("/spots", "/train"), ".drill-hand"),
    }
    for name, (path, css) in pages.items():
        browser.driver.get(f"{made.url}{path}")
        browser.see(css)
        browser.settle()
        if name == "spot-drill":
            browser.keys("1")
            browser.see(".drill-verdict")
            browser.see("h2", "Statistics")
        picture(browser, name, "COUNTERPLAY_DOCS")
