"""Leaves of preflop trees that are valued by solved flops."""

from __future__ import annotations

import numpy as np
import pytest

from counterplay.arenas.holdem.flop_report import ReportSettings
from counterplay.arenas.holdem.spot import Spot
from counterplay.arenas.preflop.arena import PreflopArena
from counterplay.arenas.preflop.deck import FULL_DECK
from counterplay.arenas.preflop.flop_leaves import class_factors, has_flop, solve_classes
from counterplay.arenas.preflop.game import PreflopGame
from counterplay.arenas.preflop.solution import load_preflop_solution, solve_preflop
from counterplay.errors import ConfigError
from tests.arenas.holdem.spots import both

RAISES = {"push_fold": False, "raises": [["2.5x"], ["a"]]}
NO_BETS = {"flop": {}, "turn": {}, "river": {}}
FLOPS = {"flops": "8d8c5h", "rounds": 1, "iterations": 2, "sizes": NO_BETS}


def make_game(**entries):
    return PreflopGame.from_dict({"stacks": [20, 20], "betting": RAISES, **entries})


def test_factors_change_the_values_of_leaves_as_a_realisation_does():
    """All hands of the player out of position realise 0.8 of their equity, the others the rest."""
    plain = PreflopArena(make_game(leaves="realisation", realisation=0.8))
    factors = np.ones((len(plain.tree.leaves), 2, 169))
    for z, leaf in enumerate(plain.tree.leaves):
        if has_flop(leaf):
            factors[z, 1] = 0.8  # BB is out of position
    valued = PreflopArena(make_game(), factors)
    reach = plain.edge_reach(np.random.default_rng(0).random(plain.num_sequences + 1))
    expected = plain.deals.leaf_values(1, reach)
    np.testing.assert_allclose(valued.deals.leaf_values(1, reach), expected, atol=1e-12)
    assert not np.allclose(PreflopArena(make_game()).deals.leaf_values(1, reach), expected)


def test_without_bets_every_class_realises_its_equity():
    spot = Spot("8d8c5h", ("QQ,AKs", "AA,KQo"), 60, (90, 90), (both(),) * 3, rake=0.1)
    sums = solve_classes(spot, ReportSettings(target=0.0, iterations=1))
    factors = class_factors([sums], [1.0], 54.0)
    played = [(0, "QQ"), (0, "AKs"), (1, "AA"), (1, "KQo")]
    for player, name in played:
        assert factors[player, FULL_DECK.class_index(name)] == pytest.approx(1.0, abs=1e-5)
    assert sums.mass[0, FULL_DECK.class_index("AA")] == 0.0


def test_a_class_that_always_wins_bets_realises_more_than_its_equity():
    """Aces against queens that must call or fold: with no free card QQ realises less."""
    spot = Spot("8d8c5h", ("QQ,22", "AA,77"), 60, (600, 600), (both("a"), both(), both()))
    factors = class_factors(
        [solve_classes(spot, ReportSettings(target=0.3, iterations=300))], [1.0], 60.0
    )
    assert factors[1, FULL_DECK.class_index("AA")] > 1.02
    assert factors[0, FULL_DECK.class_index("QQ")] < 1.0


@pytest.mark.slow
def test_solved_flops_without_bets_are_checked_down(tmp_path):
    options = {"iterations": 60, "target": 0.0}
    plain = solve_preflop(make_game(), **options)
    messages = []
    game = make_game(leaves="solved_flops", solved_flops=FLOPS)
    solution = solve_preflop(game, **options, notify=messages.append)
    assert messages == ["solving 1 lines on 1 flops each"]
    assert solution.values == pytest.approx(plain.values, abs=2e-3)
    assert "solved flops" in solution.note
    solution.save(tmp_path / "solved.cpf")
    loaded = load_preflop_solution(tmp_path / "solved.cpf")
    np.testing.assert_array_equal(loaded.arena.realised_factors, solution.arena.realised_factors)


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ({"payouts": [60, 40]}, "for cash games"),
        ({"deck": {"ranks": 9, "ranking": "short_deck"}}, "52 cards"),
        ({"stacks": [20, 20, 20]}, "set betting.max_players to 2"),
        ({"solved_flops": {"flops": "30"}}, "must be 25, 49, 95, 184, all"),
        ({"solved_flops": {"rounds": 0}}, "solved_flops.rounds is 0, must be at least 1"),
        ({"solved_flops": {"sizes": {"flop": {"bet": "x"}}}}, "bet sizes 'x'"),
        ({"leaves": "checked_down", "solved_flops": {"rounds": 3}}, 'needs leaves "solved_flops"'),
    ],
)
def test_games_without_spots_are_refused(entries, problem):
    with pytest.raises(ConfigError, match=problem):
        make_game(**({"leaves": "solved_flops"} | entries))
