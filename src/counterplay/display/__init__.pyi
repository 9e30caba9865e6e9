"""The public names of this package, written by tools/exports.py; do not edit."""

from counterplay.display.equations import Equation as Equation
from counterplay.display.equations import EquationLine as EquationLine
from counterplay.display.equations import cfr_equations as cfr_equations
from counterplay.display.equations import learner_equations as learner_equations
from counterplay.display.infoset_table import InfosetRow as InfosetRow
from counterplay.display.infoset_table import PolicyGrid as PolicyGrid
from counterplay.display.infoset_table import infoset_rows as infoset_rows
from counterplay.display.infoset_table import policy_grids as policy_grids
from counterplay.display.tree_drawing import Drawing as Drawing
from counterplay.display.tree_drawing import draw_tree as draw_tree

__all__ = [
    "Drawing",
    "Equation",
    "EquationLine",
    "InfosetRow",
    "PolicyGrid",
    "cfr_equations",
    "draw_tree",
    "infoset_rows",
    "learner_equations",
    "policy_grids",
]
