"""The public names of this package, written by tools/exports.py; do not edit."""

from counterplay import abstraction as abstraction
from counterplay import algorithms as algorithms
from counterplay import concepts as concepts
from counterplay import display as display
from counterplay import distributed as distributed
from counterplay import experiment as experiment
from counterplay import games as games
from counterplay import holdem as holdem
from counterplay import interop as interop
from counterplay import matrix as matrix
from counterplay import play as play
from counterplay import search as search
from counterplay.algorithms.deep.common.learned_best_response import (
    learned_best_response as learned_best_response,
)
from counterplay.arenas.build import build_arena as build_arena
from counterplay.arenas.rules import RulesArena as RulesArena
from counterplay.arenas.rules import TabularPolicy as TabularPolicy
from counterplay.arenas.rules import load_tabular_policy as load_tabular_policy
from counterplay.arenas.tree.arena import TreeArena as TreeArena
from counterplay.arenas.tree.build import build_tree as build_tree
from counterplay.arenas.tree.size_estimate import estimate_size as estimate_size
from counterplay.arenas.tree.tree_io import load_tree as load_tree
from counterplay.core.evaluation import BestResponse as BestResponse
from counterplay.core.evaluation import Judgement as Judgement
from counterplay.core.evaluation import best_response as best_response
from counterplay.core.evaluation import expected_values as expected_values
from counterplay.core.evaluation import exploitability as exploitability
from counterplay.core.evaluation import infoset_values as infoset_values
from counterplay.core.evaluation import judge as judge
from counterplay.core.evaluation import mistakes as mistakes
from counterplay.core.evaluation import nash_conv as nash_conv
from counterplay.core.evaluation import overall_regret as overall_regret
from counterplay.core.game import CHANCE as CHANCE
from counterplay.core.game import Game as Game
from counterplay.core.game import TERMINAL as TERMINAL
from counterplay.core.game import check_game as check_game
from counterplay.core.policy import Policy as Policy
from counterplay.core.policy import load_policy as load_policy
from counterplay.core.policy import random_policy as random_policy
from counterplay.core.policy import uniform_policy as uniform_policy
from counterplay.core.solve import Algorithm as Algorithm
from counterplay.core.solve import Result as Result
from counterplay.core.solve import solve as solve
from counterplay.core.trust import TrustError as TrustError
from counterplay.core.trust import trust as trust
from counterplay.display.infoset_table import infoset_rows as infoset_rows
from counterplay.display.tree_drawing import draw_tree as draw_tree
from counterplay.distributed.sweeps import sweep as sweep
from counterplay.errors import ConfigError as ConfigError
from counterplay.errors import CounterplayError as CounterplayError
from counterplay.errors import GameError as GameError
from counterplay.errors import RunError as RunError
from counterplay.experiment import load_config as load_config
from counterplay.experiment import load_metrics as load_metrics
from counterplay.experiment import load_policies as load_policies
from counterplay.experiment import load_run as load_run
from counterplay.experiment import resume as resume
from counterplay.experiment import run as run
from counterplay.interop.game_files import save_game as save_game
from counterplay.kernels.runtime.threads import num_threads as num_threads
from counterplay.kernels.runtime.threads import set_num_threads as set_num_threads
from counterplay.play.bounds import local_best_response as local_best_response
from counterplay.play.episodes import play_episode as play_episode
from counterplay.play.match import head_to_head as head_to_head
from counterplay.registry import load_algorithm as load_algorithm
from counterplay.registry import load_game as load_game

__version__: str

__all__ = [
    "Algorithm",
    "BestResponse",
    "CHANCE",
    "ConfigError",
    "CounterplayError",
    "Game",
    "GameError",
    "Judgement",
    "Policy",
    "Result",
    "RulesArena",
    "RunError",
    "TERMINAL",
    "TabularPolicy",
    "TreeArena",
    "TrustError",
    "abstraction",
    "algorithms",
    "best_response",
    "build_arena",
    "build_tree",
    "check_game",
    "concepts",
    "display",
    "distributed",
    "draw_tree",
    "estimate_size",
    "expected_values",
    "experiment",
    "exploitability",
    "games",
    "head_to_head",
    "holdem",
    "infoset_rows",
    "infoset_values",
    "interop",
    "judge",
    "learned_best_response",
    "load_algorithm",
    "load_config",
    "load_game",
    "load_metrics",
    "load_policies",
    "load_policy",
    "load_run",
    "load_tabular_policy",
    "load_tree",
    "local_best_response",
    "matrix",
    "mistakes",
    "nash_conv",
    "num_threads",
    "overall_regret",
    "play",
    "play_episode",
    "random_policy",
    "resume",
    "run",
    "save_game",
    "search",
    "set_num_threads",
    "solve",
    "sweep",
    "trust",
    "uniform_policy",
]
