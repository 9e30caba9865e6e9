"""Trees as TikZ and matrix games as LaTeX: one element per node, balanced and escaped."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

import counterplay as cp
from counterplay.display.latex import escape_latex, latex_matrix
from counterplay.display.tikz import tikz_tree
from counterplay.errors import ConfigError


def _compiles(body, tmp_path):
    """Return True if LaTeX accepts a body, or if there is no LaTeX with TikZ here."""
    if shutil.which("pdflatex") is None or shutil.which("kpsewhich") is None:
        return True
    if subprocess.run(["kpsewhich", "tikz.sty"], capture_output=True, timeout=60).returncode:
        return True
    text = rf"\documentclass{{article}}\usepackage{{tikz}}\begin{{document}}{body}\end{{document}}"
    (tmp_path / "x.tex").write_text(text)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "x.tex"]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120)
    return answer.returncode == 0


def test_tree_has_every_node_edge_and_utility(tmp_path):
    tree = cp.build_tree("kuhn_poker")
    text = tikz_tree(tree, cp.uniform_policy(tree))
    decisions = int((tree.player >= 0).sum())
    assert text.count(r"\node[decision=") == decisions
    assert text.count(r"\node[terminal]") == text.count(r"\node[utility]") == 30
    assert len(re.findall(r"\\draw\[[^]]*\] \([^)]*\) -- ", text)) == len(tree.player) - 1
    assert text.count("dashed") == decisions - tree.num_infosets
    assert r"pass\\1/2" in text
    assert _compiles(text, tmp_path)


def test_depth_cuts_the_picture():
    tree = cp.build_tree("kuhn_poker")
    assert tikz_tree(tree, depth=1).count(r"$\cdots$") == 3
    with pytest.raises(ConfigError, match="branches to draw"):
        tikz_tree(cp.build_tree("leduc_poker"))


def test_matrix_has_a_cell_per_outcome(tmp_path):
    cells = [[[3, 3], [0, 5]], [[5, 0], [1, 1.5]]]
    text = latex_matrix(["C_1", "D"], ["C", "50 %"], cells)
    assert re.findall(r"\$([^$]*)\$", text) == ["3, 3", "0, 5", "5, 0", "1, 1.5"]
    assert r"C\_1 & $3, 3$ & $0, 5$ \\" in text
    assert _compiles(text, tmp_path)


def test_special_characters_are_escaped():
    assert escape_latex("a_b & 50 %") == r"a\_b \& 50 \%"
    assert escape_latex("\\{}") == r"\textbackslash{}\{\}"


def test_commands_write_latex(tmp_path, capsys):
    from counterplay.cli.main import main

    assert main(["draw", "kuhn_poker", "-o", str(tmp_path / "kuhn.tex")]) == 0
    assert (tmp_path / "kuhn.tex").read_text().count(r"\begin{tikzpicture}") == 1
    capsys.readouterr()
    assert main(["matrix", "chicken", "--latex"]) == 0
    assert capsys.readouterr().out.count("&") == 6
    assert main(["matrix", "matching_pennies_3p", "--latex"]) == 2
    assert "a LaTeX table has two" in capsys.readouterr().err
