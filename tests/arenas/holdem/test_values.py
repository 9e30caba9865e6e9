"""Values of spots: by hand, by plain enumeration, and counted from the node on."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import counterplay as cp
from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.betting import build_betting_tree
from counterplay.arenas.holdem.spot import BetSizes, Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.cli.main import main
from counterplay.studio.worker.studio_worker import StudioWorker
from tests.arenas.holdem.plain_betting import Config
from tests.arenas.holdem.plain_values import PlainSpot
from tests.arenas.holdem.spots import all_but, both
from tests.arenas.holdem.test_against_tree import places

DECK = [rank + suit for rank in "59TA" for suit in "chs"]
MAX_NODES = {3: 60, 4: 150, 5: 400}  # by cards on the board


@st.composite
def plain_spots(draw) -> PlainSpot:
    deck = draw(st.permutations(DECK))
    shown = draw(st.sampled_from([5, 5, 5, 4, 4, 3]))
    board, rest = deck[:shown], deck[shown:]
    hands = [(a, b) for i, a in enumerate(rest) for b in rest[:i]]
    size = 4 if shown > 3 else 2
    weights = st.sampled_from([1.0, 1.0, 0.5, 0.3])
    ranges = [
        {
            hand: draw(weights)
            for hand in draw(
                st.lists(st.sampled_from(hands), min_size=2, max_size=size, unique=True)
            )
        }
        for _ in (0, 1)
    ]
    bets = st.sampled_from(["", "33%", "50%", "e", "3c", "a", "50% a"])
    raises = st.sampled_from(["", "", "50%", "2.5x", "e", "3e", "a"])
    config = Config(
        street=shown - 3,
        pot=draw(st.integers(4, 30)),
        stack=draw(st.integers(3, 60)),
        bets=tuple((draw(bets), draw(bets)) for _ in range(3)),
        raises=tuple((draw(raises), draw(raises)) for _ in range(3)),
        donks=(None, *(draw(st.sampled_from([None, "", "25%"])) for _ in range(2))),
        force_all_in=draw(st.sampled_from([0.0, 0.2])),
    )
    rake = draw(st.sampled_from([0.0, 0.0, 0.05]))
    return PlainSpot(
        config, tuple(board), tuple(deck), (ranges[0], ranges[1]), rake, 1.0,
        seed=draw(st.integers(0, 9)),
    )  # fmt: skip


def range_text(hands: dict) -> str:
    return ",".join(f"{a}{b}:{weight}" for (a, b), weight in hands.items())


def spot_of(plain: PlainSpot) -> Spot:
    config = plain.config
    sizes = tuple(
        (
            BetSizes(config.bets[s][0], config.raises[s][0], config.donks[s]),
            BetSizes(config.bets[s][1], config.raises[s][1]),
        )
        for s in range(3)
    )
    return Spot(
        "".join(plain.board),
        (range_text(plain.ranges[0]), range_text(plain.ranges[1])),
        config.pot,
        (config.stack, config.stack),
        sizes,
        rake=plain.rake,
        rake_cap=plain.rake_cap,
        force_all_in=config.force_all_in,
        dead=all_but("".join(plain.deck)),
    )


def compare_values(plain: PlainSpot, choice: int) -> None:
    """Compare values at the start, and the EVs of hands at one decision."""
    spot = spot_of(plain)
    assume(len(build_betting_tree(spot).nodes) <= MAX_NODES[len(plain.board)])
    assume(any(True for _ in plain.pairs()))
    uniform = not plain.seed
    arena = SpotArena(spot, "float64", isomorphism=uniform)  # random policies tell suits apart
    weights = np.zeros(arena.num_sequences)
    if not uniform:
        for (player, key), (where, _) in places(arena).items():
            hand, _, record = key.partition(":")
            cards = (hand[:2], hand[2:])
            weights[where] = plain.policy(player, cards, record, where.size)
    policy = HoldemPolicy(arena, weights, weights[:0])
    np.testing.assert_allclose(cp.judge(arena, policy).values, plain.values(), atol=1e-9)
    decisions = list(arena.iter_decisions())
    node, board = decisions[choice % len(decisions)]
    record = arena.history(node, board)
    path = [word for word in record.replace("|", ",").split(",") if word]
    view = cp.holdem.inspect_node(policy, record)
    wanted = plain.hand_values(view.player, path)
    for hand, value, actions in zip(view.hands, view.value, view.action_value.T, strict=True):
        cards = next((h for h in wanted if set(h) == {hand[:2], hand[2:]}), None)
        if cards is not None:
            assert value == pytest.approx(wanted[cards], abs=1e-9)
            assert view.actions[0] != "fold" or actions[0] == 0.0


@settings(max_examples=25)
@given(plain_spots(), st.integers(0, 10**6))
def test_values_are_those_of_plain_enumeration(plain, choice):
    compare_values(plain, choice)


@pytest.mark.slow
@settings(max_examples=500)
@given(plain_spots(), st.integers(0, 10**6))
def test_many_values_are_those_of_plain_enumeration(plain, choice):
    compare_values(plain, choice)


ALL_IN = Spot("2s3h4d6c7c", ("AsAh,QsQh", "KsKh"), 20, (10, 10), (both(), both(), both("a")))


def uniform_policy(arena: SpotArena) -> HoldemPolicy:
    empty = np.zeros(arena.num_sequences)
    return HoldemPolicy(arena, empty, empty[:0])


def test_evs_by_hand():
    """Pot 20, all-in 10, everything half the time. After a bet the pot is 30 and a call costs 10.

    Kings beat one of two hands: a call wins 40 - 10 or loses 10, that is 10 on average.
    """
    policy = uniform_policy(SpotArena(ALL_IN, "float64"))
    facing = cp.holdem.inspect_node(policy, "all-in 10")
    assert facing.pot == 30
    np.testing.assert_allclose(facing.action_value[:, 0], [0.0, 10.0])
    assert facing.value[0] == pytest.approx(5.0)
    after_check = cp.holdem.inspect_node(policy, "check")
    np.testing.assert_allclose(after_check.action_value[0], [10.0])  # half of a pot of 20
    # aces have called or not after their check: 30 if they fold later, see each branch
    first = cp.holdem.inspect_node(policy)
    aces = first.hands.index("AsAh")
    check, bet = first.action_value[:, aces]
    assert bet == pytest.approx((20 + 30) / 2)  # kings fold: 20; call: the pot of 40 less 10
    assert check == pytest.approx((20 + (0 + 30) / 2) / 2)  # showdown 20; or facing the bet


@pytest.mark.parametrize(
    ("calls", "queens", "aces", "kings"), [(0.75, 0.0, 27.5, 6.25), (0.5, 5.0, 25.0, 5.0)]
)
def test_evs_of_locked_calls(calls, queens, aces, kings):
    """EVs published with postflop-solver, player 0's at the start of the spot."""
    arena = SpotArena(ALL_IN, "float64")
    cp.holdem.lock_node(arena, "all-in 10", {"call": calls, "fold": 1.0 - calls})
    policy = cp.solve(arena, cp.algorithms.DCFR(), iterations=1000).policy
    view = cp.holdem.inspect_node(policy)
    assert view.value[view.hands.index("QsQh")] == pytest.approx(queens, abs=0.02)
    assert view.value[view.hands.index("AsAh")] == pytest.approx(aces, abs=0.02)
    assert cp.judge(arena, policy).values[1] == pytest.approx(kings, abs=0.02)


