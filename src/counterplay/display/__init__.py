"""Tables, grids and drawings of policies and trees, as text, HTML, SVG and PNG.

Public names are imported when they are first used.
"""

from __future__ import annotations

from counterplay.lazy_exports import lazy_exports

_EXPORTS = {
    "equations": ["Equation", "EquationLine", "cfr_equations", "learner_equations"],
    "infoset_table": ["InfosetRow", "PolicyGrid", "infoset_rows", "policy_grids"],
    "widgets": ["LiveSolve", "policy_widget", "solve_widget", "tree_widget"],
    "matrix_drawing": ["draw_matrix"],
    "tree_drawing": ["Drawing", "draw_tree"],
}

__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
