"""Hold'em spots at a desk: how much solving one takes, and what its solution does hand by hand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from counterplay.cards import NUM_CARDS, card_name, cards_name, hand_name, parse_card
from counterplay.errors import ConfigError
from counterplay.evaluate import Judgement
from counterplay.public.betting import DEAL, FOLD, SHOWDOWN
from counterplay.public.looking import find, look
from counterplay.public.ranges import cell
from counterplay.public.spot import Spot
from counterplay.public.tree import PublicPolicy, PublicTree, compile_note
from counterplay.registry import load_algorithm
from counterplay.solving import Record, solve
from counterplay.studio.sources import Tell
from counterplay.tree.estimating import available_memory

ALGORITHM = "dcfr(gamma=3,restart=4)"  # that of `counterplay spot solve`
EVERY = 10  # iterations between two judgements
MOST = 10_000  # iterations
SHARE = 0.6  # of the free memory that a spot may take


@dataclass(frozen=True)
class Solved:
    """A spot, solved to a target."""

    arena: PublicTree
    policy: PublicPolicy
    judged: Judgement
    iterations: int
    seconds: float


def estimate(spot: Any) -> dict[str, Any]:
    """What solving would take; nothing is allocated."""
    arena = PublicTree(Spot.from_dict(spot))
    size, free = arena.size, available_memory()
    return {
        "spec": arena.spec,
        "hands": [own.size for own in arena.hands],
        "nodes": size.num_nodes,
        "infosets": size.num_infosets,
        "bytes": size.num_bytes,
        "free": free,
        "fits": size.num_bytes < SHARE * free,
        "seconds": size.seconds,
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
    found = solved(spot, 50.0, lambda doing, done, total: None)
    view(found, "", "")
    return True


def solved(spot: Any, target: float, tell: Tell) -> Solved:
    """The spot solved until its exploitability is so many percent of the pot."""
    if not 0.01 <= target <= 100.0:
        raise ConfigError(f"target is {target:g}, must be from 0.01 to 100 percent of the pot")
    arena = PublicTree(Spot.from_dict(spot))
    size, free = arena.size, available_memory()
    if size.num_bytes > SHARE * free:
        raise ConfigError(
            f"this spot takes {size.num_bytes / 2**30:.1f} GB and {free / 2**30:.1f} GB are free; "
            "give fewer bet sizes, or narrower ranges"
        )
    reached = ""
    tell("preparing to solve", 0, 0)

    def report(record: Record) -> None:
        nonlocal reached
        percent = 100.0 * record.exploitability / arena.spot.pot
        reached = f", exploitability {percent:.2g} % of the pot,"

    result = solve(
        arena,
        load_algorithm(ALGORITHM),
        iterations=MOST,
        target=target * arena.spot.pot / 100.0,
        evaluate_at=lambda now: (now // EVERY + 1) * EVERY,
        tick=lambda done: tell(f"solving{reached} iterations", done, 0),
        report=report,
    )
    judged = result.policy.judged(arena)
    return Solved(arena, result.policy, judged, result.iterations, result.seconds)


def view(found: Solved, record: str, chosen: str) -> dict[str, Any]:
    """What happens after a record, the hands of one cell spelled out."""
    arena, judged = found.arena, found.judged
    here = arena.betting.nodes[find(arena, record).node]
    pot, steps = arena.spot.pot, _steps(arena, record)
    seen: dict[str, Any] = {
        "facts": {
            "spec": arena.spec,
            "pot": pot,
            "exploitability": judged.exploitability,
            "percent": 100.0 * judged.exploitability / pot,
            "values": judged.values.tolist(),
            "iterations": found.iterations,
            "seconds": found.seconds,
            "notes": list(arena.notes),
        },
        "record": record,
        "pot": pot + 2 * here.street.before + sum(here.street.paid),
        "steps": steps,
    }
    if here.kind >= FOLD:
        dealt = [parse_card(step["name"]) for step in steps if step["player"] < 0]
        cards = [*arena.spot.cards, *dealt]
        gone = {*cards, *arena.spot.dead_cards}
        deck = [card_name(c) for c in range(NUM_CARDS) if c not in gone]
        kind = {DEAL: "deal", FOLD: "fold", SHOWDOWN: "showdown"}[here.kind]
        return seen | {"kind": kind, "board": cards_name(cards), "cards": deck}
    shown = look(found.policy, record)
    hands = _cells().get(chosen, set())
    share = shown.weight * shown.met
    total = share.sum()
    return seen | {
        "kind": "act",
        "board": shown.board,
        "player": shown.player,
        "reached": shown.reached,
        "actions": [
            {"name": name, "frequency": float(part)}
            for name, part in zip(shown.actions, shown.frequencies, strict=True)
        ],
        "value": float(shown.value @ share / total) if total > 0.0 else 0.0,
        "equity": float(shown.equity @ share / total) if total > 0.0 else 0.0,
        "grid": shown.grid(),
        "hands": [row for row in shown.rows() if row["hand"] in hands],
    }


@cache
def _cells() -> dict[str, set[str]]:
    """The hands of every cell, such as the four of AKs."""
    cells = (cell(row, column) for row in range(13) for column in range(13))
    return {name: set(map(hand_name, hands)) for name, hands in cells}


def _steps(arena: PublicTree, record: str) -> list[dict[str, Any]]:
    """The way to a record: what was done or dealt, and the record after each step."""
    found: list[dict[str, Any]] = []
    so_far = ""
    for number, part in enumerate(record.split("|")):
        words = [word.strip() for word in part.split(",") if word.strip()]
        for place, word in enumerate(words):
            dealt = number > 0 and place == 0
            before = so_far
            so_far = f"{so_far}|{word}" if dealt else f"{so_far},{word}" if so_far else word
            player = -1 if dealt else arena.betting.nodes[find(arena, before).node].kind
            found.append({"name": word, "player": player, "record": so_far})
    return found
