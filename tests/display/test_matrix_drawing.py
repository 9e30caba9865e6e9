"""Payoff tables as SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

import counterplay as cp
from counterplay.cli.main import main
from counterplay.display import draw_matrix

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg, underlined=False):
    found = ElementTree.fromstring(svg).iter(f"{SVG}text")
    return [e.text for e in found if not underlined or "text-decoration" in e.attrib]


def test_a_table_has_all_utilities_and_marks_best_responses():
    form = cp.matrix.normal_form_from_game("prisoners_dilemma")
    svg = draw_matrix(form)
    expected = sorted(f"{value:.6g}" for value in form.utility.flat)
    assert [text for text in sorted(texts(svg)) if text in expected] == expected
    assert len(texts(svg)) == 4 + 8
    assert len(texts(svg, underlined=True)) == 4  # defecting is the best answer to everything
    assert len(list(ElementTree.fromstring(svg).iter(f"{SVG}rect"))) == 4


def test_a_zero_sum_table_has_one_number_per_cell():
    form = cp.matrix.NormalForm([[1, -1], [-1, 1]], (("<a>", "b"), ("c", "d")))
    assert texts(draw_matrix(form))[:3] == ["c", "d", "<a>"]
    assert len(texts(draw_matrix(form))) == 4 + 4


def test_three_players_are_refused():
    with pytest.raises(cp.ConfigError, match="two players"):
        draw_matrix(cp.matrix.NormalForm([[[[1, 0], [0, 1]]] * 2] * 3))


def test_the_command_writes_svg_and_latex(tmp_path, capsys):
    for name, start in (("a.svg", "<svg"), ("a.tex", "\\begin{tabular}")):
        assert main(["matrix", "chicken", "--output", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text().startswith(start)
    capsys.readouterr()
    assert main(["matrix", "chicken", "--output", str(tmp_path / "a.gif")]) == 2
    assert "must end in .svg or .tex" in capsys.readouterr().err
