"""Reports over flops: a spot solved on many flops, with averages over all of them and by texture.

A flop counts with its weight in the chosen set (see `flops`) times the number of pairs of hands
that both ranges hold on it, so that averages are those over deals of hands and flop.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.arenas.holdem.betting import FOLD
from counterplay.arenas.holdem.boards import RangeHands, suit_symmetries
from counterplay.arenas.holdem.flops import FLOP_GROUPS, WeightedFlop, flop_subset, flop_texture
from counterplay.arenas.holdem.inspection import find_node, inspect_node
from counterplay.arenas.holdem.node_view import NodeView
from counterplay.arenas.holdem.spot import Spot
from counterplay.arenas.holdem.spot_arena import MIN_PAIR_FRACTION, SpotArena
from counterplay.core.archive import write_text
from counterplay.core.cards import SUIT_PERMUTATIONS, canonical_cards, cards_name, parse_cards
from counterplay.core.json_values import load_json
from counterplay.core.parallel import Stop, map_calls
from counterplay.core.solve import solve
from counterplay.errors import ConfigError
from counterplay.registry import load_registered_algorithm

SETTINGS_FILE, REPORT_FILE, RESULT_FOLDER = "settings.json", "report.json", "flops"


@dataclass(frozen=True)
class ReportSettings:
    """Settings of the solver on every flop, and the nodes that a report shows."""

    target: float  # exploitability in chips
    algorithm: str = "dcfr(gamma=3,restart_base=4)"
    iterations: int = 10_000  # at most, per flop
    evaluate_every: int = 10
    precision: str = "float32"
    lines: tuple[str, ...] = ()  # actions on the flop, such as `check`; default: both first nodes

    def next_evaluation(self, iteration: int) -> int:
        """Return the next iteration to evaluate at."""
        return (iteration // self.evaluate_every + 1) * self.evaluate_every


@dataclass(frozen=True)
class ReportNode:
    """A node of the flop's betting that a report shows."""

    line: str  # actions joined by commas; "" is the first decision
    player: int  # who acts; 0 is OOP
    actions: tuple[str, ...]


@dataclass(frozen=True)
class NodeResult:
    """The policy of the acting player at a node on one flop, or averaged over flops."""

    reach: float  # probability that the line is played
    frequencies: tuple[float, ...]  # of the actions
    ev: float  # chips of the acting player from this node on
    equity: float  # of the acting player's range at this node


@dataclass(frozen=True)
class FlopResult:
    """The solution of a spot on one flop."""

    flop: str
    pair_mass: float  # sum of weights of the pairs of hands without common cards
    equity: float  # of OOP's range
    values: tuple[float, float]  # EV in chips by player
    exploitability: float  # chips
    iterations: int
    seconds: float  # CPU time
    nodes: tuple[NodeResult, ...]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> FlopResult:
        """Return the result of JSON data as `dataclasses.asdict` makes them."""
        nodes = tuple(
            NodeResult(**(node | {"frequencies": tuple(node["frequencies"])}))
            for node in data["nodes"]
        )
        return cls(**(data | {"values": tuple(data["values"]), "nodes": nodes}))


@dataclass(frozen=True)
class ReportRow:
    """A flop of a report with its weight, or the average over a group of flops."""

    name: str  # the flop, or the value of a texture group
    weight: float  # part of all deals of hands and flop
    num_flops: int
    equity: float
    values: tuple[float, float]
    exploitability: float
    nodes: tuple[NodeResult, ...]


