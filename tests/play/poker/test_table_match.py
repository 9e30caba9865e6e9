"""Matches of blueprints in compiled code: the episodes of the general match, experts included."""

from __future__ import annotations

import numpy as np
import pytest

from counterplay.abstraction.betting_policy import BettingPolicy, betting_tables, stitch
from counterplay.abstraction.holdem_buckets import BucketedGame
from counterplay.play.match import Match
from counterplay.play.poker.table_match import TableMatch, new_match
from counterplay.registry import load_abstraction, load_game
from tests.play.poker.class_buckets import RULE, random_policy, use_class_buckets

THREE_SEATS = "poker(players=3,blinds=(5,10,0),opens=(2,0,0,0),raise_caps=(1,1,1,1))"
SIDE_POTS = (
    "poker(players=3,blinds=(50,100,0),stacks=(300,900,500),opens=(2,0,0,0),raises=(),"
    "raise_caps=(),sizes='a')"
)


@pytest.fixture(scope="module", autouse=True)
def buckets():
    with pytest.MonkeyPatch.context() as patch:
        use_class_buckets(patch)
        yield


def make_game(spec, **settings):
    return BucketedGame(load_game(spec), load_abstraction("by_equity", **RULE | settings))


def random_expert(game, part, base, seed):
    weights = np.random.default_rng(seed).random(betting_tables(game, part).num_entries)
    return BettingPolicy(game, weights.astype(np.float32), part, base)


@pytest.mark.parametrize("spec", [THREE_SEATS, SIDE_POTS])
def test_equals_the_general_match(spec):
    game = make_game(spec)
    agents = [random_policy(game, seed) for seed in range(3)]
    for count in (3, 2):
        fast, slow = (kind(game.full_game, agents[:count], 5) for kind in (TableMatch, Match))
        for match in (fast, slow):
            for _ in match.play(60):
                pass
        assert fast.num_episodes == slow.num_episodes == 60
        for one, other in zip(fast.result().scores, slow.result().scores, strict=True):
            assert one.mean == pytest.approx(other.mean, abs=1e-9)
            assert one.high == pytest.approx(other.high)


def test_stitched_policies_equal_the_general_match():
    """Experts have other buckets than the base, and each node is played by one of them."""
    coarse = make_game(THREE_SEATS)
    fine = make_game(THREE_SEATS, seed=1)  # another set of buckets, with the same sizes
    base = random_policy(coarse)
    experts = [random_expert(fine, part, base, k) for k, part in enumerate(("f", "cf", "rf"))]
    stitched = stitch(base, *experts)
    tables = stitched.tables
    for piece, node in ((experts[0], 1), (base, 2), (base, 0)):
        assert stitched.piece_at(node).part == piece.part
    game = coarse.full_game
    fast, slow = TableMatch(game, [stitched, base], 2), Match(game, [stitched, base], 2)
    for match in (fast, slow):
        for _ in match.play(60):
            pass
    assert fast.result().scores[0].mean == pytest.approx(slow.result().scores[0].mean, abs=1e-9)
    assert tables.game == game and isinstance(new_match(game, [stitched, base]), TableMatch)


def test_other_agents_play_the_general_match():
    game = make_game(THREE_SEATS)
    policy = random_policy(game)

    class Caller:
        def action_probabilities(self, state, player):
            return [float(action == 1) for action in game.full_game.actions(state)]

    match = new_match(game.full_game, [policy, Caller(), policy])
    assert type(match) is Match
    for _ in match.play(6):
        pass
    assert sum(score.mean for score in match.result().scores) == pytest.approx(0.0, abs=1e-9)
