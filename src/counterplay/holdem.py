"""Hold'em: spots, ranges, equity, games before the flop, node locks, practice and drawings.

`counterplay.holdem` gathers public names of several packages; they are imported on first use.
"""

from __future__ import annotations

from counterplay.lazy_exports import lazy_exports

_EXPORTS = {
    "counterplay.arenas.holdem.equity": ["compute_equity"],
    "counterplay.arenas.holdem.flop_report": [
        "FlopReport",
        "ReportSettings",
        "load_flop_report",
        "solve_flop_report",
    ],
    "counterplay.arenas.holdem.flops": ["flop_subset", "flop_texture"],
    "counterplay.display.flop_report_page": ["flop_report_page"],
    "counterplay.arenas.holdem.game_arena": ["HoldemGameArena", "load_holdem_policy"],
    "counterplay.arenas.holdem.game_inspection": ["inspect_game_node"],
    "counterplay.arenas.holdem.game_locks": ["lock_game_node"],
    "counterplay.arenas.holdem.game_depth_limited": [
        "bias_holdem_policy",
        "solve_nested",
        "solve_to_street",
    ],
    "counterplay.arenas.holdem.game_subgames": ["StreetSubgames", "resolve_street"],
    "counterplay.display.hand_grid": ["draw_hand_grid"],
    "counterplay.arenas.holdem.locks": ["lock_node"],
    "counterplay.arenas.holdem.inspection": ["compare_nodes", "inspect_node"],
    "counterplay.arenas.holdem.hand_ranges": ["Range"],
    "counterplay.arenas.holdem.solution": ["Solution", "load_solution"],
    "counterplay.arenas.holdem.all_flops_ev": ["AllFlopsEV", "estimate_all_flops_ev"],
    "counterplay.arenas.holdem.omaha": ["OmahaArena", "OmahaSpot", "parse_omaha_range"],
    "counterplay.arenas.preflop.arena": ["PreflopArena"],
    "counterplay.arenas.preflop.chart": ["PushFoldChart", "push_fold_chart"],
    "counterplay.arenas.preflop.dealt_gains": ["DealtGains", "measure_dealt_gains"],
    "counterplay.arenas.preflop.deck": ["FULL_DECK", "SHORT_DECK", "Deck"],
    "counterplay.arenas.preflop.equity_tables": ["EquityTable", "equity_table"],
    "counterplay.arenas.preflop.game": ["BettingConfig", "DeckConfig", "PreflopGame"],
    "counterplay.arenas.preflop.icm": ["icm_equities"],
    "counterplay.arenas.preflop.multiway": [
        "ExactEquities",
        "SampledEquities",
        "multiway_equity",
    ],
    "counterplay.arenas.preflop.solution": [
        "PreflopSolution",
        "load_preflop_solution",
        "solve_preflop",
    ],
    "counterplay.play.spot_practice": ["SpotPractice"],
    "counterplay.arenas.holdem.spot": ["BetSizes", "Spot"],
    "counterplay.arenas.holdem.spot_arena": ["SpotArena"],
}

__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
