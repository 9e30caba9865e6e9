"""Betting trees against a plain builder written from postflop-solver's rules."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterplay as cp
from counterplay.arenas.holdem.betting import (
    DEAL,
    FOLD,
    BettingTree,
    build_betting_tree,
    round_chips,
)
from counterplay.arenas.holdem.spot import BetSizes, Spot, parse_bet_sizes
from tests.arenas.holdem.plain_betting import END, Config, build

BOARDS = ("2c3d4h", "2c3d4h5s", "2c3d4h5s6d")
MAX_COMPARED_NODES = 3_000


def tree_of(betting: BettingTree, spot: Spot, number: int = 0) -> object:
    """Our tree in the form of `plain_betting`."""
    node = betting.nodes[number]
    if (
        node.kind == DEAL
        and node.state.earlier_contribution + node.state.contributions[0] < spot.stack
    ):
        return tree_of(betting, spot, betting.block_starts[node.next_block])
    if node.kind >= FOLD:
        return END
    children = range(node.first_child, node.first_child + len(node.actions))
    return [
        (name, tree_of(betting, spot, child))
        for name, child in zip(node.actions, children, strict=True)
    ]


def size_words(raises: bool) -> st.SearchStrategy[str]:
    percent = st.sampled_from([1, 10, 25, 33, 50, 66.6, 75, 100, 120.5, 150, 300])
    chips = st.integers(1, 200)
    geometric = st.tuples(
        st.sampled_from(["", "1", "2", "3", "4"]), st.sampled_from(["", "", "50%", "200%"])
    )
    words = [
        percent.map(lambda x: f"{x}%"),
        geometric.map(lambda x: f"{x[0]}e{x[1]}"),
        chips.map(lambda x: f"{x}c"),
        st.just("a"),
    ]
    if raises:
        words.append(st.sampled_from([1.001, 2, 2.5, 3, 3.7]).map(lambda x: f"{x}x"))
        words.append(st.tuples(chips, st.integers(1, 3)).map(lambda x: f"{x[0]}c{x[1]}r"))
    return st.lists(st.one_of(words), max_size=2).map(", ".join)


def configs() -> st.SearchStrategy[Config]:
    def both(raises: bool) -> st.SearchStrategy[tuple[tuple[str, str], ...]]:
        return st.tuples(*[st.tuples(size_words(raises), size_words(raises))] * 3)

    donk = st.none() | size_words(False)
    return st.builds(
        Config,
        street=st.integers(0, 2),
        pot=st.integers(1, 500),
        stack=st.integers(1, 1500),
        bets=both(False),
        raises=both(True),
        donks=st.tuples(st.none(), donk, donk),
        add_all_in=st.sampled_from([0.0, 0.0, 0.5, 1.5]),
        force_all_in=st.sampled_from([0.0, 0.1, 0.15, 0.3]),
        merge=st.sampled_from([0.0, 0.05, 0.1, 0.2]),
    )


def spot_of(config: Config) -> Spot:
    sizes = tuple(
        (
            BetSizes(config.bets[s][0], config.raises[s][0], config.donks[s]),
            BetSizes(config.bets[s][1], config.raises[s][1]),
        )
        for s in range(3)
    )
    return Spot(
        BOARDS[config.street],
        ("AA", "KK"),
        config.pot,
        (config.stack, config.stack),
        sizes,
        add_all_in=config.add_all_in,
        force_all_in=config.force_all_in,
        merge=config.merge,
    )


def check_tree(config: Config) -> None:
    spot = spot_of(config)
    try:
        betting = build_betting_tree(spot, MAX_COMPARED_NODES)
    except cp.ConfigError:
        return  # too many nodes to be compared quickly
    assert tree_of(betting, spot) == build(config)


@settings(max_examples=100)
@given(configs())
def test_random_trees_are_those_of_the_plain_builder(config):
    check_tree(config)


@pytest.mark.slow
@settings(max_examples=2000)
@given(configs())
def test_many_random_trees_are_those_of_the_plain_builder(config):
    check_tree(config)


@pytest.mark.parametrize(
    ("raises", "amounts"),
    [("3e", [230, 463, 832]), ("2e", [333, 832]), ("e", [333, 832]), ("1e", [832]), ("a", [832])],
)
def test_geometric_raises_subtract_raises_and_not_bets(raises, amounts):
    """As the native solver offers them on the turn: pot 333, stacks 832, a bet of a quarter."""
    both = (BetSizes("25%", raises),) * 2
    spot = Spot("2c3d4h5s", ("AA", "KK"), 333, (832, 832), (both,) * 3)
    betting = build_betting_tree(spot)
    node, found = betting.nodes[0], []
    node = betting.nodes[node.first_child + node.actions.index("bet 83")]
    while len(node.actions) > 2:
        found.append(int(node.actions[2].split()[1]))
        node = betting.nodes[node.first_child + 2]
    assert found == amounts


@pytest.mark.parametrize(
    ("number", "chips"),
    [(0.5, 1), (1.5, 2), (2.4999, 2), (0.49999999999999994, 0), (float("inf"), 2**53)],
)
def test_chips_are_rounded_half_up(number, chips):
    assert round_chips(number) == chips


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2.7e", "cannot read '2.7e'"),
        ("0e", "out of range"),
        ("101e", "out of range"),
        ("12.5c", "whole number of chips"),
        ("1x", "factor must be above 1"),
        ("5c0r", "out of range"),
        ("0%", "out of range"),
    ],
)
def test_bad_sizes_are_refused(text, problem):
    with pytest.raises(cp.ConfigError, match=problem):
        parse_bet_sizes(text)


@pytest.mark.parametrize("street", [0, 2])
def test_too_many_nodes_are_refused_while_a_street_is_built(street):
    words = " ".join(f"{10 * k}%" for k in range(1, 9))
    both = (BetSizes(words, words),) * 2
    spot = Spot(BOARDS[street], ("AA", "KK"), 20, (10**8, 10**8), (both,) * 3)
    with pytest.raises(cp.ConfigError, match=r"8 bet and 8 raise sizes each.*set raise_cap"):
        build_betting_tree(spot, max_nodes=2_000)
    calls = 0

    class Counted(Spot):
        @property
        def stack(self):
            nonlocal calls
            calls += 1
            return min(self.stacks)

    with pytest.raises(cp.ConfigError, match="more than 2,000 nodes"):
        build_betting_tree(
            Counted(**{n: getattr(spot, n) for n in spot.__dataclass_fields__}), 2_000
        )
    assert calls < 200_000  # far fewer than the nodes of one street


def test_random_sizes_never_pass_the_stack():
    rng = random.Random(1)
    for _ in range(50):
        stack = rng.randint(1, 300)
        both = (BetSizes("3e, 150%", "2e, 3x"),) * 2
        spot = Spot("2c3d4h5s", ("AA", "KK"), rng.randint(1, 300), (stack, stack), (both,) * 3)
        for node in build_betting_tree(spot).nodes:
            assert node.state.earlier_contribution + max(node.state.contributions) <= stack
