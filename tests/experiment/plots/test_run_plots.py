"""Plots and tables of runs with known numbers."""

from __future__ import annotations

import csv
import json
import re
import xml.etree.ElementTree as ElementTree
from importlib import resources

import numpy as np
import pytest

from counterplay.errors import ConfigError, RunError
from counterplay.experiment.compare import compare, csv_from_rows
from counterplay.experiment.plots.reference_curves import load_reference_curves
from counterplay.experiment.plots.run_plots import GROUP_COLOURS, plot_runs
from counterplay.experiment.run_groups import MedianRange, load_run_groups
from tests.experiment.conftest import config, dump_json

PNG = b"\x89PNG\r\n\x1a\n"


def make_run(folder, name="small", seed=0, averages=(0.5, 0.2, 0.1), current=2.0, **spec):
    """The folder of a run whose exploitability we choose; a record every 10 steps."""
    folder.mkdir(parents=True)
    whole = config("cfr_hedge", max_steps=100, seed=seed, **spec) | {"name": name}
    dump_json(folder / "config.json", whole)
    records = [
        {"step": 10 * n or 1, "seconds": 0.5 + n + seed, "average": a, "current": current * a}
        for n, a in enumerate(averages)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    return folder


@pytest.fixture
def runs(tmp_path):
    """Three seeds of one method, one run of another."""
    runs = tmp_path / "runs"
    make_run(runs / "small" / "a", seed=0, averages=(0.5, 0.2, 0.10))
    make_run(runs / "small" / "b", seed=1, averages=(0.6, 0.3, 0.30))
    make_run(runs / "small" / "c", seed=2, averages=(0.4, 0.1, 0.20, 0.05))
    make_run(runs / "other" / "a", name="other", averages=(0.5, 0.01, 0.02))
    return runs


@pytest.fixture
def curves(tmp_path):
    records = [{"step": s, "average": 1 / s, "current": 2 / s, "seconds": s - 1} for s in (1, 50)]
    content = {"first": {"curve": records, "best": None}, "second": {"curve": records}}
    return dump_json(tmp_path / "curves.json", content)


def test_seeds_belong_together(runs):
    groups = load_run_groups([*sorted((runs / "small").iterdir()), runs / "other" / "a"])
    assert [(group.label, len(group.runs)) for group in groups] == [("small", 3), ("other", 1)]
    curve = groups[0].curve("average")
    assert curve.step.tolist() == [1, 10, 20]  # the steps that all of them have
    assert curve.median.tolist() == [0.5, 0.2, 0.2]
    assert curve.low.tolist() == [0.4, 0.1, 0.1]
    assert curve.high.tolist() == [0.6, 0.3, 0.3]
    # the first record, which waits for compilation, counts as its share of the steps
    assert np.diff(curve.seconds) == pytest.approx([1.0, 1.0])
    assert curve.seconds[0] == pytest.approx(2.0 / 19.0)


def test_different_methods_under_one_name_are_told_apart(tmp_path):
    folders = [make_run(tmp_path / f"{eta}", eta=eta, seed=s) for s, eta in enumerate((5.0, 7.0))]
    assert [group.label for group in load_run_groups(folders)] == [
        "small (eta=5.0)",
        "small (eta=7.0)",
    ]


def test_runs_without_records(tmp_path, runs):
    empty = make_run(tmp_path / "empty", averages=())
    with pytest.raises(RunError, match="no records yet in"):
        load_run_groups([empty])
    assert len(load_run_groups([empty, runs / "other" / "a"])) == 1
    (empty / "config.json").write_text("{")
    make_run(tmp_path / "good")
    (tmp_path / "good" / "config.json").write_text("[]")
    with pytest.raises(RunError, match="not the config of a run"):
        load_run_groups([tmp_path / "good"])


def test_plot_writes_a_png(runs, tmp_path):
    file = plot_runs([runs], tmp_path / "out.png")
    content = file.read_bytes()
    assert content.startswith(PNG)
    width, height = np.frombuffer(content[16:24], ">u4")
    assert (width, height) == (1280, 832)
    assert len(content) > 20_000


def texts(svg):
    """All text of an SVG file."""
    return ["".join(e.itertext()) for e in ElementTree.fromstring(svg).iter() if is_text(e)]


def is_text(element):
    return element.tag.endswith("}text")


def test_svg_names_its_lines(runs, curves, tmp_path):
    options = {"references": [f"{curves}:first"], "policies": ["all"]}
    file = plot_runs([runs], tmp_path / "out.svg", **options)
    shown = texts(file.read_text())
    for label in ("small, 3 runs", "other", "reference first", "average policy", "current policy"):
        assert label in shown
    assert {"kuhn_poker", "exploitability", "step"} <= set(shown)
    assert "reference second" not in shown
    again = plot_runs([runs], tmp_path / "again.svg", **options)
    assert again.read_bytes() == file.read_bytes()


def test_one_policy_against_time(runs, curves, tmp_path):
    options = {"policies": ["average"], "x": "seconds", "title": "All of $it", "log_x": True}
    shown = texts(
        plot_runs([runs], tmp_path / "out.svg", references=[curves], **options).read_text()
    )
    assert {"reference first", "reference second", "All of $it"} <= set(shown)
    assert "exploitability, average policy" in shown
    assert "time in the algorithm (s)" in shown
    assert "current policy" not in shown


@pytest.mark.parametrize(
    ("last", "unit"), [(100.0, "s"), (3000.0, "minutes"), (9000.0, "hours"), (1e6, "days")]
)
def test_units_of_time(tmp_path, last, unit):
    folder = make_run(tmp_path / "run")
    records = [{"step": s, "seconds": s * last, "average": 0.5} for s in (0.5, 1)]
    records = [r | {"step": n + 1} for n, r in enumerate(records)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    shown = texts(plot_runs([folder], tmp_path / "out.svg", x="seconds").read_text())
    assert f"time in the algorithm ({unit})" in shown


def test_html_stands_alone(runs, curves, tmp_path):
    text = plot_runs(
        [runs], tmp_path / "out.html", references=[curves], title="<Kuhn>", policies=["all"]
    )
    text = text.read_text()
    assert text.startswith("<!doctype html>")
    assert "<title>&lt;Kuhn&gt;</title>" in text
    assert text.count("<svg") == 1
    assert not re.search(r"(src|href)=[\"']?http", text)
    data = json.loads(re.search(r"const all = (\[.*\]), frame", text)[1])
    lines = {line["name"]: line for line in data}
    assert len(lines) == 8
    small = lines["small, average"]
    assert (small["step"], small["value"]) == ([1, 10, 20], [0.5, 0.2, 0.2])
    assert (small["low"], small["high"]) == ([0.4, 0.1, 0.1], [0.6, 0.3, 0.3])
    places = np.array(small["positions"])
    assert ((places > 0.0) & (places < 1.0)).all()
    assert (np.diff(places[:, 0]) > 0).all()
    assert places[0, 1] < places[1, 1] == places[2, 1]  # down the page is less exploitable
    assert "<td>20</td><td>2.11</td><td>2.0000e-01</td><td>1.0000e-01</td>" in text


def test_exact_equilibria_have_no_place_on_a_log_axis(tmp_path):
    folder = make_run(tmp_path / "run", averages=(0.5, 0.0))
    text = plot_runs([folder], tmp_path / "out.html", policies=["average"]).read_text()
    assert json.loads(re.search(r"const all = (\[.*\]), frame", text)[1])[0]["step"] == [1]
    one = make_run(tmp_path / "one", averages=(0.5,))
    assert plot_runs([one], tmp_path / "out.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "out.gif"}, r"must end in \.png, \.svg, \.pdf, \.html"),
        ({"x": "epoch"}, "x is 'epoch', must be step, seconds, nodes or episodes"),
        ({"policies": ["median"]}, "no run has a policy 'median'; there is average, current"),
        ({"references": ["nowhere.json"]}, r"there is no file nowhere\.json"),
        ({"references": ["nowhere.json:kuhn"]}, r"there is no file nowhere\.json"),
    ],
)
def test_bad_options(runs, tmp_path, options, message):
    output = tmp_path / options.pop("output", "out.svg")
    with pytest.raises(ConfigError, match=message):
        plot_runs([runs], output, **options)
    assert not output.exists()


def test_unwritable_output(runs, tmp_path):
    with pytest.raises(RunError, match="cannot write"):
        plot_runs([runs / "other"], tmp_path / "nowhere" / "out.png")


def test_plots_need_their_package(runs, tmp_path, monkeypatch):
    monkeypatch.setattr("counterplay.experiment.plots.run_plots.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'counterplay\[plot\]'"):
        plot_runs([runs], tmp_path / "out.png")


def test_reference_curves_are_loaded(curves, tmp_path):
    found = load_reference_curves(str(curves))
    assert [(c.label, c.policy) for c in found] == [
        ("reference first", "average"),
        ("reference first", "current"),
        ("reference second", "average"),
        ("reference second", "current"),
    ]
    assert found[0].median.tolist() == [1.0, 0.02]
    with pytest.raises(ConfigError, match="has no curve 'frist'; did you mean 'first'"):
        load_reference_curves(f"{curves}:frist")
    with pytest.raises(ConfigError, match="x is not a reference curve"):
        load_reference_curves(
            str(dump_json(tmp_path / "bad.json", {"x": {"curve": [{"average": 1}]}}))
        )
    with pytest.raises(ConfigError, match="not a file of reference curves"):
        load_reference_curves(str(dump_json(tmp_path / "bad.json", [])))


def write_records(folder, *records):
    (folder / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))


