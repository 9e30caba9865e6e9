"""Counterplay: every public name, for type checkers and editors.

Written by tools/exports.py from `_EXPORTS` and the registries; do not edit.
"""

from counterplay.abstraction.abstract import Abstraction as Abstraction
from counterplay.abstraction.abstract import abstract as abstract
from counterplay.abstraction.abstract import fix_policy as fix_policy
from counterplay.abstraction.by_equity import ByEquity as ByEquity
from counterplay.abstraction.by_rank import ByRank as ByRank
from counterplay.abstraction.grafting import graft as graft
from counterplay.bounding import LowerBound as LowerBound
from counterplay.bounding import local_best_response as local_best_response
from counterplay.consent import TrustError as TrustError
from counterplay.consent import trust as trust
from counterplay.control_variates import corrected as corrected
from counterplay.control_variates import tree_values as tree_values
from counterplay.deep.ach import ACH as ACH
from counterplay.deep.deep_cfr import DeepCFR as DeepCFR
from counterplay.deep.deep_hedge import DeepHedge as DeepHedge
from counterplay.deep.deep_mmd import DeepMMD as DeepMMD
from counterplay.deep.dream import DREAM as DREAM
from counterplay.deep.escher import ESCHER as ESCHER
from counterplay.deep.league import League as League
from counterplay.deep.learned_bound import learned_best_response as learned_best_response
from counterplay.deep.neurd import NeuRD as NeuRD
from counterplay.deep.nfsp import NFSP as NFSP
from counterplay.deep.nfsp_ppo import NFSPPPO as NFSPPPO
from counterplay.deep.nfsp_sac import NFSPSAC as NFSPSAC
from counterplay.deep.ppo import PPO as PPO
from counterplay.deep.qpg import QPG as QPG
from counterplay.deep.r_nad import RNaD as RNaD
from counterplay.deep.rmpg import RMPG as RMPG
from counterplay.deep.rpg import RPG as RPG
from counterplay.deep.sd_cfr import SDCFR as SDCFR
from counterplay.deep.vr_deep_dcfr_plus import VRDeepDCFRPlus as VRDeepDCFRPlus
from counterplay.deep.vr_deep_pdcfr_plus import VRDeepPDCFRPlus as VRDeepPDCFRPlus
from counterplay.errors import ConfigError as ConfigError
from counterplay.errors import CounterplayError as CounterplayError
from counterplay.errors import GameError as GameError
from counterplay.errors import RunError as RunError
from counterplay.evaluate import BestResponse as BestResponse
from counterplay.evaluate import InfosetValues as InfosetValues
from counterplay.evaluate import Judgement as Judgement
from counterplay.evaluate import Mistakes as Mistakes
from counterplay.evaluate import best_response as best_response
from counterplay.evaluate import expected_values as expected_values
from counterplay.evaluate import exploitability as exploitability
from counterplay.evaluate import infoset_values as infoset_values
from counterplay.evaluate import judge as judge
from counterplay.evaluate import mistakes as mistakes
from counterplay.evaluate import nash_conv as nash_conv
from counterplay.experiment import Run as Run
from counterplay.experiment import RunResult as RunResult
from counterplay.experiment import load_config as load_config
from counterplay.experiment import load_metrics as load_metrics
from counterplay.experiment import load_policies as load_policies
from counterplay.experiment import load_run as load_run
from counterplay.experiment import metrics_table as metrics_table
from counterplay.experiment import new_run as new_run
from counterplay.experiment import open_run as open_run
from counterplay.experiment import resume as resume
from counterplay.experiment import run as run
from counterplay.game import CHANCE as CHANCE
from counterplay.game import DescribedGame as DescribedGame
from counterplay.game import DrawnGame as DrawnGame
from counterplay.game import Game as Game
from counterplay.game import GridGame as GridGame
from counterplay.game import ObservedGame as ObservedGame
from counterplay.game import TERMINAL as TERMINAL
from counterplay.game import check_game as check_game
from counterplay.game import choices_of as choices_of
from counterplay.game import place_in_grid as place_in_grid
from counterplay.game import situation as situation
from counterplay.games.battle_of_the_sexes import BattleOfTheSexes as BattleOfTheSexes
from counterplay.games.chicken import Chicken as Chicken
from counterplay.games.connect_four import ConnectFour as ConnectFour
from counterplay.games.dark_hex import DarkHex as DarkHex
from counterplay.games.flop_holdem import FlopHoldem as FlopHoldem
from counterplay.games.goofspiel import Goofspiel as Goofspiel
from counterplay.games.grid_duel import GridDuel as GridDuel
from counterplay.games.king_ace_poker import KingAcePoker as KingAcePoker
from counterplay.games.kriegspiel import Kriegspiel as Kriegspiel
from counterplay.games.kuhn_poker import KuhnPoker as KuhnPoker
from counterplay.games.leduc_poker import LeducPoker as LeducPoker
from counterplay.games.liars_dice import LiarsDice as LiarsDice
from counterplay.games.limit_holdem import LimitHoldem as LimitHoldem
from counterplay.games.matching_pennies import MatchingPennies as MatchingPennies
from counterplay.games.matching_pennies_3p import MatchingPennies3P as MatchingPennies3P
from counterplay.games.matrix_game import MatrixGame as MatrixGame
from counterplay.games.no_limit_holdem import NoLimitHoldem as NoLimitHoldem
from counterplay.games.phantom_tic_tac_toe import PhantomTicTacToe as PhantomTicTacToe
from counterplay.games.prisoners_dilemma import PrisonersDilemma as PrisonersDilemma
from counterplay.games.rock_paper_scissors import RockPaperScissors as RockPaperScissors
from counterplay.games.shapleys_game import ShapleysGame as ShapleysGame
from counterplay.games.tic_tac_toe import TicTacToe as TicTacToe
from counterplay.generated.choosing import build_arena as build_arena
from counterplay.interop.files import save_game as save_game
from counterplay.interop.gymnasium_env import BestResponseEnv as BestResponseEnv
from counterplay.interop.gymnasium_env import judge_agent as judge_agent
from counterplay.interop.openspiel_game import to_openspiel as to_openspiel
from counterplay.interop.openspiel_policy import from_openspiel_policy as from_openspiel_policy
from counterplay.interop.openspiel_policy import to_pyspiel_policy as to_pyspiel_policy
from counterplay.interop.openspiel_policy import to_python_policy as to_python_policy
from counterplay.interop.pettingzoo_env import CounterplayAEC as CounterplayAEC
from counterplay.kernels.threads import num_threads as num_threads
from counterplay.kernels.threads import set_num_threads as set_num_threads
from counterplay.matrix.alpha_rank import alpha_rank as alpha_rank
from counterplay.matrix.alpha_rank import (
    single_population_alpha_rank as single_population_alpha_rank,
)
from counterplay.matrix.checking import coarse_deviation as coarse_deviation
from counterplay.matrix.checking import correlated_deviation as correlated_deviation
from counterplay.matrix.checking import nash_deviation as nash_deviation
from counterplay.matrix.correlated import (
    coarse_correlated_equilibrium as coarse_correlated_equilibrium,
)
from counterplay.matrix.correlated import correlated_equilibrium as correlated_equilibrium
from counterplay.matrix.dominance import dominance as dominance
from counterplay.matrix.dominance import dominated_actions as dominated_actions
from counterplay.matrix.dominance import eliminate as eliminate
from counterplay.matrix.fictitious_play import FictitiousPlay as FictitiousPlay
from counterplay.matrix.hedge import Hedge as Hedge
from counterplay.matrix.learning import learn as learn
from counterplay.matrix.lemke_howson import lemke_howson as lemke_howson
from counterplay.matrix.nash import nash_equilibria as nash_equilibria
from counterplay.matrix.nash_nlp import nash_nlp as nash_nlp
from counterplay.matrix.normal_form import NormalForm as NormalForm
from counterplay.matrix.normal_form import normal_form as normal_form
from counterplay.matrix.pure_policies import count_pure_policies as count_pure_policies
from counterplay.matrix.pure_policies import pure_policies as pure_policies
from counterplay.matrix.regret_matching import RegretMatching as RegretMatching
from counterplay.matrix.regret_matching_plus import RegretMatchingPlus as RegretMatchingPlus
from counterplay.matrix.replicator_dynamics import ReplicatorDynamics as ReplicatorDynamics
from counterplay.matrix.support_enumeration import support_enumeration as support_enumeration
from counterplay.matrix.zero_sum_lp import zero_sum_lp as zero_sum_lp
from counterplay.playing import Estimate as Estimate
from counterplay.playing import head_to_head as head_to_head
from counterplay.playing import play_episode as play_episode
from counterplay.policy import Policy as Policy
from counterplay.policy import load_policy as load_policy
from counterplay.policy import random_policy as random_policy
from counterplay.policy import uniform_policy as uniform_policy
from counterplay.population.alpha_psro import AlphaPSRO as AlphaPSRO
from counterplay.population.anytime_psro import AnytimePSRO as AnytimePSRO
from counterplay.population.double_oracle import DoubleOracle as DoubleOracle
from counterplay.population.jpsro import JPSRO as JPSRO
from counterplay.population.nxdo import NXDO as NXDO
from counterplay.population.p2sro import P2SRO as P2SRO
from counterplay.population.psro import PSRO as PSRO
from counterplay.population.rectified_psro import RectifiedPSRO as RectifiedPSRO
from counterplay.population.sp_psro import SPPSRO as SPPSRO
from counterplay.population.xdo import XDO as XDO
from counterplay.public.equity import equity as equity
from counterplay.public.flop_tree import FlopTree as FlopTree
from counterplay.public.flop_tree import load_flop_policy as load_flop_policy
from counterplay.public.grids import draw_grid as draw_grid
from counterplay.public.locking import lock_record as lock_record
from counterplay.public.looking import difference as difference
from counterplay.public.looking import look as look
from counterplay.public.ranges import Range as Range
from counterplay.public.solution import Solution as Solution
from counterplay.public.solution import load_solution as load_solution
from counterplay.public.sparring import Sparring as Sparring
from counterplay.public.spot import Sizes as Sizes
from counterplay.public.spot import Spot as Spot
from counterplay.public.tree import PublicTree as PublicTree
from counterplay.registry import load_abstraction as load_abstraction
from counterplay.registry import load_algorithm as load_algorithm
from counterplay.registry import load_game as load_game
from counterplay.registry import load_learner as load_learner
from counterplay.registry import load_searcher as load_searcher
from counterplay.sampled import SampledGame as SampledGame
from counterplay.sampled import SampledPolicy as SampledPolicy
from counterplay.sampled import load_sampled_policy as load_sampled_policy
from counterplay.scale.standings import standings as standings
from counterplay.scale.study import load_study as load_study
from counterplay.scale.sweeping import sweep as sweep
from counterplay.search.alpha_beta import AlphaBeta as AlphaBeta
from counterplay.search.evaluation import middle_first as middle_first
from counterplay.search.evaluation import observed as observed
from counterplay.search.evaluation import open_lines as open_lines
from counterplay.search.evaluation import rollout as rollout
from counterplay.search.evaluation import weighted_features as weighted_features
from counterplay.search.expectiminimax import Expectiminimax as Expectiminimax
from counterplay.search.mcts import MCTS as MCTS
from counterplay.search.minimax import Minimax as Minimax
from counterplay.search.searching import SearchPolicy as SearchPolicy
from counterplay.showing.infosets import Grid as Grid
from counterplay.showing.infosets import InfosetRow as InfosetRow
from counterplay.showing.infosets import grids as grids
from counterplay.showing.infosets import infoset_rows as infoset_rows
from counterplay.showing.picture import TreePicture as TreePicture
from counterplay.showing.picture import draw_tree as draw_tree
from counterplay.solving import Algorithm as Algorithm
from counterplay.solving import Record as Record
from counterplay.solving import Result as Result
from counterplay.solving import solve as solve
from counterplay.tabular.average_strategy_sampling import (
    AverageStrategySampling as AverageStrategySampling,
)
from counterplay.tabular.batch_fsp import BatchFSP as BatchFSP
from counterplay.tabular.cfr import CFR as CFR
from counterplay.tabular.cfr_br import CFRBR as CFRBR
from counterplay.tabular.cfr_hedge import CFRHedge as CFRHedge
from counterplay.tabular.cfr_plus import CFRPlus as CFRPlus
from counterplay.tabular.chance_sampling import ChanceSampling as ChanceSampling
from counterplay.tabular.dcfr import DCFR as DCFR
from counterplay.tabular.external_sampling import ExternalSampling as ExternalSampling
from counterplay.tabular.fsp import FSP as FSP
from counterplay.tabular.linear_cfr import LinearCFR as LinearCFR
from counterplay.tabular.mmd import MMD as MMD
from counterplay.tabular.online_outcome_sampling import OnlineLearner as OnlineLearner
from counterplay.tabular.online_outcome_sampling import (
    OnlineOutcomeSampling as OnlineOutcomeSampling,
)
from counterplay.tabular.outcome_sampling import OutcomeSampling as OutcomeSampling
from counterplay.tabular.pcfr_plus import PCFRPlus as PCFRPlus
from counterplay.tabular.pdcfr_plus import PDCFRPlus as PDCFRPlus
from counterplay.tabular.probing import Probing as Probing
from counterplay.tabular.qre import QRE as QRE
from counterplay.tabular.sequence_form_lp import SequenceFormLP as SequenceFormLP
from counterplay.tabular.sequence_form_lp import sequence_form_lp as sequence_form_lp
from counterplay.tabular.table_lookup_fsp import TableLookupFSP as TableLookupFSP
from counterplay.tabular.tabular_r_nad import TabularRNaD as TabularRNaD
from counterplay.tabular.vr_mccfr import VRMCCFR as VRMCCFR
from counterplay.tabular.vr_mccfr_plus import VRMCCFRPlus as VRMCCFRPlus
from counterplay.tabular.xfp import XFP as XFP
from counterplay.tree import Tree as Tree
from counterplay.tree.estimating import estimate_size as estimate_size
from counterplay.tree.loading import load_tree as load_tree
from counterplay.tree.machines import Machine as Machine
from counterplay.tree.machines import check_machine as check_machine
from counterplay.tree.machines import machine_of as machine_of
from counterplay.tree.unrolling import build_tree as build_tree

