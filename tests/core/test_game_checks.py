"""Faults in the rules of a game: the same sentence, with the history, on every arena."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numba import njit

import counterplay as cp
from counterplay.algorithms.population.oracles import WeightedPolicy
from counterplay.algorithms.population.q_learning_response import QLearningResponse
from counterplay.arenas.rules import TabularPolicy
from counterplay.core.game_checks import MAX_ACTION, action_names
from counterplay.games.compiled.protocol import find_compiled_game
from tests.algorithms.contract import TINY_SETTINGS


class Coin:
    """Chance tosses a coin unseen by the players, then both players name a side."""

    num_players = 2

    def initial_state(self):
        return ()

    def player(self, state):
        return (cp.CHANCE, 0, 1, cp.TERMINAL)[len(state)]

    def actions(self, state):
        return (0, 1)

    def chance_outcomes(self, state):
        return ((0, 0.5), (1, 0.5))

    def next_state(self, state, action):
        return (*state, action)

    def utilities(self, state):
        gain = 1.0 if state[1] == state[2] else -1.0
        return (gain, -gain)

    def infoset_key(self, state, player):
        return f"player {player}"

    def action_name(self, state, action):
        return ("heads", "tails")[action]


def fail(*arguments):
    raise KeyError("a bug of the user")


FAULTS = {
    "nan": ("utilities", lambda self, state: (float("nan"), 0.0), "utilities .* not all finite"),
    "infinite": ("utilities", lambda self, s: (np.inf, -np.inf), "utilities .* not all finite"),
    "huge": ("utilities", lambda self, state: (1e308, -1e308), "utilities|largest utility"),
    "few utilities": ("utilities", lambda self, state: (1.0,), "1 utilities for 2 players"),
    "no utilities": ("utilities", lambda self, state: None, "the rules raised TypeError"),
    "repeated": ("actions", lambda self, state: (1, 1), "an action is listed twice"),
    "no actions": ("actions", lambda self, state: (), "has no legal action"),
    "words": ("actions", lambda self, state: ("a", "b"), "an action is 'a'; actions must be ints"),
    "floats": ("actions", lambda self, state: (0.0, 1.0), "an action is 0.0; actions must be ints"),
    "negative": ("actions", lambda self, state: (-1, 0), "an action is -1; actions must be ints"),
    "large": ("actions", lambda self, state: (0, 2**40), "is 1099511627776; actions must be ints"),
    "odds": ("chance_outcomes", lambda self, s: ((0, 0.5), (1, 0.6)), "not a sum of 1"),
    "odds nan": ("chance_outcomes", lambda self, s: ((0, np.nan), (1, 1.0)), "not a sum of 1"),
    "odds negative": ("chance_outcomes", lambda self, s: ((0, -0.5), (1, 1.5)), "not a sum of 1"),
    "outcome twice": ("chance_outcomes", lambda self, s: ((1, 0.5), (1, 0.5)), "listed twice"),
    "outcome word": ("chance_outcomes", lambda self, s: (("a", 0.5), (1, 0.5)), "must be ints"),
    "no outcomes": ("chance_outcomes", lambda self, state: (), "chance has no outcome"),
    "who": ("player", lambda self, s: (-1, 0, 5, -2)[len(s)], r"player\(\) is 5, not in 0..1"),
    "player raises": ("player", fail, "the rules raised KeyError: 'a bug of the user'"),
    "start raises": ("initial_state", fail, "the rules raised KeyError: 'a bug of the user'"),
    "actions raise": ("actions", fail, "the rules raised KeyError: 'a bug of the user'"),
    "chance raises": ("chance_outcomes", fail, "the rules raised KeyError: 'a bug of the user'"),
    "next raises": ("next_state", fail, "the rules raised KeyError: 'a bug of the user'"),
    "utilities raise": ("utilities", fail, "the rules raised KeyError: 'a bug of the user'"),
    "key raises": ("infoset_key", fail, "the rules raised KeyError: 'a bug of the user'"),
    "key number": ("infoset_key", lambda self, s, player: 7, "infoset_key .* is 7, not a string"),
    "key list": ("infoset_key", lambda self, s, player: [], r"\[\], not a string|unhashable"),
}


def on_rules(algorithm):
    return lambda game: cp.solve(cp.RulesArena(game), algorithm, iterations=30)


def play(game):
    for seed in range(20):
        cp.play_episode(game, [TabularPolicy(game)] * 2, seed)


def respond(game):
    arena, policy = cp.RulesArena(game), TabularPolicy(game)
    QLearningResponse(30, evaluation_episodes=5).respond(arena, 0, [WeightedPolicy(1.0, policy)])


ARENAS = {
    "check_game": cp.check_game,
    "tree": cp.build_tree,
    "external sampling": on_rules(cp.algorithms.ExternalSampling()),
    "outcome sampling": on_rules(cp.algorithms.OutcomeSampling()),
    "baselines": on_rules(cp.algorithms.VRMCCFR()),
    "workers": on_rules(cp.algorithms.ExternalSampling(num_workers=2)),
    "episodes": play,
    "responses": respond,
}


@pytest.mark.parametrize("arena", ARENAS)
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_one_sentence_that_names_the_history(arena, fault):
    method, broken, message = FAULTS[fault]
    game = type("Faulty", (Coin,), {method: broken})()
    if (arena, fault) == ("episodes", "key number"):
        pytest.skip("uniform play looks keys up and nothing else")
    with pytest.raises(cp.GameError, match=rf"Faulty.*({message}).*; history: ") as caught:
        ARENAS[arena](game)
    assert "\n" not in str(caught.value)


def test_the_same_game_without_a_fault_passes_everywhere():
    for run in ARENAS.values():
        run(Coin())


def test_infosets_with_other_actions_elsewhere():
    class Faulty(Coin):
        def actions(self, state):
            return (1, 0) if state[0] else (0, 1)

    for name in ("check_game", "tree", "external sampling", "outcome sampling", "workers"):
        with pytest.raises(cp.GameError, match=r"'player 0' has actions \[.*; history: "):
            ARENAS[name](Faulty())


def test_a_resumed_memory_refuses_other_actions():
    class Faulty(Coin):
        def action_name(self, state, action):
            return ("edge", "tails")[action]

    half = cp.solve(cp.RulesArena(Coin()), cp.algorithms.ExternalSampling(), iterations=3).memory
    stored = type(half).from_arrays(half.to_arrays())
    with pytest.raises(cp.GameError, match="had the actions heads, tails before"):
        cp.solve(
            cp.RulesArena(Faulty()), cp.algorithms.ExternalSampling(), iterations=3, memory=stored
        )


def test_integers_of_numpy_are_actions():
    class Arrays(Coin):
        def actions(self, state):
            return np.arange(2)

    for run in ARENAS.values():
        run(Arrays())
    assert np.iinfo(np.int32).max == MAX_ACTION


def test_actions_that_share_a_name_are_told_apart():
    class Twins(Coin):
        def action_name(self, state, action):
            return "up"

    game = Twins()
    assert action_names(game, (0,), (0, 1)) == ("up", "up#2")
    tree = cp.build_tree(game)
    assert cp.uniform_policy(tree)["player 0"] == {"up": 0.5, "up#2": 0.5}
    sampled = cp.solve(cp.RulesArena(game), cp.algorithms.ExternalSampling(), iterations=10).policy
    assert set(sampled["player 0"]) == {"up", "up#2"}
    assert cp.exploitability(tree, sampled.tabulate(tree)) >= 0.0


@pytest.mark.parametrize("count", [0, -1, 2.5, "2", None, 200])
def test_numbers_of_players(count):
    class Faulty(Coin):
        num_players = count

    for make in (cp.check_game, cp.build_tree, cp.RulesArena):
        with pytest.raises(cp.GameError, match=r"num_players is .*, must be a whole number from 1"):
            make(Faulty())


@pytest.mark.parametrize("make", [cp.check_game, cp.build_tree, cp.RulesArena])
def test_what_is_no_game(make):
    with pytest.raises(cp.GameError, match="int is not a game: it lacks num_players"):
        make(3)
    with pytest.raises(cp.GameError, match=r"Coin is a class: write Coin\(\)"):
        make(Coin)


def test_keys_are_asked_for_at_decisions_alone():
    """A game whose players have keys only where they act is checked, solved and shown."""

    class Shy(Coin):
        def infoset_key(self, state, player):
            assert self.player(state) == player, "not to act"
            return f"player {player}"

    assert cp.check_game(Shy()).num_infosets == 2
    assert cp.solve(Shy(), "cfr", iterations=2).exploitability >= 0.0
    with pytest.raises(cp.GameError, match="not defined for player 0, who is not to act, as basel"):
        cp.solve(Shy(), "vr_mccfr", iterations=2)
    with pytest.raises(cp.GameError, match="not defined for player 0, who is not to act, as basel"):
        cp.solve(cp.RulesArena(Shy()), "vr_mccfr", iterations=9)


NETWORK_FAULTS = ("nan", "huge", "repeated", "words", "large", "odds", "next raises", "who")


@pytest.mark.parametrize("fault", NETWORK_FAULTS)
def test_networks_on_rules_refuse_the_same(fault):
    pytest.importorskip("jax")
    method, broken, message = FAULTS[fault]
    game = type("Faulty", (Coin,), {method: broken})()
    names = ("hidden_sizes", "train_steps", "ensemble_size")
    settings = {name: TINY_SETTINGS[name] for name in names}
    algorithm = cp.load_algorithm("sd_cfr", num_traversals=4, **settings)
    with pytest.raises(cp.GameError, match=rf"Faulty.*({message}).*; history: "):
        cp.solve(cp.RulesArena(game), algorithm, iterations=1)


@dataclass(frozen=True)
class FaultyMachine(cp.games.KuhnPoker):
    """Kuhn poker whose compiled rules have one fault."""

    fault: str = "utilities"

    def compiled_game(self):
        machine = find_compiled_game(cp.games.KuhnPoker())
        if self.fault == "utilities":

            @njit
            def pay(rules, states, utility):
                utility[:] = np.nan

            return machine._replace(utilities=pay)
        offer_right = machine.legal_actions

        @njit
        def offer(rules, states, player, first, action, chance):
            offer_right(rules, states, player, first, action, chance)
            chance[:] *= 0.9

        return machine._replace(legal_actions=offer)


@pytest.mark.parametrize("fault", ["utilities", "chance"])
def test_faults_of_compiled_rules(fault, monkeypatch):
    game = FaultyMachine(fault=fault)
    with pytest.raises(cp.GameError, match=r"FaultyMachine.*not .*finite|not a sum of 1"):
        cp.solve(cp.RulesArena(game), cp.algorithms.ExternalSampling(), iterations=5)
    monkeypatch.setattr("counterplay.arenas.tree.build.MIN_NODES_FOR_COMPILED_RULES", 0)
    with pytest.raises(cp.GameError, match=r"(largest utility|not a sum of 1).*; history: "):
        cp.build_tree(game)
