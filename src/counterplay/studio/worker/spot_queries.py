"""Hold'em spots at a desk: how much solving one takes, and what its solution does hand by hand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.betting import DEAL, FOLD, SHOWDOWN
from counterplay.arenas.holdem.hand_ranges import grid_cell
from counterplay.arenas.holdem.inspection import find_node, inspect_node
from counterplay.arenas.holdem.spot import Spot
from counterplay.arenas.holdem.spot_arena import SpotArena, compile_note
from counterplay.arenas.tree.size_estimate import available_memory
from counterplay.core.cards import NUM_CARDS, card_name, cards_name, hand_name, parse_card
from counterplay.core.evaluation import Judgement
from counterplay.core.solve import Record, solve
from counterplay.errors import ConfigError
from counterplay.registry import load_algorithm
from counterplay.studio.worker.policy_sources import ReportProgress

SPOT_ALGORITHM = "dcfr(gamma=3,restart_base=4)"  # that of `counterplay spot solve`
EVALUATE_EVERY = 10  # iterations between two judgements
MAX_ITERATIONS = 10_000  # iterations
MAX_MEMORY_FRACTION = 0.6  # of the free memory that a spot may take


@dataclass(frozen=True)
class SolvedSpot:
    """A spot, solved to a target."""

    arena: SpotArena
    policy: HoldemPolicy
    judgement: Judgement
    iterations: int
    seconds: float


def estimate_spot(spot: Any) -> dict[str, Any]:
    """What solving would take; nothing is allocated."""
    arena = SpotArena(Spot.from_dict(spot))
    size, free = arena.size, available_memory()
    return {
        "spec": arena.spec,
        "hands": [own.size for own in arena.hands],
        "nodes": size.num_nodes,
        "infosets": size.num_infosets,
        "bytes": size.num_bytes,
        "free": free,
        "fits": size.num_bytes < MAX_MEMORY_FRACTION * free,
        "seconds": size.seconds_per_iteration,
        "notes": list(arena.notes),
    }


def warm_up() -> bool:
    """Compile the kernels of spots into the cache if they are not there; True if it was done.

    A small turn spot calls all of them: solving, judging, values and equities of hands.
    """
    if not compile_note():
        return False
    sizes = {"bet": "a", "raise": "a"}
    spot = {
        "board": "2c3d4h5s",
        "ranges": ["AcAd", "KcKd"],
        "pot": 10,
        "stacks": 10,
        "sizes": {"turn": sizes, "river": sizes},
    }
    found = solve_spot(spot, 50.0, lambda doing, done, total: None)
    describe_spot_node(found, "", "")
    return True


def solve_spot(spot: Any, target: float, report_progress: ReportProgress) -> SolvedSpot:
    """The spot solved until its exploitability is so many percent of the pot."""
    if not 0.01 <= target <= 100.0:
        raise ConfigError(f"target is {target:g}, must be from 0.01 to 100 percent of the pot")
    arena = SpotArena(Spot.from_dict(spot))
    size, free = arena.size, available_memory()
    if size.num_bytes > MAX_MEMORY_FRACTION * free:
        raise ConfigError(
            f"this spot takes {size.num_bytes / 2**30:.1f} GB and {free / 2**30:.1f} GB are free; "
            "give fewer bet sizes, or narrower ranges"
        )
    reached = ""
    report_progress("preparing to solve", 0, 0)

    def report(record: Record) -> None:
        nonlocal reached
        percent = 100.0 * record.exploitability / arena.spot.pot
        reached = f", exploitability {percent:.2g} % of the pot,"

    result = solve(
        arena,
        load_algorithm(SPOT_ALGORITHM),
        iterations=MAX_ITERATIONS,
        target=target * arena.spot.pot / 100.0,
        evaluate_at=lambda now: (now // EVALUATE_EVERY + 1) * EVALUATE_EVERY,
        tick=lambda done: report_progress(f"solving{reached} iterations", done, 0),
        report=report,
    )
    judged = result.policy.judge(arena)
    return SolvedSpot(arena, result.policy, judged, result.iterations, result.seconds)


def describe_spot_node(solved_spot: SolvedSpot, history: str, cell_name: str) -> dict[str, Any]:
    """What happens after a record, the hands of one cell spelled out."""
    arena, judged = solved_spot.arena, solved_spot.judgement
    here = arena.betting.nodes[find_node(arena, history).node]
    pot, steps = arena.spot.pot, _history_steps(arena, history)
    seen: dict[str, Any] = {
        "facts": {
            "spec": arena.spec,
            "pot": pot,
            "exploitability": judged.exploitability,
            "percent": 100.0 * judged.exploitability / pot,
            "values": judged.values.tolist(),
            "iterations": solved_spot.iterations,
            "seconds": solved_spot.seconds,
            "notes": list(arena.notes),
        },
        "record": history,
        "pot": pot + 2 * here.state.earlier_contribution + sum(here.state.contributions),
        "steps": steps,
    }
    if here.kind >= FOLD:
        dealt = [parse_card(step["name"]) for step in steps if step["player"] < 0]
        cards = [*arena.spot.cards, *dealt]
        gone = {*cards, *arena.spot.dead_cards}
        deck = [card_name(c) for c in range(NUM_CARDS) if c not in gone]
        kind = {DEAL: "deal", FOLD: "fold", SHOWDOWN: "showdown"}[here.kind]
        return seen | {"kind": kind, "board": cards_name(cards), "cards": deck}
    shown = inspect_node(solved_spot.policy, history)
    hands = _hands_by_cell().get(cell_name, set())
    share = shown.weight * shown.opponent_mass
    total = share.sum()
    return seen | {
        "kind": "act",
        "board": shown.board,
        "player": shown.player,
        "reached": shown.is_reached,
        "actions": [
            {"name": name, "frequency": float(part)}
            for name, part in zip(shown.actions, shown.frequencies, strict=True)
        ],
        "value": float(shown.value @ share / total) if total > 0.0 else 0.0,
        "equity": float(shown.equity @ share / total) if total > 0.0 else 0.0,
        "grid": shown.hand_grid(),
        "hands": [row for row in shown.hand_rows() if row["hand"] in hands],
    }


@cache
def _hands_by_cell() -> dict[str, set[str]]:
    """The hands of every cell, such as the four of AKs."""
    cells = (grid_cell(row, column) for row in range(13) for column in range(13))
    return {name: set(map(hand_name, hands)) for name, hands in cells}


def _history_steps(arena: SpotArena, history: str) -> list[dict[str, Any]]:
    """The way to a record: what was done or dealt, and the record after each step."""
    found: list[dict[str, Any]] = []
    so_far = ""
    for number, part in enumerate(history.split("|")):
        words = [word.strip() for word in part.split(",") if word.strip()]
        for place, word in enumerate(words):
            dealt = number > 0 and place == 0
            before = so_far
            so_far = f"{so_far}|{word}" if dealt else f"{so_far},{word}" if so_far else word
            player = -1 if dealt else arena.betting.nodes[find_node(arena, before).node].kind
            found.append({"name": word, "player": player, "record": so_far})
    return found
