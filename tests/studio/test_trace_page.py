"""The page Trace in a real browser: stepping, choosing, sharing, widths and themes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from counterplay.algorithms.cfr.trace import CFRTrace
from tests.studio.browser import Browser, Keys
from tests.studio.test_browser import findings, picture

pytestmark = pytest.mark.browser

PAGES = {
    "trace": "/trace?t=3&infoset=4",
    "trace-leduc": "/trace?game=leduc_poker&algorithm=dcfr&t=5&infoset=30",
    "trace-matrix": "/trace?learner=regret_matching&t=12",
}


@pytest.fixture(scope="module")
def browser():
    made = Browser()
    yield made
    assert [line for line in made.complaints() if "status of 4" not in line] == []
    made.driver.quit()


def equation(browser, title):
    """The lines of an equation, once they are there."""
    item = next(e for e in browser.all(".equations li") if title in e.text)
    return [line.text for line in item.find_elements("css selector", "dd")]


def test_step_through_cfr(browser, studio):
    """Forwards and backwards by buttons and keys; the address keeps iteration and infoset."""
    browser.open(studio, "/trace")
    browser.see("h2", "Player 0 at 0, iteration 1")
    browser.click("button", "Forward")
    browser.see("h2", "iteration 2")
    browser.keys(Keys.ARROW_RIGHT)
    browser.see("h2", "iteration 3")
    browser.click(".trace-table button", "1pb")
    browser.see("h2", "Player 0 at 1pb, iteration 3")
    assert browser.path == "/trace?t=3&infoset=4"
    assert equation(browser, "Instantaneous regret") == [
        "-0.1667 - (-0.3333) = 0.1667",
        "-0.3333 - (-0.3333) = 0",
    ]
    step = CFRTrace("kuhn_poker", "cfr").step(3, 4)
    titles = [e.get_attribute("title") for e in browser.all(".trace-table .current td.num")]
    columns = (step.policy, step.regret, step.average_policy)
    expected = [float(column[action]) for action in range(2) for column in columns]
    assert [float(title) for title in titles] == expected
    browser.driver.get(studio.url + browser.path)  # the link shows the same
    browser.see("h2", "Player 0 at 1pb, iteration 3")
    browser.click("button", "Back")
    browser.see("h2", "iteration 2")
    browser.keys(Keys.HOME)
    browser.see("h2", "iteration 1")
    select = browser.all("select")[1]
    select.send_keys("DCFR")
    browser.until(lambda: "algorithm=dcfr" in browser.path)
    browser.see(".equations", "d * (regret(a) + instant_regret(a))")
    browser.see(".command code", "counterplay trace kuhn_poker --algorithm dcfr")


def test_step_through_a_learner(browser, studio):
    browser.open(studio, "/trace")
    browser.click(".tabs button", "Matrix")
    browser.see("h2", "Player 0, iteration 1")
    browser.click("button", "+10")
    browser.see("h2", "iteration 11")
    browser.click(".tabs button", "player 1")
    browser.see("h2", "Player 1, iteration 11")
    browser.driver.get(f"{studio.url}/matrix?game=chicken&learner=fictitious_play")
    browser.click("a", "Step through it")
    browser.see(".equations", "value_sum(a) = value_sum(a) + u(a)")
    browser.driver.get(f"{studio.url}/games/kuhn_poker")
    browser.click("a", "Step through CFR")
    browser.see("h2", "iteration 1")


def test_playing_goes_on_until_it_is_paused(browser, studio):
    browser.open(studio, "/trace")
    browser.click("button", "Play")
    browser.until(lambda: "t=3" in browser.path, "the third iteration")
    browser.click("button", "Pause")
    assert browser.see("button", "Play")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/trace?game=nothing", "there is no game"),
        ("/trace?algorithm=psro", "cannot be traced"),
        ("/trace?algorithm=x.py:Y", "algorithm"),
        ("/trace?infoset=99", "must be from 0 to 11"),
        ("/trace?t=99999", "must be from 1 to 2,000"),
        ("/trace?learner=x", "unknown learner"),
        ("/trace?learner=hedge&player=7", "must be from 0 to 1"),
        ("/trace?game=kuhn_poker(num_cards=150)", "most 100,000"),
    ],
)
def test_wrong_addresses_say_what_is_wrong(browser, studio, path, message):
    browser.open(studio, path)
    browser.see(".problem", message)


def test_the_page_is_accessible_at_all_widths_in_both_themes(browser, studio):
    """No serious finding of axe-core, no scrolling sideways."""
    from axe_core_python import selenium as axe

    bundled = Path(axe.__file__).parent / "axe.min.js"
    script = Path(os.environ.get("COUNTERPLAY_AXE", bundled)).read_text()
    bad = {}
    try:
        for name, path in PAGES.items():
            browser.open(studio, path)
            browser.see(".equations")
            browser.settle()
            assert browser.count() < 1500
            browser.driver.execute_script(script)
            for width in (390, 1280, 1920):
                browser.set_width(width)
                browser.until(lambda: browser.beyond() <= 0, f"{name} within the window")
                for theme in ("light", "dark"):
                    browser.theme(theme)
                    bad[name, width, theme] = findings(browser, {})
                    picture(browser, f"{name}-{width}-{theme}")
                browser.theme("light")
        assert {key: found for key, found in bad.items() if found} == {}
    finally:
        browser.set_width()
        browser.theme("light")


def test_pictures_for_the_docs(browser, studio):
    """The screenshots of docs/studio.md, made anew when there is a folder for them."""
    browser.open(studio, PAGES["trace"])
    browser.see(".equations")
    browser.settle()
    browser.set_width(1280)
    picture(browser, "trace", "COUNTERPLAY_DOCS")
    browser.driver.get(studio.url + PAGES["trace-matrix"])
    browser.see(".equations")
    browser.settle()
    picture(browser, "trace_matrix", "COUNTERPLAY_DOCS")
    browser.set_width()
