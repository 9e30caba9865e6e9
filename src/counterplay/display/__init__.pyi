"""The public names of this package, written by tools/exports.py; do not edit."""

from counterplay.display.equations import Equation as Equation
from counterplay.display.equations import EquationLine as EquationLine
from counterplay.display.equations import cfr_equations as cfr_equations
from counterplay.display.equations import learner_equations as learner_equations
from counterplay.display.infoset_table import InfosetRow as InfosetRow
from counterplay.display.infoset_table import PolicyGrid as PolicyGrid
from counterplay.display.infoset_table import infoset_rows as infoset_rows
from counterplay.display.infoset_table import policy_grids as policy_grids
from counterplay.display.matrix_drawing import draw_matrix as draw_matrix
from counterplay.display.tree_drawing import Drawing as Drawing
from counterplay.display.tree_drawing import draw_tree as draw_tree
from counterplay.display.widgets import LiveSolve as LiveSolve
from counterplay.display.widgets import policy_widget as policy_widget
from counterplay.display.widgets import solve_widget as solve_widget
from counterplay.display.widgets import tree_widget as tree_widget

__all__ = [
    "Drawing",
    "Equation",
    "EquationLine",
    "InfosetRow",
    "LiveSolve",
    "PolicyGrid",
    "cfr_equations",
    "draw_matrix",
    "draw_tree",
    "infoset_rows",
    "learner_equations",
    "policy_grids",
    "policy_widget",
    "solve_widget",
    "tree_widget",
]
