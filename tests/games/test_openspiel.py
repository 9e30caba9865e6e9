"""Our rules and OpenSpiel's, side by side: the same tree, utilities, observations, infosets."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from counterplay.core.game import CHANCE, TERMINAL, ObservedGame
from counterplay.registry import load_game

pyspiel = pytest.importorskip("pyspiel")

WHOLE = [
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "leduc_poker",
    "leduc_poker(suit_isomorphism=true)",
    "liars_dice(dice_sides=2)",
    "liars_dice(dice_sides=3)",
    "liars_dice(dice_sides=4)",
    "liars_dice(numdice=2,dice_sides=2)",
    "goofspiel(num_cards=2,players=4,points_order=ascending)",
    "goofspiel(num_cards=3,players=3,points_order=descending,imp_info=true)",
    "goofspiel(num_cards=3,players=3,imp_info=false,returns_type=point_difference)",
    "goofspiel(num_cards=4,imp_info=true)",
    "goofspiel(num_cards=4,imp_info=false)",
    "goofspiel(num_cards=4,points_order=descending,imp_info=true,returns_type=total_points)",
    "goofspiel(num_cards=4,points_order=ascending,imp_info=false)",
    *[
        f"goofspiel(num_cards=3,points_order={order},imp_info={hidden},returns_type={returns})"
        for order, hidden, returns in product(
            ("random", "ascending", "descending"),
            ("true", "false"),
            ("win_loss", "point_difference", "total_points"),
        )
    ],
    "connect_four(rows=3,columns=3,x_in_row=3)",
    "matrix_rps",
]

SAMPLED = [
    "kuhn_poker(players=5)",
    "leduc_poker(players=3)",
    "leduc_poker(players=3,suit_isomorphism=true)",
    "liars_dice",
    "liars_dice(numdice=2,dice_sides=6)",
    "goofspiel(num_cards=6,players=3,imp_info=true)",
    "goofspiel(num_cards=13,imp_info=false,returns_type=point_difference)",
    "tic_tac_toe",
    "connect_four",
    "connect_four(rows=5,columns=4,egocentric_obs_tensor=true)",
    "connect_four(rows=2,columns=9,x_in_row=2)",
]


class Pair:
    """One of our states, OpenSpiel's for the same history, and the bids it does not know yet."""

    def __init__(self, game: ObservedGame, ours: Any, theirs: Any, bids: tuple[int, ...] = ()):
        self.game, self.ours, self.theirs, self.bids = game, ours, theirs, bids

    def check(self) -> list[int]:
        """Compare all there is to see at this node; the actions that lead on."""
        game, ours, theirs = self.game, self.ours, self.theirs
        player = game.player(ours)
        if theirs.is_terminal():
            assert player == TERMINAL
            assert list(game.utilities(ours)) == pytest.approx(theirs.returns(), abs=1e-12)
            return []
        for observer in range(game.num_players):
            assert list(game.observation(ours, observer)) == self.tensor(observer), str(theirs)
        if theirs.is_chance_node():
            assert player == CHANCE
            actions, probabilities = zip(*game.chance_outcomes(ours), strict=True)
            their_actions, their_probabilities = zip(*theirs.chance_outcomes(), strict=True)
            assert actions == their_actions
            assert probabilities == pytest.approx(their_probabilities, abs=1e-15)
            return list(actions)
        together = theirs.is_simultaneous_node()
        assert player == (len(self.bids) if together else theirs.current_player())
        assert list(game.actions(ours)) == theirs.legal_actions(player)
        return list(game.actions(ours))

    def tensor(self, observer: int) -> list[float]:
        kind = self.theirs.get_game().get_type()
        if kind.short_name in ("tic_tac_toe", "connect_four"):
            return self.theirs.observation_tensor(observer)
        if kind.short_name == "matrix_rps":  # where the observer is all that we tell
            return [float(observer == 0), float(observer == 1)]
        return self.theirs.information_state_tensor(observer)

    def child(self, action: int) -> Pair:
        ours, theirs = self.game.next_state(self.ours, action), self.theirs
        if not theirs.is_simultaneous_node():
            return Pair(self.game, ours, theirs.child(action))
        bids = (*self.bids, action)
        if len(bids) < self.game.num_players:
            return Pair(self.game, ours, theirs, bids)
        theirs = theirs.clone()
        theirs.apply_actions(list(bids))
        return Pair(self.game, ours, theirs)


def start(spec: str, ours: str = "") -> Pair:
    game = load_game(ours or spec.replace("matrix_rps", "rock_paper_scissors"))
    assert isinstance(game, ObservedGame)
    return Pair(game, game.initial_state(), pyspiel.load_game(spec).new_initial_state())


def whole(root: Pair) -> Iterator[Pair]:
    stack = [root]
    while stack:
        pair = stack.pop()
        yield pair
        stack += [pair.child(action) for action in pair.check()]


def sample(root: Pair, num_playthroughs: int) -> Iterator[Pair]:
    rng = random.Random(0)
    for _ in range(num_playthroughs):
        pair = root
        while actions := pair.check():
            yield pair
            pair = pair.child(rng.choice(actions))


def assert_same_infosets(pairs: Iterator[Pair], refined: bool = False) -> None:
    """Our keys and their strings stand one to one or, if refined, several keys to one string."""
    string_of: dict[tuple[int, str], str] = {}
    key_of: dict[tuple[int, str], str] = {}
    for pair in pairs:
        player = pair.game.player(pair.ours)
        if player < 0:
            continue
        key = pair.game.infoset_key(pair.ours, player)
        string = pair.theirs.information_state_string(player)
        assert string_of.setdefault((player, key), string) == string
        assert refined or key_of.setdefault((player, string), key) == key
    assert len(string_of) > 1


def remembers_more(spec: str) -> bool:
    """With bids shown, OpenSpiel's strings forget their order and our keys do not."""
    return "goofspiel" in spec and "imp_info=true" not in spec


@pytest.mark.parametrize("spec", WHOLE)
def test_same_game(spec: str) -> None:
    assert_same_infosets(whole(start(spec)), refined=remembers_more(spec))


@pytest.mark.parametrize("spec", SAMPLED)
def test_same_playthroughs(spec: str) -> None:
    assert_same_infosets(sample(start(spec), 300), refined=remembers_more(spec))


@pytest.mark.parametrize("order", ["random", "descending"])
def test_forgetful_goofspiel_has_their_infosets(order: str) -> None:
    theirs = f"goofspiel(num_cards=4,points_order={order},imp_info=false)"
    assert_same_infosets(whole(start(theirs, theirs.replace(")", ",forgetful=true)"))))
