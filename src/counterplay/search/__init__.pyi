"""The public names of this package, written by tools/exports.py; do not edit."""

from counterplay.registry import load_searcher as load_searcher
from counterplay.search.alpha_beta import AlphaBeta as AlphaBeta
from counterplay.search.evaluation_functions import middle_first_order as middle_first_order
from counterplay.search.evaluation_functions import network_evaluation as network_evaluation
from counterplay.search.evaluation_functions import open_lines_evaluation as open_lines_evaluation
from counterplay.search.evaluation_functions import rollout_evaluation as rollout_evaluation
from counterplay.search.evaluation_functions import (
    weighted_sum_evaluation as weighted_sum_evaluation,
)
from counterplay.search.expectiminimax import Expectiminimax as Expectiminimax
from counterplay.search.mcts import MCTS as MCTS
from counterplay.search.minimax import Minimax as Minimax
from counterplay.search.searcher import SearchAgent as SearchAgent

__all__ = [
    "AlphaBeta",
    "Expectiminimax",
    "MCTS",
    "Minimax",
    "SearchAgent",
    "load_searcher",
    "middle_first_order",
    "network_evaluation",
    "open_lines_evaluation",
    "rollout_evaluation",
    "weighted_sum_evaluation",
]