@pytest.fixture
def runs_with_different_policies(tmp_path):
    """Runs whose first policies differ: CFR+ has its linear average before the plain one."""
    for name in ("cfr", "cfr_plus"):
        folder = make_run(tmp_path / "runs" / name, name=name)
        worse, better = {"average": 0.15, "current": 0.3}, {"linear_average": 0.01}
        values = worse if name == "cfr" else better | worse
        write_records(folder, *({"step": s, "seconds": s / 100} | values for s in (10, 20)))
    return tmp_path / "runs"


@pytest.fixture
def on_rules(tmp_path):
    """A run on rules, whose records count infosets."""
    folder = make_run(tmp_path / "runs" / "rules", name="rules")
    whole = json.loads((folder / "config.json").read_text())
    dump_json(folder / "config.json", whole | {"arena": "rules"})
    counts = {"infosets": 12, "touched": 340, "bytes": 5678}
    write_records(folder, {"step": 10, "seconds": 1.0} | counts)
    return folder


def lines_of_page(file):
    """The lines of an HTML page by name."""
    found = json.loads(re.search(r"const all = (\[.*\]), frame", file.read_text())[1])
    return {line["name"]: line for line in found}


def test_by_default_each_method_has_one_line_that_of_its_first_policy(
    runs_with_different_policies, tmp_path
):
    lines = lines_of_page(plot_runs([runs_with_different_policies], tmp_path / "out.html"))
    assert {name: line["value"] for name, line in lines.items()} == {
        "cfr, average": [0.15, 0.15],
        "cfr_plus, linear_average": [0.01, 0.01],
    }
    shown = texts(plot_runs([runs_with_different_policies], tmp_path / "out.svg").read_text())
    assert {"cfr (average)", "cfr_plus (linear_average)"} <= set(shown)