__version__: str

__all__ = [
    "ACH",
    "Abstraction",
    "Algorithm",
    "AlphaBeta",
    "AlphaPSRO",
    "AnytimePSRO",
    "AverageStrategySampling",
    "BatchFSP",
    "BattleOfTheSexes",
    "BestResponse",
    "BestResponseEnv",
    "ByEquity",
    "ByRank",
    "CFR",
    "CFRBR",
    "CFRHedge",
    "CFRPlus",
    "CHANCE",
    "ChanceSampling",
    "Chicken",
    "ConfigError",
    "ConnectFour",
    "CounterplayAEC",
    "CounterplayError",
    "DCFR",
    "DREAM",
    "DarkHex",
    "DeepCFR",
    "DeepHedge",
    "DeepMMD",
    "DescribedGame",
    "DoubleOracle",
    "DrawnGame",
    "ESCHER",
    "Estimate",
    "Expectiminimax",
    "ExternalSampling",
    "FSP",
    "FictitiousPlay",
    "FlopHoldem",
    "FlopTree",
    "Game",
    "GameError",
    "Goofspiel",
    "Grid",
    "GridDuel",
    "GridGame",
    "Hedge",
    "InfosetRow",
    "InfosetValues",
    "JPSRO",
    "Judgement",
    "KingAcePoker",
    "Kriegspiel",
    "KuhnPoker",
    "League",
    "LeducPoker",
    "LiarsDice",
    "LimitHoldem",
    "LinearCFR",
    "LowerBound",
    "MCTS",
    "MMD",
    "Machine",
    "MatchingPennies",
    "MatchingPennies3P",
    "MatrixGame",
    "Minimax",
    "Mistakes",
    "NFSP",
    "NFSPPPO",
    "NFSPSAC",
    "NXDO",
    "NeuRD",
    "NoLimitHoldem",
    "NormalForm",
    "ObservedGame",
    "OnlineLearner",
    "OnlineOutcomeSampling",
    "OutcomeSampling",
    "P2SRO",
    "PCFRPlus",
    "PDCFRPlus",
    "PPO",
    "PSRO",
    "PhantomTicTacToe",
    "Policy",
    "PrisonersDilemma",
    "Probing",
    "PublicTree",
    "QPG",
    "QRE",
    "RMPG",
    "RNaD",
    "RPG",
    "Range",
    "Record",
    "RectifiedPSRO",
    "RegretMatching",
    "RegretMatchingPlus",
    "ReplicatorDynamics",
    "Result",
    "RockPaperScissors",
    "Run",
    "RunError",
    "RunResult",
    "SDCFR",
    "SPPSRO",
    "SampledGame",
    "SampledPolicy",
    "SearchPolicy",
    "SequenceFormLP",
    "ShapleysGame",
    "Sizes",
    "Solution",
    "Sparring",
    "Spot",
    "TERMINAL",
    "TableLookupFSP",
    "TabularRNaD",
    "TicTacToe",
    "Tree",
    "TreePicture",
    "TrustError",
    "VRDeepDCFRPlus",
    "VRDeepPDCFRPlus",
    "VRMCCFR",
    "VRMCCFRPlus",
    "XDO",
    "XFP",
    "abstract",
    "alpha_rank",
    "best_response",
    "build_arena",
    "build_tree",
    "check_game",
    "check_machine",
    "choices_of",
    "coarse_correlated_equilibrium",
    "coarse_deviation",
    "corrected",
    "correlated_deviation",
    "correlated_equilibrium",
    "count_pure_policies",
    "difference",
    "dominance",
    "dominated_actions",
    "draw_grid",
    "draw_tree",
    "eliminate",
    "equity",
    "estimate_size",
    "expected_values",
    "exploitability",
    "fix_policy",
    "from_openspiel_policy",
    "graft",
    "grids",
    "head_to_head",
    "infoset_rows",
    "infoset_values",
    "judge",
    "judge_agent",
    "learn",
    "learned_best_response",
    "lemke_howson",
    "load_abstraction",
    "load_algorithm",
    "load_config",
    "load_flop_policy",
    "load_game",
    "load_learner",
    "load_metrics",
    "load_policies",
    "load_policy",
    "load_run",
    "load_sampled_policy",
    "load_searcher",
    "load_solution",
    "load_study",
    "load_tree",
    "local_best_response",
    "lock_record",
    "look",
    "machine_of",
    "metrics_table",
    "middle_first",
    "mistakes",
    "nash_conv",
    "nash_deviation",
    "nash_equilibria",
    "nash_nlp",
    "new_run",
    "normal_form",
    "num_threads",
    "observed",
    "open_lines",
    "open_run",
    "place_in_grid",
    "play_episode",
    "pure_policies",
    "random_policy",
    "resume",
    "rollout",
    "run",
    "save_game",
    "sequence_form_lp",
    "set_num_threads",
    "single_population_alpha_rank",
    "situation",
    "solve",
    "standings",
    "support_enumeration",
    "sweep",
    "to_openspiel",
    "to_pyspiel_policy",
    "to_python_policy",
    "tree_values",
    "trust",
    "uniform_policy",
    "weighted_features",
    "zero_sum_lp",
]
