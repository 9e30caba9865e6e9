"""The public names of this package, written by tools/exports.py; do not edit."""

from counterplay.arenas.public_states import PublicStates as PublicStates
from counterplay.arenas.public_states import PublicValues as PublicValues
from counterplay.arenas.public_states import (
    counterfactual_best_response_values as counterfactual_best_response_values,
)
from counterplay.arenas.public_states import public_states as public_states
from counterplay.arenas.public_states import public_values as public_values
from counterplay.arenas.subgame import Subgame as Subgame
from counterplay.arenas.subgame import build_subgame as build_subgame
from counterplay.arenas.subgame import resolve_policy as resolve_policy
from counterplay.arenas.subgame import solve_outside_actions as solve_outside_actions
from counterplay.core.rewards import AccumulatedRewards as AccumulatedRewards
from counterplay.core.rewards import RewardGame as RewardGame
from counterplay.play.poker.blueprint_search import BlueprintSearch as BlueprintSearch
from counterplay.play.poker.hunl import HoldemAgentConfig as HoldemAgentConfig
from counterplay.registry import load_search_agent as load_search_agent
from counterplay.registry import load_searcher as load_searcher
from counterplay.search.alpha_beta import AlphaBeta as AlphaBeta
from counterplay.search.belief_search import BeliefSearch as BeliefSearch
from counterplay.search.depth_limited import DepthLimitedArena as DepthLimitedArena
from counterplay.search.depth_limited import bias_policy as bias_policy
from counterplay.search.depth_limited import continuation_leaves as continuation_leaves
from counterplay.search.depth_limited import leaf_states as leaf_states
from counterplay.search.depth_limited import solve_leaves as solve_leaves
from counterplay.search.evaluation_functions import middle_first_order as middle_first_order
from counterplay.search.evaluation_functions import network_evaluation as network_evaluation
from counterplay.search.evaluation_functions import open_lines_evaluation as open_lines_evaluation
from counterplay.search.evaluation_functions import rollout_evaluation as rollout_evaluation
from counterplay.search.evaluation_functions import (
    weighted_sum_evaluation as weighted_sum_evaluation,
)
from counterplay.search.expectimax import Expectimax as Expectimax
from counterplay.search.expectiminimax import Expectiminimax as Expectiminimax
from counterplay.search.is_mcts import ISMCTS as ISMCTS
from counterplay.search.mcts import MCTS as MCTS
from counterplay.search.minimax import Minimax as Minimax
from counterplay.search.mirror_search import MirrorSearch as MirrorSearch
from counterplay.search.oos import OOS as OOS
from counterplay.search.pimc import PIMC as PIMC
from counterplay.search.resolving import Resolving as Resolving
from counterplay.search.searcher import SearchAgent as SearchAgent
from counterplay.search.smooth_uct import SmoothUCT as SmoothUCT
from counterplay.search.tabulation import TabulatedAgent as TabulatedAgent
from counterplay.search.tabulation import tabulate_agent as tabulate_agent

__all__ = [
    "AccumulatedRewards",
    "AlphaBeta",
    "BeliefSearch",
    "BlueprintSearch",
    "DepthLimitedArena",
    "Expectimax",
    "Expectiminimax",
    "HoldemAgentConfig",
    "ISMCTS",
    "MCTS",
    "Minimax",
    "MirrorSearch",
    "OOS",
    "PIMC",
    "PublicStates",
    "PublicValues",
    "Resolving",
    "RewardGame",
    "SearchAgent",
    "SmoothUCT",
    "Subgame",
    "TabulatedAgent",
    "bias_policy",
    "build_subgame",
    "continuation_leaves",
    "counterfactual_best_response_values",
    "leaf_states",
    "load_search_agent",
    "load_searcher",
    "middle_first_order",
    "network_evaluation",
    "open_lines_evaluation",
    "public_states",
    "public_values",
    "resolve_policy",
    "rollout_evaluation",
    "solve_leaves",
    "solve_outside_actions",
    "tabulate_agent",
    "weighted_sum_evaluation",
]