def test_all_lines_are_equally_visible(runs_with_different_policies, tmp_path):
    svg = plot_runs(
        [runs_with_different_policies], tmp_path / "out.svg", policies=["all"]
    ).read_text()
    found = [
        path
        for colour in GROUP_COLOURS[:2]
        for path in re.findall(rf'<path [^>]*style="[^"]*stroke: {colour}[^"]*"', svg)
    ]
    assert len(found) == 2 + 3 + 2  # with the two entries of the legend
    assert len(set(re.findall(r"stroke-width: [\d.]+", " ".join(found)))) == 1
    assert "opacity" not in " ".join(found)


def test_colours_are_those_of_the_studio():
    script = (resources.files("counterplay.studio") / "static" / "lib/colours.js").read_text()
    hues = re.search(r"SERIES_COLOURS = \[([^]]*)\]", script)[1]
    assert tuple(re.findall("#[0-9a-f]{6}", hues)) == GROUP_COLOURS


def test_counts_of_runs_on_rules_are_never_called_exploitability(on_rules, runs, tmp_path):
    rules, *others = sorted(compare([on_rules, runs]), key=lambda row: row.name != "rules")
    assert (rules.average, rules.best, rules.current, rules.policy) == (None, None, None, None)
    assert rules.measured["infosets"] == MedianRange(12, 12, 12)
    assert all(row.average is not None and not row.measured for row in others)
    first = next(csv.DictReader(csv_from_rows(compare([on_rules])).splitlines()))
    assert (first["average"], first["best"], first["infosets"]) == ("", "", "12.0")
    with pytest.raises(ConfigError, match="runs on rules, which record no exploitability"):
        plot_runs([on_rules], tmp_path / "out.svg")
    notes = []
    lines = lines_of_page(plot_runs([on_rules, runs], tmp_path / "out.html", note=notes.append))
    assert set(lines) == {"small, average", "other, average"}
    assert notes == ["left out rules: a run on rules records no exploitability"]


