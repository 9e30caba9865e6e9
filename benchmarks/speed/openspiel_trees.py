"""Measure the cost of a node of an OpenSpiel game: OpenSpiel's own calls, and the tree.

    python -m benchmarks.speed.openspiel_trees

`walk` is the minimum: visit every state, read its player, information state and legal actions or
its returns, and make the children. `build` is `cp.build_tree` of the same game, which includes that
walk. Medians of five alternating turns, processor time.
"""

from __future__ import annotations

import argparse
from statistics import median
from typing import Any

import counterplay as cp
from benchmarks.timing import first_paragraph, format_head, format_row, time_call, time_in_turns

GAMES = [
    "kuhn_poker(players=5)",
    "leduc_poker",
    "liars_dice",
    "tic_tac_toe",
    "goofspiel(num_cards=4)",
    "goofspiel(num_cards=4,imp_info=True)",
    "first_sealed_auction",
    "trade_comm(num_items=4)",
]
NUM_TURNS = 5
MICROSECONDS = 1e6  # per second
MAX_SAMPLED_STATES = 20_000


def walk(game: Any) -> None:
    """Visit every state of OpenSpiel's game."""
    stack = [game.new_initial_state()]
    while stack:
        state = stack.pop()
        player = state.current_player()
        if player >= 0:
            state.information_state_string(player)
            stack += [state.child(action) for action in state.legal_actions()]
        elif state.is_terminal():
            state.returns()
        else:
            stack += [state.child(action) for action, _ in state.chance_outcomes()]


def call_costs(game: Any) -> dict[str, float]:
    """Return the microseconds of single calls, over states of a walk."""
    states, stack = [], [game.new_initial_state()]
    while stack and len(states) < MAX_SAMPLED_STATES:
        state = stack.pop()
        states.append(state)
        if not state.is_terminal():
            stack += [state.child(action) for action in state.legal_actions()]
    decisions = [state for state in states if state.current_player() >= 0]
    terminals = [state for state in states if state.is_terminal()]
    actions = [(state, state.legal_actions()[0]) for state in decisions]
    calls = {
        "current_player": (lambda: [s.current_player() for s in states], len(states)),
        "legal_actions": (lambda: [s.legal_actions() for s in decisions], len(decisions)),
        "information_state_string": (
            lambda: [s.information_state_string() for s in decisions],
            len(decisions),
        ),
        "child": (lambda: [s.child(a) for s, a in actions], len(actions)),
        "returns": (lambda: [s.returns() for s in terminals], len(terminals)),
    }
    return {
        name: median(time_call(call) for _ in range(NUM_TURNS)) / max(count, 1) * MICROSECONDS
        for name, (call, count) in calls.items()
    }


def main() -> None:
    """Print the table, then the costs of single calls."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.parse_args()
    import pyspiel

    print(format_head(["game", "nodes", "walk, us/node", "build, us/node", "build, nodes/s"]))
    for name in GAMES:
        game = cp.load_game(f"openspiel:{name}")
        spiel_game = game.spiel_game
        if spiel_game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
            spiel_game = pyspiel.convert_to_turn_based(spiel_game)
        nodes = cp.build_tree(game).num_nodes
        works = [lambda s=spiel_game: walk(s), lambda g=game: cp.build_tree(g)]
        walk_seconds, build_seconds = map(median, time_in_turns(works, NUM_TURNS))
        cells = [f"`{name}`", f"{nodes:,}"]
        cells += [f"{s / nodes * MICROSECONDS:.1f}" for s in (walk_seconds, build_seconds)]
        print(format_row([*cells, f"{nodes / build_seconds:,.0f}"]), flush=True)
    print()
    for name in ("leduc_poker", "liars_dice"):
        costs = call_costs(cp.load_game(f"openspiel:{name}").spiel_game)
        print(f"{name}, us per call:", ", ".join(f"{k} {v:.2f}" for k, v in costs.items()))


if __name__ == "__main__":
    main()
