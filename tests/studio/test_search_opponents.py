"""The page Play with opponents that search, in a browser."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.studio.browser import Browser, By
from tests.studio.test_browser import findings, picture

pytestmark = pytest.mark.browser
WIDTHS = (390, 1280, 1920)


@pytest.fixture(scope="module")
def browser():
    made = Browser()
    yield made
    made.driver.quit()


def choose(browser, label, value):
    """Select an option of the field with a label."""
    script = """
        const fields = [...document.querySelectorAll("main label")];
        const field = fields.find((e) => e.firstElementChild.textContent === arguments[0]);
        const input = field?.querySelector("select, input");
        if (!input) return false;
        input.value = arguments[1];
        const name = input.tagName === "SELECT" ? "change" : "input";
        input.dispatchEvent(new Event(name, { bubbles: true }));
        return input.value === arguments[1];
    """
    browser.until(lambda: browser.driver.execute_script(script, label, value), f"{label}={value}")


def play_to_the_end(browser):
    """Take the second action until the episode is over."""
    while not browser.all(".search-details"):
        browser.until(
            lambda: browser.all(".choice:enabled, .search-details"), "a choice or the end"
        )
        if browser.all(".choice:enabled"):
            count = len(browser.all(".decisions li"))
            browser.click(".choice:nth-child(2)")
            browser.until(
                lambda before=count: len(browser.all(".decisions li")) > before, "the decision"
            )


def test_search_opponents_show_what_they_computed(browser, studio):
    """Parameters in a form, no sideways scrolling at three widths, no finding in both themes."""
    from axe_core_python import selenium as axe

    script = Path(os.environ.get("COUNTERPLAY_AXE", Path(axe.__file__).parent / "axe.min.js"))
    browser.open(studio, "/play?game=leduc_poker")
    choose(browser, "opponent", "search:resolving")
    choose(browser, "method", "max_margin")
    choose(browser, "iterations", "50")
    browser.see("main", "--opponent 'resolving(method=\"max_margin\",iterations=50)'")
    check(browser, script.read_text(), "search-setup")
    browser.click("form button", "Play")
    browser.until(lambda: browser.all(".choice"), "the first decision")
    assert not browser.all(".search-details")  # nothing of the search before the end
    play_to_the_end(browser)
    browser.see(".search-details h2", "The opponent's searches")
    headers = [e.text for e in browser.all(".search-details th[scope=col]")]
    assert "margin over the alternatives" in headers and "alternative value" in headers
    assert "your range" in headers and "range of player 1" in headers
    check(browser, script.read_text(), "search-details")
    assert not browser.all("main .head a[href*='policy=search']")  # it has no policy to explore


def check(browser, script, name):
    """No sideways scrolling, and no finding of axe-core in either theme."""
    browser.driver.execute_script(script)
    try:
        for width in WIDTHS:
            browser.set_width(width)
            browser.until(lambda: browser.beyond() <= 0, f"{name} within {width} pixels")
            for theme in ("light", "dark"):
                browser.theme(theme)
                picture(browser, f"{name}-{width}-{theme}")
                assert findings(browser, {"runOnly": ["color-contrast"]}) == []
        assert findings(browser, {}) == []
    finally:
        browser.set_width()
        browser.theme("light")


@pytest.mark.parametrize(
    ("game", "agent", "column"),
    [
        ("kuhn_poker", "is_mcts", "visits"),
        ("kuhn_poker", "pimc", "mean value"),
        ("kuhn_poker", "oos", "regret"),
        ("kuhn_poker", "smooth_uct", "visits"),
        ("kuhn_poker", "mirror_search", "value against the blueprint"),
    ],
)
def test_every_agent_reports(browser, studio, game, agent, column):
    browser.open(studio, f"/play?game={game}&policy=search:{agent}")
    browser.click("form button", "Play")
    play_to_the_end(browser)
    headers = [e.text for e in browser.all(".search-details th[scope=col]")]
    assert "action" in headers and column in headers
    assert browser.driver.find_elements(By.CSS_SELECTOR, ".search-details tbody tr")


def test_only_agents_whose_needs_are_met_are_offered(browser, studio):
    def list_offers(game):
        browser.open(studio, f"/play?game={game}")
        browser.until(lambda: browser.all("option[value='search:is_mcts']"), "the list")
        browser.settle()
        options = browser.all("option[value^='search:']")
        return {option.get_attribute("value").removeprefix("search:") for option in options}

    rules = {"is_mcts", "pimc", "oos", "smooth_uct"}
    assert list_offers("kuhn_poker") >= rules | {"resolving", "mirror_search"}
    assert list_offers("limit_holdem") == rules
    assert "resolving" not in list_offers("matching_pennies_3p")
    assert "mirror_search" in list_offers("matching_pennies_3p")
    assert "hunl" not in list_offers("leduc_poker")
