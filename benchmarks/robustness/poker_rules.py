"""Compare the compiled rules of poker with OpenSpiel's universal_poker on random actions.

    python -m benchmarks.robustness.poker_rules [--actions 1000000] [--seed 0]

Formats are drawn at random: limit or no-limit, 2 to 6 players, decks, rounds, boards, blinds,
stacks (equal or not, so that side pots occur), caps of raises. At each state the acting player, all
legal actions or outcomes, and at the end the utilities must be equal. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.timing import first_paragraph
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.games.compiled.poker import compile_game
from counterplay.games.poker import Poker

HANDS_PER_FORMAT = 60


@dataclass
class Counts:
    """Counts of formats, hands and actions compared."""

    formats: int = 0
    hands: int = 0
    actions: int = 0  # of players and of chance
    showdowns: int = 0
    side_pots: int = 0  # showdowns with more than one pot
    by_players: dict[int, int] = field(default_factory=dict)  # hands


def random_format(rng: random.Random) -> Poker:
    """Return a random format of poker."""
    is_limit = rng.random() < 0.4
    # OpenSpiel fails on limit games of more than four players
    players = rng.choice((2, 2, 3, 3, 4) if is_limit else (2, 2, 3, 3, 4, 5, 6))
    hole, ranks, suits = rng.choice((1, 2, 2, 2, 3)), rng.randint(2, 13), rng.randint(1, 4)
    rounds = rng.randint(1, 4)
    board = tuple(rng.choice((0, 3, 1)) if r == 0 else rng.choice((1, 1, 2)) for r in range(rounds))
    if rng.random() < 0.3:
        board = (0, 3, 1, 1)[:rounds]
    while players * hole + sum(board) > ranks * suits or hole + sum(board) > 7:
        if hole + sum(board) > 7:
            hole = 1
            board = (0, *board[1:])
        else:
            ranks, suits = min(ranks + 2, 13), min(suits + 1, 4)
    small = rng.randint(0, 3)
    big = rng.randint(max(small, 1), 6)
    blinds = (big, small) if players == 2 else (small, big, *(0,) * (players - 2))
    if rng.random() < 0.2:
        blinds = (1,) * players  # antes
    high = rng.choice((15, 40, 90))
    stack = rng.randint(8, high)
    equal = rng.random() < 0.4
    stacks = tuple(stack if equal else rng.randint(8, high) for _ in range(players))
    caps = tuple(rng.randint(1, 4) for _ in range(rounds))
    unlimited = not is_limit and rng.random() < 0.7
    return Poker(
        players=players,
        blinds=blinds,
        stacks=() if is_limit else stacks,
        opens=tuple(rng.randrange(players) for _ in range(rounds)),
        raises=tuple(rng.randint(1, 6) for _ in range(rounds)) if is_limit else (),
        raise_caps=() if unlimited else caps,
        ranks=ranks,
        suits=suits,
        hole=hole,
        board=board,
    )


def openspiel_parameters(game: Poker) -> dict[str, str | int]:
    """Return the same format as parameters of OpenSpiel's universal_poker."""

    def join(numbers: tuple[int, ...]) -> str:
        return " ".join(map(str, numbers))

    rounds = len(game.board)
    parameters: dict[str, str | int] = {
        "betting": "limit" if game.is_limit else "nolimit",
        "numPlayers": game.players,
        "numRounds": rounds,
        "blind": join(game.blinds),
        "firstPlayer": join(tuple(p + 1 for p in game.opens)),
        "numSuits": game.suits,
        "numRanks": game.ranks,
        "numHoleCards": game.hole,
        "numBoardCards": join(game.board),
        "stack": join(game.stacks or (3_000,) * game.players),
        "maxRaises": join(game.raise_caps or (255,) * rounds),
    }
    if game.is_limit:
        parameters["raiseSize"] = join(game.raises)
    else:
        parameters["bettingAbstraction"] = "fullgame"
    return parameters


def compare_hand(
    game: Poker, compiled: Any, state: Any, rng: random.Random, counts: Counts
) -> None:
    """Play one random hand on both sides; raise AssertionError at the first difference."""
    row = compiled.initial_state[None].copy()
    path: list[int] = []
    while True:
        player, count = compiled.find_players(row)
        if state.is_terminal():
            assert player[0] == TERMINAL, (game, path)
            break
        legal, _ = compiled.list_actions(row, player, np.array([0, count[0]]))
        if state.is_chance_node():
            assert player[0] == CHANCE, (game, path)
            assert legal.tolist() == [a for a, _ in state.chance_outcomes()], (game, path)
            action = int(rng.choice(legal))
        else:
            assert player[0] == state.current_player(), (game, path)
            assert legal.tolist() == state.legal_actions(), (game, path)
            action = draw_action(legal.tolist(), rng)
        compiled.step(compiled.params, row, player, np.array([action]))
        state.apply_action(action)
        path.append(action)
        counts.actions += 1
    utilities = compiled.compute_utilities(row, game.num_players)[0]
    assert np.allclose(utilities, state.returns(), atol=1e-4), (game, path, utilities)
    replay = game.initial_state()
    for action in path:
        replay = game.next_state(replay, action)
    levels = {replay.contributions[p] for p in replay.players_left}
    counts.hands += 1
    counts.showdowns += len(replay.players_left) > 1
    counts.side_pots += len(replay.players_left) > 1 and len(levels) > 1
    counts.by_players[game.players] = counts.by_players.get(game.players, 0) + 1


def draw_action(legal: list[int], rng: random.Random) -> int:
    """Draw a legal action: folds seldom, small raises and all-in often."""
    raises = [a for a in legal if a > 1]
    kind = rng.random()
    if raises and kind < 0.35:
        return rng.choice((raises[0], raises[-1], rng.choice(raises), rng.choice(raises[:4])))
    return 0 if 0 in legal and kind > 0.93 else 1


def compare_rules(num_actions: int, seed: int) -> Counts:
    """Compare random hands of random formats until `num_actions` actions are taken."""
    import pyspiel

    rng, counts = random.Random(seed), Counts()
    while counts.actions < num_actions:
        game = random_format(rng)
        compiled = compile_game(game)
        other = pyspiel.load_game("universal_poker", openspiel_parameters(game))
        counts.formats += 1
        for _ in range(HANDS_PER_FORMAT):
            compare_hand(game, compiled, other.new_initial_state(), rng, counts)
            if counts.actions >= num_actions:
                break
    return counts


def main() -> None:
    """Compare and print the counts."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--actions", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    start = time.process_time()
    counts = compare_rules(args.actions, args.seed)
    seconds = round(time.process_time() - start, 1)
    print(json.dumps({**vars(counts), "seed": args.seed, "cpu_seconds": seconds}))


if __name__ == "__main__":
    main()
