"""Public states against brute force, their ranges and values against enumeration."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from pytest import approx

import counterplay as cp
from counterplay.arenas.public_states import public_states, public_values
from counterplay.arenas.tree.node_values import compute_node_values
from counterplay.arenas.tree.replay import iter_states
from counterplay.arenas.tree.tree_io import load_tree
from counterplay.core.game import TERMINAL
from counterplay.core.policy import Policy
from tests.conftest import game_tree
from tests.random_games import RandomGame, random_games


def brute_force_labels(tree):
    """Merge sets of nodes until no key of a player, and no way in, connects two of them."""
    group = {node: {node} for node in range(tree.num_nodes)}

    def merge(first, second):
        if group[first] is not group[second]:
            group[first] |= group[second]
            for node in group[second]:
                group[node] = group[first]

    seen = {}
    for node, state in enumerate(iter_states(tree)):
        if tree.player[node] == TERMINAL:
            merge(int(tree.parent[node]), node)
            continue
        for player in range(tree.num_players):
            key = player, tree.game.infoset_key(state, player)
            merge(seen.setdefault(key, node), node)
    is_changed = True
    while is_changed:
        before = {min(nodes): len(nodes) for nodes in group.values()}
        for nodes in list(group.values()):
            parents = {int(tree.parent[n]) for n in nodes} - nodes - {-1}
            outside = {min(group[parent]) for parent in parents}
            for other in outside if 0 in nodes else sorted(outside)[1:]:
                merge(min(outside) if 0 not in nodes else 0, other)
        is_changed = before != {min(nodes): len(nodes) for nodes in group.values()}
    return {frozenset(nodes) for nodes in group.values()}


@given(random_games(max_players=3))
def test_partition_equals_brute_force(game):
    tree = cp.build_tree(game)
    states = public_states(tree)
    parts = {frozenset(np.flatnonzero(states.label == k).tolist()) for k in range(len(states))}
    assert parts == brute_force_labels(tree)


@given(random_games(max_players=3))
def test_public_states_form_a_tree_and_split_no_infoset(game):
    tree = cp.build_tree(game)
    states = public_states(tree)
    assert states.label[0] == 0 and states.parent[0] == -1
    for node in range(1, tree.num_nodes):
        above, below = states.label[tree.parent[node]], states.label[node]
        assert above == below or states.parent[below] == above
    for infoset in range(tree.num_infosets):
        (label,) = set(states.label[tree.infoset == infoset].tolist())
        assert states.infoset_state[infoset] == label
    for state in range(len(states)):
        below = [k for k in range(len(states)) if state in states.path(k)]
        assert below == list(range(state, int(states.end[state])))


@given(random_games(max_players=3))
def test_ranges_factor(game):
    """The reach of an entry is chance times one factor per player, which only its view decides."""
    tree = cp.build_tree(game)
    policy = cp.random_policy(tree, seed=3)
    values = public_values(tree, policy)
    states = values.states
    reach = compute_node_values(tree, policy.probabilities).reach[states.entry]
    product_of_ranges = states.chance_reach.copy()
    for player in range(tree.num_players):
        product_of_ranges *= values.range(player)[states.view[:, player]]
    assert product_of_ranges == approx(reach, abs=1e-12)


@given(random_games(max_players=2, num_players=2, max_depth=4))
def test_cbv_equals_the_best_pure_policy_by_enumeration(game):
    tree = cp.build_tree(game)
    if tree.num_sequences == 0:
        return
    policy = cp.random_policy(tree, seed=1)
    values = public_values(tree, policy)
    for player in range(2):
        infosets = np.flatnonzero(tree.infoset_player == player)
        counts = tree.num_actions[infosets]
        if counts.prod() > 3_000:
            continue
        best = np.full(values.cf_reach(player).size, -np.inf)
        for choice in product(*(range(count) for count in counts)):
            probabilities = policy.probabilities.copy()
            for infoset, action in zip(infosets, choice, strict=True):
                first, last = tree.offset[infoset : infoset + 2]
                probabilities[first:last] = np.arange(last - first) == action
            response = public_values(tree, Policy(tree, probabilities))
            best = np.maximum(best, response.counterfactual_values(player))
        assert values.counterfactual_best_response_values(player) == approx(best, abs=1e-12)


@pytest.mark.parametrize(
    ("spec", "count", "rounds"),
    [
        ("kuhn_poker", 4, 0),
        ("leduc_poker", 191, 30),
        ("liars_dice(dice_sides=3)", 64, 0),
        ("matching_pennies", 1, 0),
        ("coin_toss", 2, 0),
        ("dark_hex(num_rows=2,num_cols=2)", 1, 0),
    ],
)
def test_counts(spec, count, rounds):
    """By hand: Leduc has 5 ways to a second round times 6 cards; phantom games have one state."""
    states = public_states(game_tree(spec))
    assert len(states) == count
    assert len(states.after_chance()) == rounds
    assert states.basis == "infoset keys"


def test_value_of_the_first_state_is_the_best_response():
    tree = game_tree("leduc_poker")
    policy = cp.random_policy(tree, seed=2)
    for player in range(2):
        first = cp.search.counterfactual_best_response_values(tree, policy, player)[0]
        assert first.sum() == approx(cp.best_response(tree, policy, player).value)


def test_imperfect_recall_is_refused():
    tree = game_tree("goofspiel(forgetful=true)")
    with pytest.raises(cp.errors.ConfigError, match="need perfect recall"):
        public_states(tree)


@dataclass(frozen=True)
class ActingKeysOnly(RandomGame):
    """A random game whose keys are defined for the acting player only."""

    def infoset_key(self, state, player):
        if player != self.player(state):
            raise ValueError("not your turn")
        return super().infoset_key(state, player)


@dataclass(frozen=True)
class PublicKeys(RandomGame):
    """A random game that names its public states."""

    def public_key(self, state):
        return state.public


@given(random_games(max_players=2, num_players=2))
def test_without_the_keys_of_all_players_no_infoset_is_split(game):
    fields = (game.seed, game.num_players, game.max_depth, game.zero_sum)
    tree = cp.build_tree(ActingKeysOnly(*fields))
    states = public_states(tree)
    assert states.basis == "acting infosets"
    for infoset in range(tree.num_infosets):
        assert len(set(states.label[tree.infoset == infoset].tolist())) == 1


@given(random_games(max_players=2, num_players=2))
def test_public_keys_are_used(game):
    tree = cp.build_tree(PublicKeys(game.seed, game.num_players, game.max_depth, game.zero_sum))
    states = public_states(tree)
    assert states.basis == "public keys"
    key = {}
    for node, state in enumerate(iter_states(tree)):
        if tree.player[node] != TERMINAL:
            assert key.setdefault(state.public, states.label[node]) == states.label[node]


def test_a_tree_from_a_file_has_public_states(tmp_path):
    tree = game_tree("kuhn_poker")
    tree.save(tmp_path / "kuhn.tree")
    loaded = load_tree(tmp_path / "kuhn.tree")
    assert (public_states(loaded).label == public_states(tree).label).all()
