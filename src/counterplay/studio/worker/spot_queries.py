"""Hold'em spots in a worker: the cost of solving a spot, and the nodes of its solution."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from counterplay.arenas.holdem.betting import DEAL, FOLD, SHOWDOWN
from counterplay.arenas.holdem.hand_categories import classify_hand
from counterplay.arenas.holdem.hand_ranges import Range, grid_cell
from counterplay.arenas.holdem.inspection import compare_nodes, find_node
from counterplay.arenas.holdem.node_view import NodeView
from counterplay.arenas.holdem.runouts import list_runouts, range_mean
from counterplay.arenas.holdem.spot import STREETS, BetSizes, Spot
from counterplay.arenas.holdem.spot_arena import SpotArena, compile_note
from counterplay.arenas.tree.size_estimate import available_memory
from counterplay.core.cards import (
    NUM_CARDS,
    card_name,
    cards_name,
    hand_name,
    parse_card,
    parse_cards,
)
from counterplay.errors import ConfigError
from counterplay.studio.worker.queries import Call, JsonObject, query
from counterplay.studio.worker.spot_study import (
    MAX_MEMORY_FRACTION,
    SpotStudy,
    find_studies,
)

if TYPE_CHECKING:
    from counterplay.studio.worker.studio_worker import StudioWorker

SpotJson = Mapping[str, object]
POSITION_NAMES = ("OOP", "IP")
MIN_EQUITY_SHARE = 1e-6  # of the pot below which equity realisation is not defined


class HistoryStep(TypedDict):
    """An action or a card of a history, with the history up to it."""

    name: str
    player: int  # -1 for a card
    record: str


@query("spot_size")
def estimate_spot(worker: StudioWorker, call: Call) -> JsonObject:
    """Return the memory and the time that solving a spot takes, and what to cut if it is large."""
    spot = Spot.from_dict(call["spot"])
    arena = SpotArena(spot)
    size, free = arena.size, available_memory()
    fits = size.num_bytes < MAX_MEMORY_FRACTION * free
    return {
        "spec": arena.spec,
        "hands": [hands.size for hands in arena.hands],
        "combos": [float(hands.weight.sum()) for hands in arena.hands],
        "nodes": size.num_nodes,
        "infosets": size.num_infosets,
        "bytes": size.num_bytes,
        "free": free,
        "fits": fits,
        "seconds": size.seconds_per_iteration,
        "notes": [*arena.notes, *list_blocker_notes(spot)],
        "cuts": [] if fits else list_cuts(spot),
    }


def list_blocker_notes(spot: Spot) -> list[str]:
    """Return a sentence per range with hands that the board makes impossible."""
    notes = []
    used = (*spot.cards, *spot.dead_cards)
    for name, text in zip(POSITION_NAMES, spot.ranges, strict=True):
        weights = Range.parse(text).weights
        live = Range.parse(text).weights_without(used)
        blocked, total = int((weights > 0).sum() - (live > 0).sum()), int((weights > 0).sum())
        if blocked > total / 2:
            cards = cards_name(used)
            notes.append(f"{blocked} of {total} combos of {name} hold a card of {cards}")
    return notes


def list_cuts(spot: Spot) -> list[JsonObject]:
    """Return changes of bet sizes that make a spot smaller, each with the memory that is left."""
    cuts: list[JsonObject] = []
    for street in range(spot.street, 3):
        both = spot.sizes[street]
        for kind in ("bet", "raises"):
            words = [getattr(sizes, kind).replace(",", " ").split() for sizes in both]
            if max(map(len, words)) < 2:
                continue
            shorter = tuple(
                replace(sizes, **{kind: own[0]}) if own else sizes
                for sizes, own in zip(both, words, strict=True)
            )
            cuts.append(_describe_cut(spot, street, kind, shorter))
    cuts = [cut for cut in cuts if cut]
    return sorted(cuts, key=lambda cut: float(str(cut["bytes"])))[:4]


def _describe_cut(spot: Spot, street: int, kind: str, sizes: tuple[BetSizes, ...]) -> JsonObject:
    parts = list(spot.sizes)
    parts[street] = (sizes[0], sizes[1])
    smaller = replace(spot, sizes=tuple(parts))
    try:
        num_bytes = SpotArena(smaller).size.num_bytes
    except ConfigError:
        return {}
    word = {"bet": "bet", "raises": "raise"}[kind]
    return {"text": f"one {word} size on the {STREETS[street]}", "bytes": num_bytes}


@query("spot")
def describe_solution(worker: StudioWorker, call: Call) -> JsonObject:
    """Return a node of the solution of a spot, which is solved at the first call."""
    study = find_solved_study(worker, call)
    answer = describe_spot_node(study, str(call.get("record", "")))
    studies = find_studies(worker, call)
    if study is not studies.base:
        base = studies.base
        answer["base"] = {"values": list(base.values), "percent": base.percent}
    if versus := call.get("versus"):
        answer["versus"] = _compare(worker, call, study, str(versus))
    return answer


def find_solved_study(worker: StudioWorker, call: Call) -> SpotStudy:
    """Return the study that a call asks about, solved to its target or as far as it was stopped."""
    worker.report_compilation()
    return find_studies(worker, call).find(call, worker)


@query("continue_solving")
def continue_solving(worker: StudioWorker, call: Call) -> JsonObject:
    """Let a stopped solve go on at the next call."""
    studies = find_studies(worker, call)
    for study in (studies.base, studies.variant):
        if study is not None:
            study.is_stopped = False
    return {"continued": studies.base.session is not None}


@query("save_spot")
def save_solution(worker: StudioWorker, call: Call) -> JsonObject:
    """Write the solution to the file `save_path`."""
    study = find_solved_study(worker, call)
    path = Path(str(call["save_path"]))
    worker.report_progress("writing the solution", 0, 0)
    study.save(path)
    return {"bytes": path.stat().st_size}


@query("runouts")
def describe_runouts(worker: StudioWorker, call: Call) -> JsonObject:
    """Return EVs, equities and betting frequencies after every next card."""
    study, history = find_solved_study(worker, call), str(call.get("record", ""))
    assert study.policy is not None
    if history not in study.runouts_by_history:
        study.runouts_by_history[history] = list_runouts(
            study.policy,
            history,
            inspect=study.inspect,
            progress=lambda done, total: worker.report_progress("next cards", done, total),
        )
    runouts = study.runouts_by_history[history]
    return {"record": history, "runouts": [runout.to_dict() for runout in runouts]}


@query("warm_up")
def warm_up_in_background(worker: StudioWorker, call: Call) -> bool:
    """Compile the kernels of spots with low priority."""
    if hasattr(os, "nice"):
        os.nice(10)
    return warm_up(worker)


def warm_up(worker: StudioWorker) -> bool:
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
    describe_solution(worker, {"spot": spot, "target": 50.0})
    worker.spot_studies = None
    return True


def describe_spot_node(study: SpotStudy, history: str) -> JsonObject:
    """Return the node after a history, with its hands and the actions of all nodes before it."""
    arena = study.arena
    node = arena.betting.nodes[find_node(arena, history).node]
    pot, steps, state = arena.spot.pot, _history_steps(arena, history), node.state
    answer: JsonObject = {
        "facts": {
            "spec": arena.spec,
            "spot": arena.spot.to_dict(),
            "pot": pot,
            "exploitability": study.exploitability,
            "percent": study.percent,
            "values": list(study.values),
            "iterations": study.iterations,
            "seconds": study.seconds,
            "notes": study.notes,
            "stopped": study.is_stopped,
            "can_continue": study.session is not None,
            "curve": study.records,
        },
        "record": history,
        "pot": pot + 2 * state.earlier_contribution + sum(state.contributions),
        "steps": steps,
        "path": _describe_path(study, steps),
    }
    if node.kind >= FOLD:
        new_cards = [parse_card(step["name"]) for step in steps if step["player"] < 0]
        board = [*arena.spot.cards, *new_cards]
        used = {*board, *arena.spot.dead_cards}
        deck = [card_name(card) for card in range(NUM_CARDS) if card not in used]
        kind = {DEAL: "deal", FOLD: "fold", SHOWDOWN: "showdown"}[node.kind]
        return answer | {"kind": kind, "board": cards_name(board), "cards": deck}
    view = study.inspect(history)
    to_call = max(state.contributions) - state.contributions[view.player]
    return answer | {"kind": "act", "to_call": to_call} | describe_view(view)


def describe_view(view: NodeView) -> JsonObject:
    """Return the actions, the grid and all hands of a node."""
    value, equity = range_mean(view, view.value), range_mean(view, view.equity)
    return {
        "board": view.board,
        "player": view.player,
        "reached": view.is_reached,
        "actions": describe_actions(view),
        "combos": float(view.weight.sum()),
        "value": value,
        "equity": equity,
        "eqr": _equity_realisation(value, equity, view.pot),
        "grid": view.hand_grid(),
        "hands": _describe_hands(view),
    }


def describe_actions(view: NodeView) -> list[JsonObject]:
    """Return frequency, EV and combos of each action over the range."""
    share = view.weight * view.opponent_mass
    actions: list[JsonObject] = []
    for index, name in enumerate(view.actions):
        taken = share * view.policy[index]
        total = float(taken.sum())
        actions.append(
            {
                "name": name,
                "frequency": float(view.frequencies[index]),
                "value": float(taken @ view.action_value[index]) / total if total > 0.0 else None,
                "combos": float(view.weight @ view.policy[index]),
            }
        )
    return actions


def _describe_hands(view: NodeView) -> list[JsonObject]:
    """Return one object per hand that reaches the node, with EVs of all actions."""
    board = parse_cards(view.board)
    share = view.weight * view.opponent_mass
    rows: list[JsonObject] = []
    for index in np.flatnonzero(view.weight > 0.0).tolist():
        name = view.hands[index]
        category = classify_hand(parse_cards(name), board)
        value, equity = float(view.value[index]), float(view.equity[index])
        rows.append(
            {
                "hand": name,
                "cell": _cell_by_hand()[name],
                "made": category.made,
                "draws": category.draws,
                "weight": float(view.weight[index]),
                "share": float(share[index]),  # by which means over the range are weighted
                "policy": view.policy[:, index].tolist(),
                "values": view.action_value[:, index].tolist(),
                "value": value,
                "equity": equity,
                "eqr": _equity_realisation(value, equity, view.pot),
                "regret": float(view.regret[index]),
            }
        )
    return rows


def _equity_realisation(value: float, equity: float, pot: int) -> float | None:
    """Return the EV as a share of equity times the pot; None without equity."""
    return value / (equity * pot) if equity > MIN_EQUITY_SHARE else None


def _describe_path(study: SpotStudy, steps: list[HistoryStep]) -> list[JsonObject]:
    """Return the actions of every decision on the way to a node, with the one that was taken."""
    path: list[JsonObject] = []
    before = ""
    for step in steps:
        if step["player"] < 0:
            path.append({"record": before, "player": -1, "taken": step["name"]})
        else:
            view = study.inspect(before)
            actions = describe_actions(view)
            path.append(
                {
                    "record": before,
                    "player": step["player"],
                    "taken": step["name"],
                    "actions": actions,
                }
            )
        before = step["record"]
    return path


def _compare(worker: StudioWorker, call: Call, study: SpotStudy, versus: str) -> JsonObject:
    """Return the differences to the base solution of this worker, or to a solution file."""
    history = str(call.get("record", ""))
    other = find_studies(worker, call).base
    if versus != "base":
        other = worker.comparison_study(Path(versus))
    assert study.policy is not None and other.policy is not None
    facts: JsonObject = {
        "values": list(other.values),
        "percent": other.percent,
        "board": other.arena.spot.board,
    }
    node = study.arena.betting.nodes[find_node(study.arena, history).node]
    if node.kind >= FOLD:
        return facts
    comparison = compare_nodes(study.policy, other.policy, history)
    cells = comparison.second.hand_grid()
    return facts | {
        "distance": comparison.policy_distance,
        "frequencies": comparison.frequencies.tolist(),
        "grid": cells,
        "hands": {row["hand"]: row["value"] for row in comparison.rows()},
    }


@cache
def _cell_by_hand() -> dict[str, str]:
    """Return the cell of the grid that each hand belongs to, such as AKs."""
    cells = (grid_cell(row, column) for row in range(13) for column in range(13))
    return {hand_name(hand): name for name, hands in cells for hand in hands}


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
