"""Widgets of notebooks: their data, their static form, and their front end in a real browser."""

from __future__ import annotations

import json

import pytest

import counterplay as cp
from counterplay.display import policy_widget, solve_widget, tree_widget, widgets
from tests.conftest import game_tree

# The contract of anywidget's model, with the data of a widget.
MODEL = """
const [kind, data] = arguments;
const listeners = {};
window.state = { kind, data, stop_requested: false };
window.model = {
  get: key => window.state[key],
  set: (key, value) => { window.state[key] = value; },
  save_changes: () => { window.saved = true; },
  on: (event, listener) => { listeners[event] = listener; },
};
window.change = data => { window.state.data = data; listeners["change:data"](); };
document.body.replaceChildren();
window.widget.render({ model: window.model, el: document.body });
"""


@pytest.fixture(scope="module")
def policy():
    return cp.solve(game_tree("kuhn_poker"), "cfr_plus", iterations=200).policy


def without_anywidget(monkeypatch):
    monkeypatch.setattr(widgets, "has_anywidget", lambda: False)


def test_a_tree_has_its_nodes_with_probabilities_and_values(policy):
    data = tree_widget(policy.arena, policy).data
    values = cp.expected_values(policy.arena, policy)
    assert len(data["nodes"]) == data["num_nodes"] == 58
    assert data["nodes"][0]["value"] == pytest.approx(list(values))
    assert data["nodes"][0]["num_children"] == 3 and data["nodes"][0]["title"] == "chance"
    for node in data["nodes"][1:]:
        parent = data["nodes"][node["parent"]]
        assert node["reach"] == pytest.approx(parent["reach"] * node["probability"])
    assert len(tree_widget("leduc_poker", max_nodes=50).data["nodes"]) == 50


def test_a_policy_has_its_rows_and_grids(policy):
    data = policy_widget(policy).data
    rows = {(row.player, row.key): row for row in cp.infoset_rows(policy)}
    assert len(data["rows"]) == 12
    for row in data["rows"]:
        expected = rows[row["player"], row["key"]]
        assert row["probabilities"] == list(expected.probabilities.values())
        assert row["gain"] == expected.best_response_gain
    cells = [cell for grid in data["grids"] for line in grid["cells"] for cell in line]
    assert sorted(cell for cell in cells if cell is not None) == list(range(12))
    json.dumps(data)


def test_a_running_solve_is_followed_to_its_end():
    live = solve_widget("kuhn_poker", "cfr_plus", iterations=100)
    result = live.wait(60)
    expected = cp.solve("kuhn_poker", "cfr_plus", iterations=100)
    assert result.exploitability == expected.exploitability
    data = live.view.data
    assert data["state"] == "finished" and data["done"] == 100
    points = [[r.iteration, r.exploitability] for r in expected.records]
    assert [list(point) for point in data["points"]] == points


def test_a_solve_can_be_stopped():
    live = solve_widget("leduc_poker", "cfr", iterations=100_000_000)
    live.stop()
    assert live.wait(60).iterations < 100_000_000
    assert live.view.data["state"] == "stopped"


def test_an_error_of_a_solve_is_shown_and_raised():
    live = solve_widget("kuhn_poker", "cfr", iterations=10, target=-1.0, seconds=5)
    with pytest.raises(cp.CounterplayError):
        live.wait(60)
    assert live.view.data["state"] == "failed" and live.view.data["error"]


def test_without_anywidget_the_static_tables_are_shown(monkeypatch, policy):
    without_anywidget(monkeypatch)
    assert "58" in tree_widget(policy.arena)._repr_html_()
    assert policy_widget(policy)._repr_html_() == policy._repr_html_()
    live = solve_widget("kuhn_poker", "cfr_plus", iterations=50)
    live.wait(60)
    assert "exploitability by iteration" in live._repr_mimebundle_()["text/html"]


def test_with_anywidget_the_front_end_is_ours(policy):
    anywidget = pytest.importorskip("anywidget")
    widget = policy_widget(policy)
    assert isinstance(widget, anywidget.AnyWidget)
    assert "render" in widget._esm and widget.kind == "policy"
    assert "application/vnd.jupyter.widget-view+json" in widget._repr_mimebundle_()[0]


@pytest.fixture(scope="module")
def browser():
    from tests.studio.browser import Browser

    made = Browser()
    made.driver.get("data:text/html,<title>widgets</title><body></body>")
    script = widgets.FRONT_END.read_text().replace("export default", "window.widget =")
    made.driver.execute_script(f"{script}\nwindow.widget = window.widget;")
    yield made
    assert made.complaints() == []
    made.driver.quit()


@pytest.mark.browser
def test_the_tree_opens_by_clicks(browser, policy):
    view = tree_widget(policy.arena, policy)
    browser.driver.execute_script(MODEL, "tree", view.data)
    browser.see("p", "kuhn_poker: 58 nodes")
    assert len(browser.all("li")) == 4
    browser.click("summary", "deal 0")
    browser.see("li li li", "deal 1")


@pytest.mark.browser
def test_a_cell_shows_its_infoset(browser, policy):
    data = policy_widget(policy).data
    browser.driver.execute_script(MODEL, "policy", data)
    browser.see("p", "exploitability")
    assert len(browser.all("option")) == len(data["grids"])
    browser.click("td button")
    row = data["rows"][data["grids"][0]["cells"][0][0]]
    browser.see("[aria-live]", f"player {row['player']} at {row['key']}")
    browser.see("[aria-live] td", f"{row['probabilities'][0]:.4f}")


@pytest.mark.browser
def test_the_curve_grows_and_the_button_stops(browser):
    live = solve_widget("kuhn_poker", "cfr_plus", iterations=50)
    live.wait(60)
    data = dict(live.view.data)
    browser.driver.execute_script(MODEL, "solve", data | {"points": data["points"][:2], "done": 2})
    before = browser.all("polyline")[0].get_attribute("points")
    browser.driver.execute_script("window.change(arguments[0])", data | {"state": "running"})
    assert len(browser.all("polyline")[0].get_attribute("points")) > len(before)
    browser.see("p", "iteration 50")
    browser.click("button", "Stop")
    assert browser.driver.execute_script("return window.state.stop_requested && window.saved")
    browser.driver.execute_script("window.change(arguments[0])", data)
    assert not browser.all("button")[0].is_enabled()
