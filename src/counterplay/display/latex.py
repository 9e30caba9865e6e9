"""Matrix games as LaTeX tables, and text with special characters."""

from __future__ import annotations

from collections.abc import Sequence


def latex_matrix(
    row_names: Sequence[str],
    column_names: Sequence[str],
    cells: Sequence[Sequence[Sequence[float]]],
) -> str:
    r"""Return a matrix game of two players as a LaTeX table.

    Args:
        row_names: actions of the row player.
        column_names: actions of the column player.
        cells: utilities of both players by row and column; one number if the game is zero-sum.

    Example:
        >>> from counterplay.display.latex import latex_matrix
        >>> print(latex_matrix(["a", "b"], ["c"], [[[1, 2]], [[0.5, -1]]]))
        \begin{tabular}{r|c|}
          \multicolumn{1}{c}{} & \multicolumn{1}{c}{c} \\ \cline{2-2}
          a & $1, 2$ \\ \cline{2-2}
          b & $0.5, -1$ \\ \cline{2-2}
        \end{tabular}
    """
    end = rf"\\ \cline{{2-{len(column_names) + 1}}}"
    header = [rf"\multicolumn{{1}}{{c}}{{{escape_latex(name)}}}" for name in ("", *column_names)]
    lines = [rf"\begin{{tabular}}{{r|{'c|' * len(column_names)}}}", f"  {' & '.join(header)} {end}"]
    for name, row in zip(row_names, cells, strict=True):
        numbers = [", ".join(f"{value:g}" for value in cell) for cell in row]
        body = " & ".join([escape_latex(name), *(f"${text}$" for text in numbers)])
        lines.append(f"  {body} {end}")
    return "\n".join([*lines, r"\end{tabular}"])


def escape_latex(text: str) -> str:
    """Return text with LaTeX's special characters escaped."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {"|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}"}
    special |= {character: f"\\{character}" for character in "&%$#_{}"}
    return "".join(special.get(character, character) for character in text)
