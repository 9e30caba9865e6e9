"""Hold'em spots in a worker: the cost of solving a spot, and the nodes of its solution."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypedDict

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
from counterplay.registry import load_registered_algorithm
from counterplay.studio.worker.policy_sources import ReportProgress
from counterplay.studio.worker.queries import Call, JsonObject, query

if TYPE_CHECKING:
    from counterplay.studio.worker.studio_worker import StudioWorker

SPOT_ALGORITHM = "dcfr(gamma=3,restart_base=4)"  # that of `counterplay spot solve`
EVALUATE_EVERY = 10  # iterations between two evaluations
MAX_ITERATIONS = 10_000
MAX_MEMORY_FRACTION = 0.6  # of the free memory that a spot may use

SpotJson = Mapping[str, object]


@dataclass(frozen=True)
class SolvedSpot:
    """A spot, solved to a target."""

    target: float  # exploitability in percent of the pot
    arena: SpotArena
    policy: HoldemPolicy
    judgement: Judgement
    iterations: int
    seconds: float


class HistoryStep(TypedDict):
    """An action or a card of a history, with the history up to it."""

    name: str
    player: int  # -1 for a card
    record: str


@query("spot_size")
def estimate_spot(worker: StudioWorker, call: Call) -> JsonObject:
    """Return the memory and the time that solving a spot takes."""
    arena = SpotArena(Spot.from_dict(call["spot"]))
    size, free = arena.size, available_memory()
    return {
        "spec": arena.spec,
        "hands": [hands.size for hands in arena.hands],
        "nodes": size.num_nodes,
        "infosets": size.num_infosets,
        "bytes": size.num_bytes,
        "free": free,
        "fits": size.num_bytes < MAX_MEMORY_FRACTION * free,
        "seconds": size.seconds_per_iteration,
        "notes": list(arena.notes),
    }


@query("spot")
def describe_solution(worker: StudioWorker, call: Call) -> JsonObject:
    """Return a node of the solution of a spot, which is solved at the first call."""
    target = float(call.get("target", 0.5))
    worker.report_compilation()
    if worker.solved_spot is None or worker.solved_spot.target != target:
        worker.solved_spot = solve_spot(call["spot"], target, worker.report_progress)
    history, cell_name = str(call.get("record", "")), str(call.get("cell", ""))
    return describe_spot_node(worker.solved_spot, history, cell_name)


@query("warm_up")
def warm_up_in_background(worker: StudioWorker, call: Call) -> bool:
    """Compile the kernels of spots with low priority."""
    if hasattr(os, "nice"):
        os.nice(10)
    return warm_up()


def warm_up() -> bool:
    """Compile the kernels of spots if they are not in the cache; return True if they were not.

    A small turn spot calls all kernels: solving, evaluation, EVs and equities of hands.
    """
    if not compile_note():
        return False
    sizes = {"bet": "a", "raise": "a"}
    spot: SpotJson = {
        "board": "2c3d4h5s",
        "ranges": ["AcAd", "KcKd"],
        "pot": 10,
        "stacks": 10,
        "sizes": {"turn": sizes, "river": sizes},
    }
    solved = solve_spot(spot, 50.0, lambda activity, done, total: None)
    describe_spot_node(solved, "", "")
    return True


def solve_spot(spot: SpotJson, target: float, report_progress: ReportProgress) -> SolvedSpot:
    """Solve a spot until its exploitability is `target` percent of the pot."""
    if not 0.01 <= target <= 100.0:
        raise ConfigError(f"target is {target:g}, must be from 0.01 to 100 percent of the pot")
    arena = SpotArena(Spot.from_dict(spot))
    size, free = arena.size, available_memory()
    if size.num_bytes > MAX_MEMORY_FRACTION * free:
        raise ConfigError(
            f"this spot takes {size.num_bytes / 2**30:.1f} GB and {free / 2**30:.1f} GB are free; "
            "give fewer bet sizes, or narrower ranges"
        )
    exploitability = ""
    report_progress("preparing to solve", 0, 0)

    def report(record: Record) -> None:
        nonlocal exploitability
        percent = 100.0 * record.exploitability / arena.spot.pot
        exploitability = f", exploitability {percent:.2g} % of the pot,"

    result = solve(
        arena,
        load_registered_algorithm(SPOT_ALGORITHM),
        iterations=MAX_ITERATIONS,
        target=target * arena.spot.pot / 100.0,
        evaluate_at=lambda iteration: (iteration // EVALUATE_EVERY + 1) * EVALUATE_EVERY,
        tick=lambda done: report_progress(f"solving{exploitability} iterations", done, 0),
        report=report,
    )
    judgement = result.policy.judge(arena)
    return SolvedSpot(target, arena, result.policy, judgement, result.iterations, result.seconds)


def describe_spot_node(solved_spot: SolvedSpot, history: str, cell_name: str) -> JsonObject:
    """Return the node after a history, with all hands of one cell of its grid."""
    arena, judgement = solved_spot.arena, solved_spot.judgement
    node = arena.betting.nodes[find_node(arena, history).node]
    pot, steps = arena.spot.pot, _history_steps(arena, history)
    answer: JsonObject = {
        "facts": {
            "spec": arena.spec,
            "pot": pot,
            "exploitability": judgement.exploitability,
            "percent": 100.0 * judgement.exploitability / pot,
            "values": judgement.values.tolist(),
            "iterations": solved_spot.iterations,
            "seconds": solved_spot.seconds,
            "notes": list(arena.notes),
        },
        "record": history,
        "pot": pot + 2 * node.state.earlier_contribution + sum(node.state.contributions),
        "steps": steps,
    }
    if node.kind >= FOLD:
        new_cards = [parse_card(step["name"]) for step in steps if step["player"] < 0]
        board = [*arena.spot.cards, *new_cards]
        used = {*board, *arena.spot.dead_cards}
        deck = [card_name(card) for card in range(NUM_CARDS) if card not in used]
        kind = {DEAL: "deal", FOLD: "fold", SHOWDOWN: "showdown"}[node.kind]
        return answer | {"kind": kind, "board": cards_name(board), "cards": deck}
    view = inspect_node(solved_spot.policy, history)
    hands = _hands_by_cell().get(cell_name, set())
    share = view.weight * view.opponent_mass
    total = share.sum()
    return answer | {
        "kind": "act",
        "board": view.board,
        "player": view.player,
        "reached": view.is_reached,
        "actions": [
            {"name": name, "frequency": float(frequency)}
            for name, frequency in zip(view.actions, view.frequencies, strict=True)
        ],
        "value": float(view.value @ share / total) if total > 0.0 else 0.0,
        "equity": float(view.equity @ share / total) if total > 0.0 else 0.0,
        "grid": view.hand_grid(),
        "hands": [row for row in view.hand_rows() if row["hand"] in hands],
    }


@cache
def _hands_by_cell() -> dict[str, set[str]]:
    """Return the hands of every cell of the grid, such as the four of AKs."""
    cells = (grid_cell(row, column) for row in range(13) for column in range(13))
    return {name: set(map(hand_name, hands)) for name, hands in cells}


def _history_steps(arena: SpotArena, history: str) -> list[HistoryStep]:
    """Return the actions and cards of a history, each with the history up to it."""
    steps: list[HistoryStep] = []
    prefix = ""
    for street, part in enumerate(history.split("|")):
        names = [name.strip() for name in part.split(",") if name.strip()]
        for index, name in enumerate(names):
            is_card = street > 0 and index == 0
            player = -1 if is_card else arena.betting.nodes[find_node(arena, prefix).node].kind
            prefix = f"{prefix}|{name}" if is_card else f"{prefix},{name}" if prefix else name
            steps.append({"name": name, "player": player, "record": prefix})
    return steps