@dataclass(frozen=True)
class FlopReport:
    """A spot solved on a weighted set of flops.

    `to_json` and `from_json` convert it to JSON data and back; `rows`, `average` and `groups` are
    the numbers of its tables.
    """

    spot: Spot
    flops: str  # name of the set: 25, 49, 95, 184, all, or the flops
    num_flops: int  # of the set with a pair of hands; more than `results` if it is not finished
    settings: ReportSettings
    nodes: tuple[ReportNode, ...]
    results: tuple[FlopResult, ...]
    set_weights: tuple[float, ...]  # of the results' flops in the set

    @property
    def is_finished(self) -> bool:
        """Whether all flops of the set are solved."""
        return len(self.results) == self.num_flops

    @property
    def rows(self) -> tuple[ReportRow, ...]:
        """One row per flop, with weights that add up to 1."""
        masses = [w * r.pair_mass for w, r in zip(self.set_weights, self.results, strict=True)]
        total = sum(masses)
        return tuple(
            ReportRow(r.flop, mass / total, 1, r.equity, r.values, r.exploitability, r.nodes)
            for mass, r in zip(masses, self.results, strict=True)
        )

    @property
    def average(self) -> ReportRow:
        """The average over all deals."""
        return average_rows("all", self.rows)

    @property
    def groups(self) -> dict[str, tuple[ReportRow, ...]]:
        """Averages by value of each texture group; values without flops are left out."""
        rows = self.rows
        groups = {}
        for group, values in FLOP_GROUPS.items():
            parts = ((v, [r for r in rows if flop_texture(r.name)[group] == v]) for v in values)
            groups[group] = tuple(average_rows(value, part) for value, part in parts if part)
        return groups

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data, with its tables for readers in other languages."""
        tables = {
            "rows": [asdict(row) | {"texture": flop_texture(row.name)} for row in self.rows],
            "average": asdict(self.average) if self.results else None,
            "groups": {name: [asdict(r) for r in rows] for name, rows in self.groups.items()},
        }
        return {
            "spot": self.spot.to_dict(),
            "flops": self.flops,
            "num_flops": self.num_flops,
            "settings": asdict(self.settings),
            "nodes": [asdict(node) for node in self.nodes],
            "results": [asdict(result) for result in self.results],
            "set_weights": list(self.set_weights),
            "tables": tables,
        }

    @classmethod
    def from_json(cls, data: Any) -> FlopReport:
        """Return the report of `to_json`.

        Raises:
            ConfigError: the data are not those of a report.
        """
        try:
            settings = data["settings"] | {"lines": tuple(data["settings"]["lines"])}
            return cls(
                Spot.from_dict(data["spot"]),
                str(data["flops"]),
                int(data["num_flops"]),
                ReportSettings(**settings),
                tuple(
                    ReportNode(n["line"], n["player"], tuple(n["actions"])) for n in data["nodes"]
                ),
                tuple(FlopResult.from_json(result) for result in data["results"]),
                tuple(map(float, data["set_weights"])),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"this is not a report over flops ({error!r})") from None

    def table(self) -> list[dict[str, Any]]:
        """Return one dict per flop, for CSV: textures, equity, EVs and frequencies."""
        return [
            {
                "flop": row.name,
                "weight": row.weight,
                **flop_texture(row.name),
                "equity": row.equity,
                "EV OOP": row.values[0],
                "EV IP": row.values[1],
                "exploitability": row.exploitability,
                **{
                    f"{node.line or 'first'}: {action}": frequency
                    for node, result in zip(self.nodes, row.nodes, strict=True)
                    for action, frequency in zip(node.actions, result.frequencies, strict=True)
                },
            }
            for row in self.rows
        ]

    def csv(self) -> str:
        """Return the table of flops as CSV."""
        text, rows = io.StringIO(), self.table()
        writer = csv.DictWriter(text, list(rows[0]) if rows else ["flop"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()


def average_rows(name: str, rows: Sequence[ReportRow]) -> ReportRow:
    """Return the weighted average of rows; nodes are weighted by how often they are reached."""
    weights = np.array([row.weight for row in rows])
    share = weights / weights.sum()

    def mean(numbers: Iterable[Any]) -> Any:
        return (share @ np.array([*numbers])).tolist()

    nodes = []
    for results in zip(*(row.nodes for row in rows), strict=True):
        reach = share * [result.reach for result in results]
        part = reach / reach.sum() if reach.sum() > 0.0 else share
        nodes.append(
            NodeResult(
                float(reach.sum()),
                tuple((part @ np.array([result.frequencies for result in results])).tolist()),
                float(part @ np.array([result.ev for result in results])),
                float(part @ np.array([result.equity for result in results])),
            )
        )
    return ReportRow(
        name=name,
        weight=float(weights.sum()),
        num_flops=len(rows),
        equity=mean(row.equity for row in rows),
        values=tuple(mean(row.values for row in rows)),
        exploitability=mean(row.exploitability for row in rows),
        nodes=tuple(nodes),
    )


def report_flops(flops: str | int) -> tuple[str, tuple[WeightedFlop, ...]]:
    """Return the name and the flops of a set: 25, 49, 95, 184, all, or a list of flops.

    Example:
        >>> [flop.name for flop in report_flops("QsJh2h,Kd7c2s")[1]]
        ['QsJh2h', 'Kd7c2s']
    """
    text = str(flops)
    words = text.replace(",", " ").split()
    if not words or any(len(word) != 6 for word in words):
        return text, flop_subset(text)
    cards = [parse_cards(word, "flop") for word in words]
    if len({canonical_cards(flop) for flop in cards}) < len(cards):
        raise ConfigError(f"flops {text!r}: two of them differ in the names of suits only")
    return text, tuple(WeightedFlop(cards_name(flop), 1.0 / len(cards)) for flop in cards)


def find_report_nodes(spot: Spot, lines: Sequence[str]) -> tuple[ReportNode, ...]:
    """Return the nodes after lines of the flop's betting.

    Args:
        spot: a spot on the flop.
        lines: actions joined by commas; none of them stands for the first decision of both players.

    Raises:
        ConfigError: a line is not possible, or no player acts on the flop after it.
    """
    arena = SpotArena(spot)
    first_actions = arena.betting.nodes[0].actions
    nodes = []
    for line in lines or ("", *(["check"] if "check" in first_actions else [])):
        node = arena.betting.nodes[find_node(arena, line).node]
        if node.kind >= FOLD or node.state.street != spot.street:
            raise ConfigError(f"no player acts on the flop after the line {line!r}")
        nodes.append(ReportNode(line, node.kind, node.actions))
    return tuple(nodes)


def solve_flop(spot: Spot, settings: ReportSettings, lines: tuple[str, ...]) -> FlopResult:
    """Solve a spot on its flop, and return the numbers that a report shows."""
    start = time.process_time()
    arena = SpotArena(spot, settings.precision)
    outcome = solve(
        arena,
        load_registered_algorithm(settings.algorithm),
        iterations=settings.iterations,
        target=settings.target,
        evaluate_at=settings.next_evaluation,
    )
    judgement = outcome.policy.judge(arena)
    views = [inspect_node(outcome.policy, line) for line in lines]
    root = views[0] if lines[0] == "" else inspect_node(outcome.policy, "")
    root_mass = _view_mass(root)
    return FlopResult(
        flop=spot.board,
        pair_mass=arena.total_pair_weight,
        equity=_mean_over_range(root, root.equity),
        values=(float(judgement.values[0]), float(judgement.values[1])),
        exploitability=float(judgement.exploitability),
        iterations=outcome.iterations,
        seconds=time.process_time() - start,
        nodes=tuple(
            NodeResult(
                reach=min(_view_mass(view) / root_mass, 1.0),
                frequencies=tuple(view.frequencies.tolist()),
                ev=_mean_over_range(view, view.value),
                equity=_mean_over_range(view, view.equity),
            )
            for view in views
        ),
    )


def _view_mass(view: NodeView) -> float:
    return float(view.weight @ view.opponent_mass)


def _mean_over_range(view: NodeView, numbers: Any) -> float:
    mass = _view_mass(view)
    return float((view.weight * view.opponent_mass) @ numbers / mass) if mass > 0.0 else 0.0


def solve_flop_report(
    spot: Spot,
    flops: str | int = 49,
    settings: ReportSettings | None = None,
    *,
    folder: str | Path | None = None,
    report: Callable[[FlopReport], None] | None = None,
    stop: Stop | None = None,
) -> FlopReport:
    """Solve a spot on many flops.

    Flops are independent calls of `core.parallel`: they run one after another, or on an executor.

    Args:
        spot: ranges, pot, stacks and sizes; its board is replaced by the flops.
        flops: 25, 49, 95, 184 or `all`, or flops such as `QsJh2h,Kd7c2s`.
        settings: by default 0.5 % of the pot.
        folder: keeps every solved flop; a report that was interrupted goes on from there.
        report: called with the report so far after every flop.
        stop: once it returns True no further flop is started.

    Returns:
        The report; not finished if it was stopped.

    Raises:
        ConfigError: the spot is not on the flop, its ranges treat suits differently, a line is not
            possible, or the folder holds another report.
    """
    settings = settings or ReportSettings(target=0.005 * spot.pot)
    _check_report_spot(spot)
    name, weighted_flops = report_flops(flops)
    if spot.deck != "standard" and name.isdecimal():
        raise ConfigError(f"the {name} flops stand for 52 cards: take all, or list flops")
    dealt = [flop for flop in weighted_flops if _can_be_dealt(spot, flop.name)]
    if not dealt:
        raise ConfigError("the ranges leave no hand on any of the flops")
    nodes = find_report_nodes(replace(spot, board=dealt[0].name), settings.lines)
    storage = _ReportStorage(Path(folder), spot, settings) if folder else None
    results = storage.load_results() if storage else {}

    def report_so_far() -> FlopReport:
        solved = [flop for flop in dealt if flop.name in results]
        return FlopReport(
            spot,
            name,
            len(dealt),
            settings,
            nodes,
            tuple(results[flop.name] for flop in solved),
            tuple(flop.weight for flop in solved),
        )

    def add(_: int, result: FlopResult) -> None:
        results[result.flop] = result
        if storage:
            storage.save_result(result)
        if report:
            report(report_so_far())

    lines = tuple(node.line for node in nodes)
    missing = [flop.name for flop in dealt if flop.name not in results]
    calls = [(replace(spot, board=flop), settings, lines) for flop in missing]
    map_calls(solve_flop, calls, add, stop)
    outcome = report_so_far()
    if storage:
        write_text(storage.folder / REPORT_FILE, json.dumps(outcome.to_json()) + "\n")
    return outcome


def load_flop_report(path: str | Path) -> FlopReport:
    """Read the report of a folder, or of its file `report.json`.

    Raises:
        FileError: the file cannot be read.
        ConfigError: it holds something else.
    """
    path = Path(path)
    return load_json(path / REPORT_FILE if path.is_dir() else path, FlopReport.from_json)


def _check_report_spot(spot: Spot) -> None:
    if len(spot.cards) != 3:
        raise ConfigError(f"a report needs a spot on the flop; board {spot.board!r} is a later one")
    if spot.dead:
        raise ConfigError("a report over flops cannot have dead cards")
    if len(suit_symmetries((), (), spot.ranges)) < len(SUIT_PERMUTATIONS):
        raise ConfigError(
            "a report over flops needs ranges that treat all suits alike, such as AK or AKs; "
            "hands such as AhKd do not"
        )


def _can_be_dealt(spot: Spot, flop: str) -> bool:
    """Return True if both ranges have hands on a flop that share no card."""
    cards = parse_cards(flop)
    first, second = (RangeHands.from_range(text, cards) for text in spot.ranges)
    if not first.size or not second.size:
        return False
    mass = first.weight @ first.compatible_mass(second, second.weight)
    return bool(mass > MIN_PAIR_FRACTION * first.weight.sum() * second.weight.sum())


class _ReportStorage:
    """The folder of a report: its settings, and one file per solved flop."""

    def __init__(self, folder: Path, spot: Spot, settings: ReportSettings):
        self.folder = folder
        (folder / RESULT_FOLDER).mkdir(parents=True, exist_ok=True)
        content = {"spot": spot.to_dict() | {"board": ""}, "settings": asdict(settings)}
        content = json.loads(json.dumps(content))
        path = folder / SETTINGS_FILE
        if not path.exists():
            write_text(path, json.dumps(content, indent=1) + "\n")
            return
        stored = load_json(path, lambda data: data)
        if stored != content:
            raise ConfigError(
                f"{folder} holds the report of another spot or of other settings; name another "
                "folder"
            )

    def load_results(self) -> dict[str, FlopResult]:
        """Return the flops that are solved already, by name."""
        names = {field.name for field in fields(FlopResult)}
        results = {}
        for path in sorted((self.folder / RESULT_FOLDER).glob("*.json")):
            data = load_json(path, lambda content: content)
            if not isinstance(data, dict) or set(data) != names:
                raise ConfigError(f"{path} is damaged; remove it to solve that flop again")
            results[path.stem] = FlopResult.from_json(data)
        return results

    def save_result(self, result: FlopResult) -> None:
        """Write the file of a flop."""
        path = self.folder / RESULT_FOLDER / f"{result.flop}.json"
        write_text(path, json.dumps(asdict(result)) + "\n")
