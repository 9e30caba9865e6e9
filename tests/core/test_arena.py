"""An arena without nodes: sequences are enough to solve and to evaluate.

Kuhn poker from its betting alone: a vector over the three cards at every public state, as larger
pokers are done. Everything must come out as on the unrolled tree.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.core.arena import SequenceTrees

STATES = [["", "pb"], ["p", "b"]]  # where each player acts, by what was bet before
ENDS = {"pp": 1, "pbp": 1, "pbb": 2, "bp": 1, "bb": 2}  # and what is at stake at the end
FOLDS = {"pbp": 1, "bp": 0}  # who wins without showing a card


class VectorKuhn:
    """Infosets by player, then public state, then card: 3 per state, 2 actions each."""

    capabilities: ClassVar[tuple[str, ...]] = ("sequences",)
    spec, num_players, has_perfect_recall, max_threads = "kuhn_poker", 2, True, 1
    utility_scale = cp.build_tree("kuhn_poker").utility_scale
    num_infosets, num_sequences, value_tolerance = 12, 24, np.full(24, 1e-14)

    def __init__(self):
        self.states = [state for own in STATES for state in own]
        self.offset = np.arange(0, 25, 2)
        self.num_actions = np.full(12, 2)
        self.infoset_player = np.repeat([0, 1], 6)
        parent = np.full(12, 24)
        parent[3:6] = [0, 2, 4]  # a player who meets "pb" has passed before
        self.form = SequenceTrees(
            self.offset.astype(np.uint32), parent.astype(np.uint32), np.array([0, 6, 12])
        )

    def levels(self, player, count):
        return [[(0, 3)], [(3, 6)]] if player == 0 else [[(6, 12)]]

    def infoset_key(self, infoset):
        return f"{infoset % 3}{self.states[infoset // 3]}"

    def action_names(self, infoset):
        return "pass", "bet"

    def find_infoset(self, key, player=None):
        return [self.infoset_key(infoset) for infoset in range(12)].index(key)

    def last_sequences(self, player, end):
        """The sequences [3] of the player, by card, that lead to an end of the betting."""
        turn = max(turn for turn in range(len(end)) if turn % 2 == player)
        first = self.states.index(end[:turn]) * 6 + (end[turn] == "b")
        return first + np.array([0, 2, 4])

    def gradient(self, player, reach, cf_value):
        own = slice(0, 12) if player == 0 else slice(12, 24)
        cf_value[own], cf_value[-1] = 0.0, 0.0
        order = np.sign(np.arange(3)[:, None] - np.arange(3))  # who holds the higher card
        for end, stake in ENDS.items():
            mine, theirs = (self.last_sequences(p, end) for p in (player, 1 - player))
            wins = order if end not in FOLDS else (1 if FOLDS[end] == player else -1) * order**2
            cf_value[mine] += stake / 6.0 * wins @ reach[theirs]


def order_of(arena, tree):
    """Index in the tree of each of the arena's sequences."""
    first = [
        tree.offset[tree.find_infoset(arena.infoset_key(i), arena.infoset_player[i])]
        for i in range(12)
    ]
    return np.repeat(first, 2) + np.tile([0, 1], 12)


ALGORITHMS = ["cfr", "cfr(alternating=false)", "cfr_plus", "cfr_br", "cfr_hedge(eta=10)", "dcfr"]
ALGORITHMS += ["linear_cfr", "mmd(dilated=true)", "pcfr_plus", "pdcfr_plus", "xfp"]
ALGORITHMS += ["hs_dcfr", "sapcfr_plus", "apcfr_plus", "rpcfr_plus"]


@pytest.mark.parametrize("spec", ALGORITHMS)
def test_algorithms_do_the_same_as_on_the_tree(spec, kuhn):
    arena, algorithm = VectorKuhn(), cp.load_algorithm(spec)
    place = order_of(arena, kuhn)
    result = cp.solve(arena, algorithm, iterations=50)
    expected = cp.solve(kuhn, algorithm, iterations=50)
    assert list(result.policies) == list(expected.policies)
    for name, policy in result.policies.items():
        there = expected.policies[name].probabilities[place]
        assert policy.probabilities == approx(there, abs=1e-9)
    assert result.exploitability == approx(expected.exploitability, abs=1e-9)


def test_judgement_equals_that_of_the_tree(kuhn, tmp_path):
    arena = VectorKuhn()
    place = order_of(arena, kuhn)
    policy = cp.random_policy(arena, seed=1)
    there = cp.Policy(kuhn, policy.probabilities[np.argsort(place)])
    for player in (0, 1):
        ours, theirs = (cp.best_response(a, p, player) for a, p in ((arena, policy), (kuhn, there)))
        assert ours.value == approx(theirs.value)
        assert ours.policy.probabilities == approx(theirs.policy.probabilities[place])
    assert cp.expected_values(arena, policy) == approx(cp.expected_values(kuhn, there))
    assert policy["1pb"] == there["1pb"]
    policy.save(tmp_path / "kuhn.policy")
    again = cp.load_policy(tmp_path / "kuhn.policy", kuhn)
    assert (again.probabilities == there.probabilities).all()


@pytest.mark.parametrize("spec", ["external_sampling", "sequence_form_lp", "mmd"])
def test_what_needs_nodes_is_refused(spec):
    with pytest.raises(cp.ConfigError, match="kuhn_poker is given as sequences"):
        cp.solve(VectorKuhn(), cp.load_algorithm(spec))
