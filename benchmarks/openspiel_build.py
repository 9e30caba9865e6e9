"""What a node of an OpenSpiel game costs: OpenSpiel's own calls, and the tree built from them.

    python benchmarks/openspiel_build.py

`walk` is the least one can do: visit every state, ask whose turn it is, for information state and
legal actions or for the returns, and make the children. `build` is `cp.build_tree` of the same
game: that walk and everything after it. Medians of five turns, taken in turn, of processor time.
"""

from __future__ import annotations

import time
from statistics import median

import counterplay as cp

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
TURNS = 5
MICRO = 1e6


def walk(game) -> None:
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


def seconds(call) -> float:
    """Of this process, so that others on the machine count little."""
    began = time.process_time()
    call()
    return time.process_time() - began


def calls(game, most: int = 20_000) -> dict[str, float]:
    """Microseconds of single calls, over states met on a walk."""
    states, stack = [], [game.new_initial_state()]
    while stack and len(states) < most:
        state = stack.pop()
        states.append(state)
        if not state.is_terminal():
            stack += [state.child(action) for action in state.legal_actions()]
    decisions = [state for state in states if state.current_player() >= 0]
    over = [state for state in states if state.is_terminal()]
    chosen = [(state, state.legal_actions()[0]) for state in decisions]
    costs = {
        "current_player": (lambda: [s.current_player() for s in states], len(states)),
        "legal_actions": (lambda: [s.legal_actions() for s in decisions], len(decisions)),
        "information_state_string": (
            lambda: [s.information_state_string() for s in decisions],
            len(decisions),
        ),
        "child": (lambda: [s.child(a) for s, a in chosen], len(chosen)),
        "returns": (lambda: [s.returns() for s in over], len(over)),
    }
    return {
        name: median(seconds(call) for _ in range(TURNS)) / max(count, 1) * MICRO
        for name, (call, count) in costs.items()
    }


def main() -> None:
    import pyspiel

    print("| game | nodes | walk, us/node | build, us/node | build, nodes/s |")
    print("|---|---|---|---|---|")
    for name in GAMES:
        game = cp.load_game(f"openspiel:{name}")
        theirs = game.rules
        if theirs.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
            theirs = pyspiel.convert_to_turn_based(theirs)
        nodes = cp.build_tree(game).num_nodes
        turns = [
            (seconds(lambda t=theirs: walk(t)), seconds(lambda g=game: cp.build_tree(g)))
            for _ in range(TURNS)
        ]
        least, whole = (median(column) for column in zip(*turns, strict=True))
        print(
            f"| `{name}` | {nodes:,} | {least / nodes * MICRO:.1f} | {whole / nodes * MICRO:.1f} "
            f"| {nodes / whole:,.0f} |",
            flush=True,
        )
    print()
    for name in ("leduc_poker", "liars_dice"):
        costs = calls(cp.load_game(f"openspiel:{name}").rules)
        print(f"{name}, us per call:", ", ".join(f"{k} {v:.2f}" for k, v in costs.items()))


if __name__ == "__main__":
    main()
