"""Measure the cost of building trees from readable rules, beside a walk that only calls the rules.

    python -m benchmarks.speed.build_rules

The walk visits all nodes depth first and calls the methods of the rules that a tree needs. The last
row is a game whose methods are look-ups, so that what remains is the cost of building alone.
Processor time, the least of several turns. PYTHONPATH chooses another version of the library.
"""

from __future__ import annotations

from typing import Any

import counterplay as cp
from benchmarks.timing import format_head, format_row, time_in_turns
from counterplay.arenas.tree import build

SPECS = ("leduc_poker", "goofspiel", "kuhn_poker(players=5)", "liars_dice(dice_sides=5)")
NUM_TURNS = 5


class LookupGame:
    """The game of a tree as tables; a state is a node."""

    def __init__(self, tree: cp.TreeArena):
        self.num_players = tree.num_players
        first = tree.child_offset.tolist()
        nodes = range(tree.num_nodes)
        action, chance = tree.action.tolist(), tree.chance.tolist()
        legal = [tuple(action[first[n] : first[n + 1]]) for n in nodes]
        self.children = [
            {a: first[n] + k for k, a in enumerate(actions)} for n, actions in enumerate(legal)
        ]
        keys = [tree.infoset_keys[i] if i >= 0 else "" for i in tree.infoset.tolist()]
        utility = dict(zip(tree.terminals.tolist(), map(tuple, tree.utility.tolist()), strict=True))
        self.player = tree.player.tolist().__getitem__
        self.actions = legal.__getitem__
        self.chance_outcomes = [
            list(zip(legal[n], chance[first[n] : first[n + 1]], strict=True)) for n in nodes
        ].__getitem__
        self.utilities = utility.__getitem__
        self.keys = keys

    def initial_state(self) -> int:
        return 0

    def next_state(self, state: int, action: int) -> int:
        return self.children[state][action]

    def infoset_key(self, state: int, player: int) -> str:
        return self.keys[state]

    def action_name(self, state: int, action: int) -> str:
        return str(action)


def walk(game: Any) -> None:
    """Call the rules at every node."""
    stack = [game.initial_state()]
    while stack:
        state = stack.pop()
        player = game.player(state)
        if player == cp.TERMINAL:
            game.utilities(state)
            continue
        if player == cp.CHANCE:
            actions = [action for action, _ in game.chance_outcomes(state)]
        else:
            game.infoset_key(state, player)
            actions = game.actions(state)
        stack += [game.next_state(state, action) for action in actions]


def main() -> None:
    """Print the table."""
    build.MIN_NODES_FOR_COMPILED_RULES = 1e300  # only readable rules
    print(format_head(["game", "nodes", "rules, us/node", "build, us/node", "nodes/s"]))
    games = {spec: cp.load_game(spec) for spec in SPECS}
    games["look-ups"] = LookupGame(cp.build_tree(games[SPECS[-1]]))
    for name, game in games.items():
        num_nodes = cp.build_tree(game).num_nodes
        works = [lambda g=game: walk(g), lambda g=game: cp.build_tree(g)]
        rules, built = (1e6 * min(times) / num_nodes for times in time_in_turns(works, NUM_TURNS))
        cells = [f"`{name}`", f"{num_nodes:,}", f"{rules:.2f}", f"{built:.2f}"]
        print(format_row([*cells, f"{1e6 / built:,.0f}"]), flush=True)


if __name__ == "__main__":
    main()