def test_evs_of_both_players_add_up_to_the_pot():
    """At a node and just after its actions, weighted by how often they are taken."""
    sizes = (both("50%", "3x a"),) * 3
    spot = Spot("2s3h4d6c7c", ("AA,QQ,54s", "KK,55,98s"), 20, (100, 100), sizes)
    policy = cp.solve(SpotArena(spot, "float64"), cp.algorithms.DCFR(), iterations=40).policy
    view = cp.holdem.inspect_node(policy, "bet 10")
    raised = cp.holdem.inspect_node(policy, "bet 10,raise 30")
    share = view.weight * view.opponent_mass * view.policy[view.actions.index("raise 30")]
    mine = view.action_value[view.actions.index("raise 30")] @ share / share.sum()
    theirs = (
        raised.value
        @ (raised.weight * raised.opponent_mass)
        / (raised.weight @ raised.opponent_mass)
    )
    # after raising, player 1 has put 30 into the pot: from then on its EV is 30 more
    assert (mine + 30) + theirs == pytest.approx(raised.pot)


def test_all_places_show_the_same_ev(tmp_path, capsys):
    """Library, command line, exported file and the page of the studio."""
    arena = SpotArena(ALL_IN)
    result = cp.solve(arena, cp.algorithms.DCFR(gamma=3, restart_base=4), iterations=200)
    judgement = cp.judge(arena, result.policy)
    values = (float(judgement.values[0]), float(judgement.values[1]))
    path = tmp_path / "s.cps"
    cp.holdem.Solution(result.policy, judgement.exploitability, values, 200).save(path)
    wanted = cp.holdem.inspect_node(result.policy, "all-in 10")
    assert wanted.action_value[0, 0] == 0.0
    assert main(["spot", "show", str(path), "all-in 10", "--json"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert page["hands"][0]["value"] == pytest.approx(float(wanted.value[0]), abs=1e-3)
    assert main(["spot", "show", str(path), "all-in 10", "--hand", "KK"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("KsKh"))
    assert float(row.split()[4]) == pytest.approx(float(wanted.value[0]), abs=1e-2)
    studio = StudioWorker(lambda told: None).handle_call(
        {"do": "spot", "spot": ALL_IN.to_dict(), "target": 0.1, "record": "all-in 10"}
    )
    assert studio["value"] == pytest.approx(float(wanted.value[0]), abs=0.3)
    assert 0.0 <= studio["value"] < 20.0 and studio["pot"] == 30
