"""The public names of this package, written by tools/exports.py; do not edit."""

from counterplay.arenas.holdem.all_flops_ev import AllFlopsEV as AllFlopsEV
from counterplay.arenas.holdem.all_flops_ev import estimate_all_flops_ev as estimate_all_flops_ev
from counterplay.arenas.holdem.equity import compute_equity as compute_equity
from counterplay.arenas.holdem.flop_report import FlopReport as FlopReport
from counterplay.arenas.holdem.flop_report import ReportSettings as ReportSettings
from counterplay.arenas.holdem.flop_report import load_flop_report as load_flop_report
from counterplay.arenas.holdem.flop_report import solve_flop_report as solve_flop_report
from counterplay.arenas.holdem.flops import flop_subset as flop_subset
from counterplay.arenas.holdem.flops import flop_texture as flop_texture
from counterplay.arenas.holdem.game_arena import HoldemGameArena as HoldemGameArena
from counterplay.arenas.holdem.game_arena import load_holdem_policy as load_holdem_policy
from counterplay.arenas.holdem.game_depth_limited import bias_holdem_policy as bias_holdem_policy
from counterplay.arenas.holdem.game_depth_limited import solve_nested as solve_nested
from counterplay.arenas.holdem.game_depth_limited import solve_to_street as solve_to_street
from counterplay.arenas.holdem.game_inspection import inspect_game_node as inspect_game_node
from counterplay.arenas.holdem.game_locks import lock_game_node as lock_game_node
from counterplay.arenas.holdem.game_subgames import StreetSubgames as StreetSubgames
from counterplay.arenas.holdem.game_subgames import resolve_street as resolve_street
from counterplay.arenas.holdem.hand_ranges import Range as Range
from counterplay.arenas.holdem.inspection import compare_nodes as compare_nodes
from counterplay.arenas.holdem.inspection import inspect_node as inspect_node
from counterplay.arenas.holdem.locks import lock_node as lock_node
from counterplay.arenas.holdem.omaha import OmahaArena as OmahaArena
from counterplay.arenas.holdem.omaha import OmahaSpot as OmahaSpot
from counterplay.arenas.holdem.omaha import parse_omaha_range as parse_omaha_range
from counterplay.arenas.holdem.solution import Solution as Solution
from counterplay.arenas.holdem.solution import load_solution as load_solution
from counterplay.arenas.holdem.spot import BetSizes as BetSizes
from counterplay.arenas.holdem.spot import Spot as Spot
from counterplay.arenas.holdem.spot_arena import SpotArena as SpotArena
from counterplay.arenas.preflop.arena import PreflopArena as PreflopArena
from counterplay.arenas.preflop.chart import PushFoldChart as PushFoldChart
from counterplay.arenas.preflop.chart import push_fold_chart as push_fold_chart
from counterplay.arenas.preflop.dealt_gains import DealtGains as DealtGains
from counterplay.arenas.preflop.dealt_gains import measure_dealt_gains as measure_dealt_gains
from counterplay.arenas.preflop.deck import Deck as Deck
from counterplay.arenas.preflop.deck import FULL_DECK as FULL_DECK
from counterplay.arenas.preflop.deck import SHORT_DECK as SHORT_DECK
from counterplay.arenas.preflop.equity_tables import EquityTable as EquityTable
from counterplay.arenas.preflop.equity_tables import equity_table as equity_table
from counterplay.arenas.preflop.game import BettingConfig as BettingConfig
from counterplay.arenas.preflop.game import DeckConfig as DeckConfig
from counterplay.arenas.preflop.game import PreflopGame as PreflopGame
from counterplay.arenas.preflop.icm import icm_equities as icm_equities
from counterplay.arenas.preflop.multiway import ExactEquities as ExactEquities
from counterplay.arenas.preflop.multiway import SampledEquities as SampledEquities
from counterplay.arenas.preflop.multiway import multiway_equity as multiway_equity
from counterplay.arenas.preflop.solution import PreflopSolution as PreflopSolution
from counterplay.arenas.preflop.solution import load_preflop_solution as load_preflop_solution
from counterplay.arenas.preflop.solution import solve_preflop as solve_preflop
from counterplay.display.flop_report_page import flop_report_page as flop_report_page
from counterplay.display.hand_grid import draw_hand_grid as draw_hand_grid
from counterplay.play.spot_practice import SpotPractice as SpotPractice

__all__ = [
    "AllFlopsEV",
    "BetSizes",
    "BettingConfig",
    "DealtGains",
    "Deck",
    "DeckConfig",
    "EquityTable",
    "ExactEquities",
    "FULL_DECK",
    "FlopReport",
    "HoldemGameArena",
    "OmahaArena",
    "OmahaSpot",
    "PreflopArena",
    "PreflopGame",
    "PreflopSolution",
    "PushFoldChart",
    "Range",
    "ReportSettings",
    "SHORT_DECK",
    "SampledEquities",
    "Solution",
    "Spot",
    "SpotArena",
    "SpotPractice",
    "StreetSubgames",
    "bias_holdem_policy",
    "compare_nodes",
    "compute_equity",
    "draw_hand_grid",
    "equity_table",
    "estimate_all_flops_ev",
    "flop_report_page",
    "flop_subset",
    "flop_texture",
    "icm_equities",
    "inspect_game_node",
    "inspect_node",
    "load_flop_report",
    "load_holdem_policy",
    "load_preflop_solution",
    "load_solution",
    "lock_game_node",
    "lock_node",
    "measure_dealt_gains",
    "multiway_equity",
    "parse_omaha_range",
    "push_fold_chart",
    "resolve_street",
    "solve_flop_report",
    "solve_nested",
    "solve_preflop",
    "solve_to_street",
]
