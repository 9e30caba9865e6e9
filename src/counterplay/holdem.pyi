"""The public names of this package, written by tools/exports.py; do not edit."""

from counterplay.arenas.holdem.equity import compute_equity as compute_equity
from counterplay.arenas.holdem.flop_arena import FlopHoldemArena as FlopHoldemArena
from counterplay.arenas.holdem.flop_arena import load_flop_policy as load_flop_policy
from counterplay.arenas.holdem.hand_ranges import Range as Range
from counterplay.arenas.holdem.inspection import compare_nodes as compare_nodes
from counterplay.arenas.holdem.inspection import inspect_node as inspect_node
from counterplay.arenas.holdem.locks import lock_node as lock_node
from counterplay.arenas.holdem.solution import Solution as Solution
from counterplay.arenas.holdem.solution import load_solution as load_solution
from counterplay.arenas.holdem.spot import BetSizes as BetSizes
from counterplay.arenas.holdem.spot import Spot as Spot
from counterplay.arenas.holdem.spot_arena import SpotArena as SpotArena
from counterplay.display.hand_grid import draw_hand_grid as draw_hand_grid
from counterplay.play.spot_practice import SpotPractice as SpotPractice

__all__ = [
    "BetSizes",
    "FlopHoldemArena",
    "Range",
    "Solution",
    "Spot",
    "SpotArena",
    "SpotPractice",
    "compare_nodes",
    "compute_equity",
    "draw_hand_grid",
    "inspect_node",
    "load_flop_policy",
    "load_solution",
    "lock_node",
]
