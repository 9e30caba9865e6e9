"""Gaps of correlated play: published examples, auxiliary games built by definition, OpenSpiel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.interop.game_files import save_game
from tests.random_games import RandomGame

KINDS = ("cce", "ce", "efcce", "efce", "afcce", "afce")
SIGNALLING = """EFG 2 R "von Stengel and Forges" { "sender" "receiver" }
c "" 1 "type" { "g" 1/2 "b" 1/2 } 0
p "" 1 1 "G" { "X" "Y" } 0
p "" 2 1 "X" { "accept" "refuse" } 0
t "" 1 "" { 4 10 }
t "" 2 "" { 0 6 }
p "" 2 2 "Y" { "accept" "refuse" } 0
t "" 3 "" { 4 10 }
t "" 4 "" { 0 6 }
p "" 1 2 "B" { "X" "Y" } 0
p "" 2 1 "X" { "accept" "refuse" } 0
t "" 5 "" { 6 0 }
t "" 6 "" { 0 6 }
p "" 2 2 "Y" { "accept" "refuse" } 0
t "" 7 "" { 6 0 }
t "" 8 "" { 0 6 }
"""
IN_OUT = """EFG 2 R "in or out" { "player" }
p "" 1 1 "root" { "in" "out" } 0
p "" 1 2 "after in" { "in" "out" } 0
t "" 1 "" { 1 }
t "" 2 "" { 0 }
p "" 1 3 "after out" { "in" "out" } 0
t "" 3 "" { 0 }
t "" 4 "" { 0 }
"""


def load_efg(text, tmp_path):
    path = tmp_path / "game.efg"
    path.write_text(text)
    return cp.build_tree(str(path))


def pure(tree, **actions):
    """The policy with these actions by key, the first action elsewhere."""
    first = {tree.infoset_key(i): {tree.action_names(i)[0]: 1.0} for i in range(tree.num_infosets)}
    return cp.Policy.from_dict(tree, first | {key: {name: 1.0} for key, name in actions.items()})


def test_signalling_game_of_von_stengel_and_forges(tmp_path):
    tree = load_efg(SIGNALLING, tmp_path)
    pairs = [
        (0.25, pure(tree, G=good, B=bad, X=reply[0], Y=reply[1]))
        for good, reply in (("X", ("accept", "refuse")), ("Y", ("refuse", "accept")))
        for bad in ("X", "Y")
    ]
    gaps = cp.concepts.correlation_gaps(tree, pairs)
    assert gaps.values == approx([3.5, 6.5])
    assert gaps.total("efce") == gaps.total("efcce") == 0.0
    assert gaps.total("ce") > 0.1  # the sender learns the accepted signal in advance
    refuse = [(1.0, pure(tree, X="refuse", Y="refuse"))]
    refused = cp.concepts.correlation_gaps(tree, refuse)
    assert refused.values == approx([0.0, 6.0])
    mixed = [(0.25, pure(tree, G=g, B=b, X="refuse", Y="refuse")) for g in "XY" for b in "XY"]
    assert cp.concepts.correlation_gaps(tree, mixed).total("ce") == 0.0


def test_in_or_out(tmp_path):
    tree = load_efg(IN_OUT, tmp_path)
    out = pure(tree, **{"root": "out", "after in": "out", "after out": "out"})
    gaps = cp.concepts.correlation_gaps(tree, out)
    assert gaps.total("afce") == 0.0
    assert gaps.total("efce") == 1.0


def matrix_tree(rows, columns):
    return cp.build_tree(cp.games.MatrixGame((rows, columns)))


def test_gibsons_game():
    tree = matrix_tree(((1, 0), (0, 2), (-1, 1)), ((0, 0), (0, 0), (0, 0)))
    parts = [(0.5, [1, 0, 0, 1, 0]), (0.25, [0, 1, 0, 0, 1]), (0.25, [0, 0, 1, 0, 1])]
    gaps = cp.concepts.correlation_gaps(tree, [(p, cp.Policy(tree, row)) for p, row in parts])
    assert gaps.total("cce") == 0.0
    assert gaps.total("ce") == approx(0.25)
    for kind in ("efce", "afce"):  # in a matrix game all that hear the action are the same
        assert gaps.total(kind) == approx(0.25)
    for kind in ("efcce", "afcce"):
        assert gaps.total(kind) == 0.0


@dataclass(frozen=True)
class Deviating:
    """The game of one player against a device, by the definition of a concept.

    Chance draws the joint policy and all recommendations; the others follow theirs.
    """

    game: Any
    rows: Any  # for each joint policy, (player, key) -> probabilities
    weights: Any
    deviator: int
    kind: str
    num_players: int = 1

    # state: (joint policy, inner state, phase, what the deviator heard, recommended action)
    # phases: "inner" the inner game moves on, "hear" chance draws, "choose" or "leave?"
    def initial_state(self):
        return (None, None, "inner", (), None)

    def expand(self, state):
        k, inner, phase, heard, action = state
        if k is None or phase != "inner":
            return state
        if self.game.player(inner) != self.deviator:
            return state
        left = heard[-1:] == ("left",)
        if self.kind in ("cce", "ce"):
            phase = "choose"
        elif self.kind in ("efce", "afce"):
            phase = "choose" if left and self.kind == "efce" else "hear"
        elif left:
            phase = "choose" if self.kind == "efcce" else "hear"
        else:
            phase = "leave?"
        return (k, inner, phase, heard, action)

    def player(self, state):
        k, inner, phase, _, _ = self.expand(state)
        if k is None or phase == "hear":
            return CHANCE
        if phase == "inner":
            return TERMINAL if self.game.player(inner) == TERMINAL else CHANCE
        return 0

    def actions(self, state):
        _, inner, phase, _, _ = self.expand(state)
        return (0, 1) if phase == "leave?" else tuple(range(len(self.game.actions(inner))))

    def chance_outcomes(self, state):
        k, inner, _, _, _ = self.expand(state)
        if k is None:
            return tuple(enumerate(self.weights))
        player = self.game.player(inner)
        if player == CHANCE:
            return self.game.chance_outcomes(inner)
        row = self.rows[k][player, self.game.infoset_key(inner, player)]
        return tuple((a, p) for a, p in enumerate(row) if p > 0.0)

    def next_state(self, state, move):
        k, inner, phase, heard, action = self.expand(state)
        if k is None:
            return (move, self.game.initial_state(), "inner", (), None)
        if phase == "inner":
            index = move
            if self.game.player(inner) != CHANCE:
                index = self.game.actions(inner)[move]
            return (k, self.game.next_state(inner, index), "inner", heard, None)
        left = heard[-1:] == ("left",)
        moved = None
        if phase in ("hear", "choose"):
            moved = self.game.next_state(inner, self.game.actions(inner)[move])
        if phase == "leave?":
            return (k, inner, "choose" if move else "hear", heard, None)
        if phase == "hear":
            if self.kind in ("efcce", "afcce") or left:
                after = heard if left else (*heard, move)
                return (k, moved, "inner", after, None)
            return (k, inner, "choose", heard, move)
        if self.kind in ("cce", "ce") or left:
            return (k, moved, "inner", heard, None)
        if action is None:  # it left before it heard
            return (k, moved, "inner", (*heard, "left"), None)
        if move == action:
            return (k, moved, "inner", (*heard, action), None)
        return (k, moved, "inner", (*heard, action, "left"), None)

    def utilities(self, state):
        return (self.game.utilities(state[1])[self.deviator],)

    def infoset_key(self, state, player):
        k, inner, phase, heard, action = self.expand(state)
        key = self.game.infoset_key(inner, self.deviator)
        if self.kind == "ce":
            own = [(n, tuple(r)) for n, r in self.rows[k].items() if n[0] == self.deviator]
            return f"{key} {sorted(own)}"
        return f"{key} {phase} {heard} {action}"

    def action_name(self, state, action):
        return str(action)


def random_mixture(tree, rng, count, deterministic):
    pairs = []
    for weight in rng.dirichlet(np.ones(count)):
        if deterministic:
            values = np.zeros(tree.num_sequences)
            values[
                tree.offset[:-1] + (rng.random(tree.num_infosets) * tree.num_actions).astype(int)
            ] = 1
            policy = cp.Policy(tree, values)
        else:
            policy = cp.random_policy(tree, seed=int(rng.integers(10**6)))
        pairs.append((weight, policy))
    return pairs


@pytest.mark.parametrize("num_players", [2, 3])
@pytest.mark.parametrize("deterministic", [True, False])
def test_gaps_equal_best_responses_in_games_built_by_definition(num_players, deterministic):
    rng = np.random.default_rng(num_players)
    compared = 0
    for seed in range(14):
        game = RandomGame(seed, num_players, 4 if deterministic else 3, zero_sum=False)
        tree = cp.build_tree(game)
        if tree.num_infosets < 2 or tree.num_infosets > 20:
            continue
        pairs = random_mixture(tree, rng, 3, deterministic)
        gaps = cp.concepts.correlation_gaps(tree, pairs)
        rows = [
            {(p, key): list(row.values()) for p, key, row in policy.items()} for _, policy in pairs
        ]
        weights = [weight for weight, _ in pairs]
        value = sum(w * cp.expected_values(tree, policy) for w, policy in pairs)
        assert gaps.values == approx(value, abs=1e-9)
        for player in range(num_players):
            for kind in KINDS:
                auxiliary = cp.build_tree(Deviating(game, rows, weights, player, kind))
                uniform = cp.uniform_policy(auxiliary)
                best = cp.judge(auxiliary, uniform).best_values[0]
                gain = max(best - value[player], 0.0)
                assert getattr(gaps, kind)[player] == approx(gain, abs=1e-9), (seed, player, kind)
                compared += 1
    assert compared > 50


def test_order_of_the_concepts():
    rng = np.random.default_rng(5)
    for seed in range(20):
        tree = cp.build_tree(RandomGame(seed, 3, 5, zero_sum=False))
        if not tree.num_infosets:
            continue
        gaps = cp.concepts.correlation_gaps(tree, random_mixture(tree, rng, 4, True))
        for weaker, stronger in (
            ("cce", "efcce"),
            ("efcce", "efce"),
            ("efce", "ce"),
            ("afcce", "afce"),
        ):
            assert (getattr(gaps, weaker) <= getattr(gaps, stronger) + 1e-9).all()


def test_one_policy_has_the_gap_of_nash(kuhn):
    policy = cp.random_policy(kuhn, seed=3)
    gaps = cp.concepts.correlation_gaps(kuhn, policy)
    for kind in ("cce", "ce"):
        assert gaps.total(kind) == approx(cp.nash_conv(kuhn, policy))


def assert_gaps_equal_openspiel(spec, seed, deterministic):
    """Compare CCE and CE gaps of a random device on a game of OpenSpiel."""
    pyspiel = pytest.importorskip("pyspiel")
    tree = cp.build_tree(f"openspiel:{spec}")
    pairs = random_mixture(tree, np.random.default_rng(seed), 3, deterministic)
    device = []
    for weight, policy in pairs:
        rows = {
            key: list(zip(tree.sequence_action[at].tolist(), row.values(), strict=True))
            for i, (_, key, row) in enumerate(policy.items())
            for at in [slice(tree.offset[i], tree.offset[i + 1])]
        }
        device.append((weight, pyspiel.TabularPolicy(rows)))
    gaps, spiel = cp.concepts.correlation_gaps(tree, pairs), pyspiel.load_game(spec)
    assert gaps.total("cce") == approx(pyspiel.cce_dist(spiel, device).dist_value, abs=1e-6)
    assert gaps.total("ce") == approx(pyspiel.ce_dist(spiel, device).dist_value, abs=1e-6)


@pytest.mark.parametrize(
    ("spec", "seed"),
    [("kuhn_poker", 0), ("kuhn_poker(players=3)", 1), ("liars_dice(dice_sides=2)", 2)],
)
def test_agrees_with_openspiel_on_random_joint_policies(spec, seed):
    assert_gaps_equal_openspiel(spec, seed, deterministic=seed == 0)


@pytest.mark.parametrize("num_players", [2, 3])
def test_agrees_with_openspiel_on_random_games(num_players, tmp_path):
    """Random general-sum games, which OpenSpiel reads from files of Gambit's format."""
    pytest.importorskip("pyspiel")
    compared = 0
    for seed in range(40):
        game = RandomGame(seed, num_players, 4, zero_sum=False)
        if cp.build_tree(game).num_infosets < 3:
            continue
        file = tmp_path / f"{seed}.efg"
        save_game(game, file)
        text = re.sub(r"(\d+)/(\d+)", lambda m: repr(int(m[1]) / int(m[2])), file.read_text())
        file.write_text(text)  # OpenSpiel reads no large fractions
        assert_gaps_equal_openspiel(f"efg_game(filename={file})", seed, deterministic=True)
        compared += 1
        if compared == 6:
            break
    assert compared == 6


def test_bad_distributions_are_refused(kuhn):
    uniform = cp.uniform_policy(kuhn)
    with pytest.raises(cp.ConfigError, match=r"sum to 0\.5, not 1"):
        cp.concepts.correlation_gaps(kuhn, [(0.5, uniform)])
    with pytest.raises(cp.ConfigError, match="is for leduc_poker"):
        cp.concepts.correlation_gaps(kuhn, [(1.0, cp.uniform_policy("leduc_poker"))])
    with pytest.raises(cp.ConfigError, match="unknown concept 'nash'"):
        cp.concepts.correlation_gaps(kuhn, uniform).total("nash")
    forgetful = "goofspiel(num_cards=3,points_order=descending,forgetful=true)"
    tree = cp.build_tree(forgetful)
    if not tree.has_perfect_recall:
        with pytest.raises(cp.ConfigError, match="perfect recall"):
            cp.concepts.correlation_gaps(tree, cp.uniform_policy(tree))