def test_runs_on_rules_and_on_the_tree_are_different_methods(on_rules, tmp_path):
    tree = make_run(tmp_path / "tree", name="rules")
    assert [group.is_exact for group in load_run_groups([on_rules, tree])] == [False, True]


def test_references_of_other_games_are_left_out(runs, tmp_path):
    def curve(name, **params):
        record = {"step": 1, "average": 0.5}
        return {"config": {"game": {"name": name, "params": params}}, "curve": [record]}

    content = {
        "two": curve("kuhn_poker", players=2),  # the default, which the runs do not spell out
        "three": curve("kuhn_poker", players=3),
        "leduc": curve("leduc_poker"),
    }
    file = str(dump_json(tmp_path / "curves.json", content))
    shown = texts(plot_runs([runs], tmp_path / "out.svg", references=[file]).read_text())
    assert [label for label in shown if "reference" in label] == ["reference two"]
    with pytest.raises(ConfigError, match=r"no curve of kuhn_poker among leduc \(leduc_poker\)"):
        plot_runs([runs], tmp_path / "out.svg", references=[f"{file}:leduc"])


def test_compare_summarises_runs_by_name(runs):
    other, small = compare([runs])
    assert (other.name, other.runs, other.seeds) == ("other", 1, 1)
    assert other.best == MedianRange(0.01, 0.01, 0.01)
    assert (small.name, small.runs, small.seeds) == ("small", 3, 3)
    assert small.step == MedianRange(20, 20, 30)
    assert small.average == MedianRange(0.1, 0.05, 0.3)
    assert small.best == MedianRange(0.1, 0.05, 0.3)
    assert small.current == MedianRange(0.2, 0.1, 0.6)
    assert small.steps_per_second == MedianRange(9.5, 9.5, 29 / 3)


def test_compare_at_a_step(runs):
    small = compare([runs / "small"], max_step=15)[0]
    assert small.step == MedianRange(10, 10, 10)
    assert small.average == MedianRange(0.2, 0.1, 0.3)
    with pytest.raises(ConfigError, match="small has no record up to step 0"):
        compare([runs / "small"], max_step=0)


def test_compare_without_average_or_current(tmp_path):
    folder = make_run(tmp_path / "run")
    record = {"step": 1, "seconds": 0.5, "robust": 0.25}
    (folder / "metrics.jsonl").write_text(json.dumps(record) + "\n")
    row = compare([folder])[0]
    assert row.average.median == 0.25
    assert row.current is None
    assert row.steps_per_second.median == 2.0


def test_csv_has_a_row_per_name(runs):
    rows = list(csv.DictReader(csv_from_rows(compare([runs])).splitlines()))
    assert [row["name"] for row in rows] == ["other", "small"]
    assert [float(rows[1][f"average{end}"]) for end in ("", "_low", "_high")] == [0.1, 0.05, 0.3]


def test_figures_for_papers_fit_one_column_and_have_no_title(runs, tmp_path):
    from counterplay.experiment.plots.figure import PAPER_STYLE

    plot_runs([runs], tmp_path / "wide.svg", title="My title")
    plot_runs([runs], tmp_path / "paper.svg", title="My title", paper=True)
    wide, paper = ((tmp_path / f"{name}.svg").read_text() for name in ("wide", "paper"))
    assert "My title" in wide
    assert "My title" not in paper
    assert f'width="{72 * PAPER_STYLE.size[0]:g}pt"' in paper
    plot_runs([runs], tmp_path / "paper.pdf", paper=True)
    content = (tmp_path / "paper.pdf").read_bytes()
    assert b"/FontFile2" in content or b"/TrueType" in content or b"CIDFontType2" in content
