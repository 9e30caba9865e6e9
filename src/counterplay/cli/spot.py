"""`counterplay spot`: solve hold'em spots, show and practise solutions; equity and ranges."""

from __future__ import annotations

import json as json_format
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zipfile import is_zipfile

import typer

from counterplay.cli.options import (
    ExecutorOption,
    ForceOption,
    JsonOption,
    ProcessesOption,
    SeedOption,
    ThreadsOption,
    algorithm_option,
    check_outputs,
    file_option,
    integer_option,
    iterations_option,
    parse_target,
    seed_option,
)
from counterplay.cli.output import (
    format_bytes,
    format_seconds,
    print_facts,
    print_json,
    print_note,
    print_table,
    print_wrapped,
    print_written,
    write_node_view,
)
from counterplay.cli.preflop import from_preflop
from counterplay.cli.spot_study import drill, overfold, runouts
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.arenas.holdem.all_flops_ev import AllFlopsEV
    from counterplay.arenas.holdem.base import HoldemPolicy
    from counterplay.arenas.holdem.flop_report import FlopReport, ReportRow
    from counterplay.arenas.holdem.game_arena import HoldemGameArena
    from counterplay.arenas.holdem.node_view import NodeView
    from counterplay.arenas.holdem.spot_arena import SpotArena
    from counterplay.core.evaluation import Judgement
    from counterplay.core.solve import AnyAlgorithm, Record, Result
    from counterplay.play.spot_practice import SpotPractice

NUM_ALL_HANDS = 1326  # hands of two cards
ACTION_COLOURS = ("blue", "green", "red", "magenta", "yellow", "cyan", "white")

spot = typer.Typer(
    help="Hold'em spots: solve, show, estimate; equity and ranges.", no_args_is_help=True
)
spot.command(name="from-preflop")(from_preflop)
spot.command()(runouts)
spot.command()(overfold)
spot.command()(drill)

SpotOrGameArgument = Annotated[
    Path,
    typer.Argument(
        metavar="SPOT",
        help="A JSON file, an example of `configs`, a solution to solve again, or a hold'em game "
        "from the first card, such as ms1f1 or 'custom_holdem(num_ranks=5)'.",
    ),
]
SolutionArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="A solution written by spot solve --save.")
]
HistoryArgument = Annotated[
    str, typer.Argument(help="The actions and cards so far, such as 'check,bet 94,call|Td'.")
]
PrecisionOption = Annotated[
    str, typer.Option(metavar="TYPE", help="float32, float64, or int16 for half the memory.")
]


def _load_arena(path: Path, precision: str, keep_locks: bool = True) -> SpotArena:
    """Return the arena of a spot from a JSON file or from a solution."""
    from counterplay.arenas.holdem.solution import load_solution
    from counterplay.arenas.holdem.spot import Spot
    from counterplay.arenas.holdem.spot_arena import SpotArena
    from counterplay.experiment.examples import find_config

    path = find_config(path)
    if not is_zipfile(path):
        return SpotArena(Spot.load(path), precision)
    solved = load_solution(path, num_streets=1).policy.arena
    if not keep_locks:
        return SpotArena(solved.spot, precision, solved.isomorphism)
    arena = SpotArena(solved.spot, precision, solved.isomorphism, symmetries=solved.symmetries)
    for (node, board), weights in solved.locks.items():
        arena.lock(node, board, weights)
    return arena


def _load_spot_or_game(
    source: Path, precision: str, keep_locks: bool
) -> SpotArena | HoldemGameArena:
    """Return the arena of a spot, or of a hold'em game by its name or from its policy."""
    from counterplay.arenas.holdem.game_arena import (
        GAME_POLICY_FORMAT,
        HoldemGameArena,
        load_holdem_policy,
    )
    from counterplay.core.archive import read_format_name
    from counterplay.games.holdem_base import HoldemBase
    from counterplay.registry import GAMES, load_game

    name = str(source)
    if not source.exists() and name.partition("(")[0] in GAMES:
        game = load_game(name)
        if not isinstance(game, HoldemBase):
            raise ConfigError(f"{name} is not a hold'em game; use 'counterplay solve {name}'")
        return HoldemGameArena(game, precision)
    if is_zipfile(source) and read_format_name(source) == GAME_POLICY_FORMAT:
        solved = load_holdem_policy(source).arena
        arena = HoldemGameArena(solved.game, precision, solved.isomorphism)
        for (node, board), weights in solved.locks.items() if keep_locks else ():
            arena.lock(node, board, weights)
        return arena
    return _load_arena(source, precision, keep_locks)


def _target_unit(arena: SpotArena | HoldemGameArena) -> tuple[float, str]:
    """Return the chips that percentages refer to, and their name."""
    from counterplay.arenas.holdem.spot_arena import SpotArena

    if isinstance(arena, SpotArena):
        return arena.spot.pot, "pot"
    if arena.game.pays_prizes:
        return sum(arena.game.payouts), "prize pool"
    return arena.game.min_bet, "big blind"


@spot.command()
def estimate(
    spot: SpotOrGameArgument, precision: PrecisionOption = "float32", json: JsonOption = False
) -> None:
    """Print the size of a spot, and the memory and time that solving takes.

    Of a hold'em game from the first card, the time is not estimated.
    """
    from counterplay.arenas.holdem.game_arena import HoldemGameArena
    from counterplay.arenas.tree.size_estimate import available_memory

    arena = _load_spot_or_game(spot, precision, keep_locks=True)
    if isinstance(arena, HoldemGameArena):
        _print_game_size(arena, json)
        return
    size, free = arena.size, available_memory()
    facts: dict[str, object] = {
        "spot": arena.spec,
        "hands": [hands.size for hands in arena.hands],
        "boards": arena.boards.level_sizes,
        "nodes": size.num_nodes,
        "infosets": size.num_infosets,
        "sequences": size.num_sequences,
    }
    if json:
        facts |= {
            "bytes": size.num_bytes,
            "bytes_free": free,
            "seconds_per_iteration": size.seconds_per_iteration,
            "notes": list(arena.notes),
        }
        print_json(facts)
        return
    facts["memory"] = f"{format_bytes(size.num_bytes)} of {format_bytes(free)} free"
    facts["an_iteration"] = f"about {format_seconds(size.seconds_per_iteration)} on one core"
    print_facts(facts)
    _print_notes(arena.notes)


def _print_game_size(arena: HoldemGameArena, json: bool) -> None:
    from counterplay.arenas.tree.size_estimate import available_memory

    free, num_bytes = available_memory(), arena.table_bytes()
    facts: dict[str, object] = {
        "game": arena.spec,
        "hands": [arena.num_hands(street) for street in range(len(arena.streets))],
        "boards": [street.num_boards for street in arena.streets],
        "infosets": arena.num_infosets,
        "sequences": arena.num_sequences,
    }
    if json:
        print_json(facts | {"bytes": num_bytes, "bytes_free": free})
        return
    facts["memory"] = f"{format_bytes(num_bytes)} of {format_bytes(free)} free"
    print_facts(facts)


def _print_notes(notes: Iterable[str]) -> None:
    for note in notes:
        print_note(f"note: {note}")


@spot.command()
def solve(
    spot: SpotOrGameArgument,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "-t",
            metavar="X",
            help="Stop at this exploitability: 0.5% of the pot (of a game: of the big blind or "
            "prize pool), or a number of chips.",
        ),
    ] = "0.5%",
    algorithm: Annotated[
        str, algorithm_option("An algorithm of the CFR family.")
    ] = "dcfr(gamma=3,restart_base=4)",
    iterations: Annotated[int, iterations_option("Maximum number of iterations.")] = 10_000,
    every: Annotated[int, integer_option(minimum=1, help="Iterations between evaluations.")] = 10,
    precision: PrecisionOption = "float32",
    save: Annotated[
        Path | None, file_option("--save", "-o", help="Write the solution, for spot show.")
    ] = None,
    lock: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LOCK",
            help="Fix the actions at a node: 'RECORD = call 0.75, fold 0.25', or for some hands "
            "'RECORD @ AA,KQs = fold', or a .json file of locks. May be repeated.",
        ),
    ] = None,
    lock_twins: Annotated[
        bool,
        typer.Option(
            "--lock-twins",
            help="Apply a lock after a card to the cards that differ only by a renaming of suits.",
        ),
    ] = False,
    unlock: Annotated[
        bool, typer.Option("--unlock", help="Remove the locks of the solution SPOT.")
    ] = False,
    threads: ThreadsOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Solve a spot, or a hold'em game, and print exact exploitability as it falls.

    Ctrl-C ends the run early: the solution so far is reported and written. Ctrl-C twice aborts.
    """
    from counterplay.kernels.runtime.threads import set_num_threads
    from counterplay.registry import load_algorithm

    check_outputs(save, None, force)
    method = load_algorithm(algorithm)
    arena = _load_spot_or_game(spot, precision, keep_locks=not unlock)
    unit, unit_name = _target_unit(arena)
    limits = _SolveLimits(
        parse_target(target, unit, f"0.5% of the {unit_name}, or chips such as 0.9"),
        iterations,
        every,
    )
    notes = _apply_locks(arena, lock or [], lock_twins)
    _print_notes(notes)
    set_num_threads(threads)
    _print_size(arena)
    result = _solve_with_progress(arena, method, limits, prints_table=not json)
    judgement = result.policy.judge(arena)
    if json:
        print_json(_result_to_json(arena, method, result, judgement) | {"notes": notes})
    values = ", ".join(f"{value:.4f}" for value in judgement.values)
    interrupted = "interrupted after " if result.stopped else ""
    print_note(
        f"{interrupted}{result.iterations:,} iterations in {result.seconds:.2f} s; "
        f"player values {values}"
    )
    if save:
        _save_solution(result.policy, judgement, result.iterations, save)
    if result.stopped:
        raise typer.Exit(130)


def _apply_locks(
    arena: SpotArena | HoldemGameArena, locks: list[str], lock_twins: bool
) -> list[str]:
    """Apply node locks, and return notes for the user about the arena and the locks."""
    from counterplay.arenas.holdem.game_locks import apply_game_locks
    from counterplay.arenas.holdem.locks import apply_locks
    from counterplay.arenas.holdem.spot_arena import SpotArena

    if isinstance(arena, SpotArena):
        reports, notes = apply_locks(arena, locks, lock_isomorphic=lock_twins), arena.notes
    else:
        reports, notes = apply_game_locks(arena, locks), ()
    return [*notes, *(note for report in reports for note in report.notes)]


@dataclass(frozen=True)
class _SolveLimits:
    """When a solver stops and how often it evaluates."""

    target: float  # exploitability in chips
    iterations: int
    evaluate_every: int

    def next_evaluation(self, iteration: int) -> int:
        """Return the next iteration to evaluate at."""
        return (iteration // self.evaluate_every + 1) * self.evaluate_every


def _print_size(arena: SpotArena | HoldemGameArena) -> None:
    from counterplay.arenas.holdem.spot_arena import SpotArena, compile_note

    num_bytes = arena.size.num_bytes if isinstance(arena, SpotArena) else arena.table_bytes()
    print_note(f"{arena.spec}: {arena.num_sequences:,} sequences, {format_bytes(num_bytes)}")
    if note := compile_note():
        print_note(note)


def _solve_with_progress(
    arena: SpotArena | HoldemGameArena,
    method: AnyAlgorithm,
    limits: _SolveLimits,
    prints_table: bool,
) -> Result:
    from counterplay.cli.convergence import ConvergenceTracker
    from counterplay.cli.progress import ProgressFollower
    from counterplay.core.solve import solve as run_algorithm

    tracker = ConvergenceTracker(limits.target)
    follower = ProgressFollower("solving", "it", limits.iterations)
    follower.note = tracker.progress_note

    def report(record: Record) -> None:
        tracker.add(record.exploitability)
        if prints_table:
            percent = 100.0 * record.exploitability / _target_unit(arena)[0]
            cells = (record.iteration, f"{record.exploitability:.4g}", f"{percent:.4f}%")
            follower.print_row(("iteration", "exploitability", "percent"), cells)

    with follower:
        return run_algorithm(
            arena,
            method,
            iterations=limits.iterations,
            target=limits.target,
            evaluate_at=limits.next_evaluation,
            tick=follower.tick,
            report=report,
            stop=follower.stop,
        )


def _result_to_json(
    arena: SpotArena | HoldemGameArena,
    method: AnyAlgorithm,
    result: Result,
    judgement: Judgement,
) -> dict[str, object]:
    from counterplay.registry import get_spec

    return {
        "spot": arena.spec,
        "algorithm": get_spec(method),
        "iterations": result.iterations,
        "seconds": result.seconds,
        "exploitability": judgement.exploitability,
        "percent": 100.0 * judgement.exploitability / _target_unit(arena)[0],
        "values": judgement.values.tolist(),
        "stopped": result.stopped,
    }


def _save_solution(policy: HoldemPolicy, judgement: Judgement, iterations: int, path: Path) -> None:
    from counterplay.arenas.holdem.solution import Solution
    from counterplay.arenas.holdem.spot_arena import SpotArena

    if not isinstance(policy.arena, SpotArena):
        policy.save(path)
        print_written(path)
        return
    values = (float(judgement.values[0]), float(judgement.values[1]))
    Solution(policy, judgement.exploitability, values, iterations).save(path)
    print_written(path)


@spot.command()
def report(
    spot: Annotated[
        Path, typer.Argument(metavar="SPOT", help="A JSON file, or an example of `configs`.")
    ],
    flops: Annotated[
        str,
        typer.Option(metavar="SET", help="25, 49, 95, 184, all, or a list such as QsJh2h,Kd7c2s."),
    ] = "49",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder of the report; by default the name of SPOT with '-report'.",
        ),
    ] = None,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "-t",
            metavar="X",
            help="Exploitability on every flop: 0.5% of the pot, or a number of chips.",
        ),
    ] = "0.5%",
    algorithm: Annotated[
        str, algorithm_option("An algorithm of the CFR family.")
    ] = "dcfr(gamma=3,restart_base=4)",
    iterations: Annotated[int, iterations_option("Iterations per flop at most.")] = 10_000,
    precision: PrecisionOption = "float32",
    line: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LINE",
            help="A node of the flop to report, such as 'check' or 'bet 30'; may be repeated. "
            "By default the first decisions of both players.",
        ),
    ] = None,
    on: ExecutorOption = "local",
    processes: ProcessesOption = None,
    json: JsonOption = False,
) -> None:
    """Solve a spot on many flops; write a table, a CSV file and a page with pictures.

    Ctrl-C ends the report after the flops that are being solved; the same command continues it,
    also after a crash. The board of SPOT is replaced by the flops.
    """
    from counterplay.arenas.holdem.all_flops_ev import estimate_all_flops_ev
    from counterplay.arenas.holdem.flop_report import ReportSettings, solve_flop_report
    from counterplay.arenas.holdem.spot import Spot
    from counterplay.cli.progress import ProgressFollower
    from counterplay.cli.sweep import exit_interrupted
    from counterplay.experiment.examples import find_config

    path = find_config(spot)
    loaded = Spot.load(path)
    settings = ReportSettings(
        target=parse_target(target, loaded.pot, "0.5% of the pot, or chips such as 0.9"),
        algorithm=algorithm,
        iterations=iterations,
        precision=precision,
        lines=tuple(line or ()),
    )
    folder = out or Path(f"{path.stem}-report")
    _print_notes(loaded.notes)
    with ProgressFollower("solving", "flops", shows_time_left=True) as follower:

        def show_progress(so_far: FlopReport) -> None:
            follower.tick(len(so_far.results), so_far.num_flops)

        with _flop_executor(on, processes):
            result = solve_flop_report(
                loaded, flops, settings, folder=folder, report=show_progress, stop=follower.stop
            )
            overall = None
            if result.is_finished and result.flops.isdecimal():
                overall = estimate_all_flops_ev(result, folder, follower.stop)
    _write_report(result, overall, folder, json)
    if not result.is_finished:
        exit_interrupted()


def _flop_executor(on: str, processes: int | None) -> AbstractContextManager[None]:
    """Return a context in which flops are solved on an executor; one process needs none."""
    if on == "local" and processes == 1:
        return nullcontext()
    from counterplay.core.parallel import use_executor
    from counterplay.distributed.executor import open_executor
    from counterplay.distributed.remote_calls import make_call_mapper

    @contextmanager
    def open_and_use() -> Iterator[None]:
        with (
            open_executor(on, processes, notify=print_note) as executor,
            use_executor(make_call_mapper(executor)),
        ):
            yield

    return open_and_use()


def _write_report(result: FlopReport, overall: AllFlopsEV | None, folder: Path, json: bool) -> None:
    """Print a report, and write its table and its page."""
    from counterplay.core.archive import write_text
    from counterplay.display.flop_report_page import flop_report_page

    if not result.results:
        return
    write_text(folder / "report.csv", result.csv())
    write_text(folder / "report.html", flop_report_page(result))
    if json:
        print_json(result.to_json() | {"all_flops": asdict(overall) if overall else None})
    else:
        _print_report(result)
        if overall:
            print_wrapped(
                f"\nall 1,755 flops: equity {100 * overall.equity:.2f}%, EV OOP "
                f"{overall.values[0]:.2f}, EV IP {overall.values[1]:.2f} (the equity is exact, EVs "
                "by regression on it)"
            )
    for name in ("report.csv", "report.html"):
        print_written(folder / name)


def _print_report(result: FlopReport) -> None:
    """Print the averages of a report: all flops, then the texture groups, for every node."""
    pot = result.spot.pot
    rows = [("all flops", result.average)]
    rows += [
        (f"{group}: {row.name}", row) for group, values in result.groups.items() for row in values
    ]
    print_table(
        ["flops", "number", "weight", "equity", "EV OOP", "EV IP", "exploitability"],
        [
            [
                name,
                str(row.num_flops),
                f"{100 * row.weight:.1f}%",
                f"{100 * row.equity:.2f}%",
                f"{row.values[0]:.2f}",
                f"{row.values[1]:.2f}",
                f"{100 * row.exploitability / pot:.2f}%",
            ]
            for name, row in rows
        ],
    )
    for number, node in enumerate(result.nodes):
        player = ("OOP", "IP")[node.player]
        print(f"\n{player} {f'after {node.line}' if node.line else 'first'}")

        def cells(name: str, row: ReportRow, number: int = number) -> list[str]:
            at_node = row.nodes[number]
            frequencies = [f"{100 * frequency:.1f}%" for frequency in at_node.frequencies]
            return [name, f"{100 * at_node.reach:.1f}%", f"{at_node.ev:.2f}", *frequencies]

        print_table(
            ["flops", "reached", "EV", *node.actions], [cells(name, row) for name, row in rows]
        )


@spot.command()
def equity(
    hero_range: Annotated[
        str, typer.Argument(metavar="RANGE", help="Such as 'AhKd' or '88+,A5s-A2s'.")
    ],
    opponent_range: Annotated[str, typer.Argument(metavar="RANGE", help="The opponent's range.")],
    board: Annotated[str, typer.Option(metavar="CARDS", help="0 to 5 cards, such as Td9d6h.")] = "",
    samples: Annotated[
        int, integer_option(minimum=0, help="Boards to sample; 0 enumerates all boards.")
    ] = 0,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Print the equity of a range against another."""
    from counterplay.arenas.holdem.equity import compute_equity

    result = compute_equity(hero_range, opponent_range, board, num_samples=samples, seed=seed)
    if json:
        print_json({"equity": result.value, "error": result.margin, "boards": result.num_boards})
        return
    error = f" +- {100 * result.margin:.3f}" if samples else ""
    print(f"{100 * result.value:.4f}%{error} against {100 - 100 * result.value:.4f}%")


@spot.command(name="range")
def show_range(
    text: Annotated[str, typer.Argument(metavar="RANGE", help="Such as '88+,A5s-A2s:0.5,KQo'.")],
) -> None:
    """Print a range as a grid and in its shortest notation, and the meaning of each entry."""
    from counterplay.arenas.holdem.hand_ranges import Range, grid_cell, read_entries

    hand_range = Range.parse(text)
    percent = 100 * hand_range.num_combos / NUM_ALL_HANDS
    print(f"{hand_range.num_combos:g} hands, {percent:.2f}%")
    for row in range(13):
        cells = [grid_cell(row, column) for column in range(13)]
        weights = [(name, hand_range.weights[hands].mean()) for name, hands in cells]
        line = [f"{name if p == 1 else f'{p:.2f}' if p else '.':>5}" for name, p in weights]
        print("".join(line))
    print(hand_range)
    earlier_hands: set[int] = set()
    for entry in read_entries(text):
        repeated = earlier_hands.intersection(entry.hands)
        earlier_hands.update(entry.hands)
        note = f"; {len(repeated)} of its hands are in an earlier entry, which counts"
        print(f"{entry.text} reads {entry.meaning}{note if repeated else ''}")


@spot.command()
def show(
    solution: SolutionArgument,
    record: HistoryArgument = "",
    hand: Annotated[
        str,
        typer.Option(
            metavar="RANGE", help="Print the hands of a range too, such as AK or 'AhKd,99+'."
        ),
    ] = "",
    category: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Print the hands of a made hand or a draw, such as 'top pair'."
        ),
    ] = None,
    holds: Annotated[
        str, typer.Option(metavar="CARDS", help="Print the hands that hold one of these cards.")
    ] = "",
    sort: Annotated[
        str, typer.Option(metavar="COLUMN", help="Sort printed hands by value, equity, eqr, ...")
    ] = "",
    export: Annotated[
        Path | None, file_option(help="Write all hands; FILE ends in .json or .csv.")
    ] = None,
    grid: Annotated[
        Path | None, file_option(help="Draw the grid; FILE ends in .svg, .png or .pdf.")
    ] = None,
    streets: Annotated[
        int,
        integer_option(
            minimum=1, maximum=3, help="Streets to load; EVs need all streets of the solution."
        ),
    ] = 3,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Show the strategy at a node: a 13 x 13 grid, frequencies, EVs.

    EVs are chips from this node on: a fold has EV 0. The file may also be a policy of a hold'em
    game from the first card, saved by `solve ms1f1 --save`; its histories are those of the rules,
    such as 'cr6c|Td:c'.
    """
    from counterplay.arenas.holdem.game_arena import GAME_POLICY_FORMAT, load_holdem_policy
    from counterplay.arenas.holdem.game_inspection import inspect_game_node
    from counterplay.arenas.holdem.inspection import inspect_node
    from counterplay.arenas.holdem.solution import load_solution
    from counterplay.core.archive import read_format_name
    from counterplay.display.tree_drawing import check_drawing_file

    check_outputs(None, export, force)
    if grid:
        check_drawing_file(grid)
        check_outputs(grid, None)
    if read_format_name(solution) == GAME_POLICY_FORMAT:
        view = inspect_game_node(load_holdem_policy(solution), record)
    else:
        view = inspect_node(load_solution(solution, streets).policy, record)
    write_node_view(view, export, grid)
    if json:
        print(json_format.dumps(view.to_dict()))
        return
    _print_node(view)
    if hand or category or holds or sort:
        _print_hands(view, hand, category or [], holds, sort)


def _print_node(view: NodeView) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False)
    note = "" if view.is_reached else "; never reached, so the policy here is arbitrary"
    print(f"board {view.board}, pot {view.pot}, player {view.player} acts{note}")
    for action, (name, frequency) in enumerate(zip(view.actions, view.frequencies, strict=True)):
        console.print(Text(f"{name:12} {100 * frequency:6.2f}%", style=_action_colour(action)))
    for row in view.hand_grid():
        line = Text()
        for cell in row:
            if cell["weight"] <= 0.0:
                line.append(f"{'.':>5}", style="dim")
                continue
            policy: list[float] = cell["policy"]
            action = policy.index(max(policy))
            mark = "" if policy[action] > 0.95 else "~"
            line.append(f"{cell['name'] + mark:>5}", style=_action_colour(action))
        console.print(line)


def _action_colour(action: int) -> str:
    return ACTION_COLOURS[action % len(ACTION_COLOURS)]


def _print_hands(view: NodeView, text: str, categories: list[str], holds: str, sort: str) -> None:
    """Print the hands of a range, of categories and with cards, sorted by a column."""
    from counterplay.arenas.holdem.hand_categories import check_category, classify_hand
    from counterplay.arenas.holdem.hand_ranges import Range
    from counterplay.core.cards import hand_name, parse_cards

    weights = Range.parse(text or "random").weights
    names = {hand_name(i) for i, weight in enumerate(weights) if weight > 0.0}
    wanted, cards = set(map(check_category, categories)), set(parse_cards(holds))
    board = parse_cards(view.board)
    rows = []
    for row in view.hand_rows():
        own = parse_cards(row["hand"])
        category = classify_hand(own, board)
        if row["hand"] not in names or (cards and not cards & set(own)):
            continue
        if wanted and not wanted & {category.made, *category.draws}:
            continue
        if row["weight"] <= 0.0 and not text:
            continue
        pot_share = row["equity"] * view.pot
        realisation = row["value"] / pot_share if pot_share > 0.0 else float("nan")
        rows.append(row | {"eqr": realisation, "made": category.made})
    if not rows:
        raise ConfigError(f"player {view.player} has none of these hands here")
    if sort:
        if sort not in rows[0]:
            raise ConfigError(f"--sort is {sort!r}, must be one of {', '.join(rows[0])}")
        rows.sort(key=lambda row: row[sort], reverse=sort not in ("hand", "made"))
    _print_hand_rows(rows, ".4g")


def _print_hand_rows(rows: Iterable[dict[str, object]], number_format: str) -> None:
    """Print a table of hands; texts as they are, numbers in a format."""
    rows = list(rows)
    cells = [
        [value if isinstance(value, str) else f"{value:{number_format}}" for value in row.values()]
        for row in rows
    ]
    print_table(list(rows[0]), cells)


@spot.command()
def diff(
    first: SolutionArgument,
    second: Annotated[Path, typer.Argument(metavar="OTHER", help="Another solution of the spot.")],
    record: HistoryArgument = "",
    most: Annotated[
        int, integer_option(minimum=0, help="Hands to list, the most different first.")
    ] = 10,
    json: JsonOption = False,
) -> None:
    """Show how two solutions differ at a node: the first minus the second."""
    from counterplay.arenas.holdem.inspection import compare_nodes
    from counterplay.arenas.holdem.solution import load_solution

    solutions = load_solution(first), load_solution(second)
    comparison = compare_nodes(solutions[0].policy, solutions[1].policy, record)
    frequencies = dict(zip(comparison.first.actions, comparison.frequencies.tolist(), strict=True))
    values = [a - b for a, b in zip(solutions[0].values, solutions[1].values, strict=True)]
    exploitabilities = [solution.exploitability for solution in solutions]
    if json:
        print_json(
            {
                "values": values,
                "exploitability": exploitabilities,
                "distance": comparison.policy_distance,
                "frequencies": frequencies,
                "hands": comparison.rows(),
            }
        )
        return
    print(f"values {values[0]:+.4f}, {values[1]:+.4f}")
    print(f"exploitability {exploitabilities[0]:.4g} and {exploitabilities[1]:.4g}")
    percent = 100 * comparison.policy_distance
    print(f"{percent:.2f}% of player {comparison.first.player}'s decisions differ")
    for name, difference in frequencies.items():
        print(f"{name:12} {100 * difference:+.2f}%")
    if rows := comparison.rows()[:most]:
        _print_hand_rows(rows, "+.4g")


@spot.command()
def play(
    solution: SolutionArgument,
    player: Annotated[
        int,
        integer_option("--player", "-p", minimum=0, maximum=1, help="Your seat; 0 acts first."),
    ] = 0,
    seed: Annotated[int, seed_option("Seed of the first hand.")] = 0,
    hands: Annotated[int, integer_option(minimum=1, help="Maximum number of hands.")] = 100,
) -> None:
    """Play a spot against its solution, with the EV loss of every decision."""
    from counterplay.arenas.holdem.solution import load_solution
    from counterplay.cli.play_prompt import QuitError
    from counterplay.play.sessions import PlayScore
    from counterplay.play.spot_practice import SpotPractice

    policy = load_solution(solution).policy
    score = PlayScore()
    for number in range(hands):
        practice = SpotPractice(policy, player, seed + number)
        print(f"\nhand {number + 1}: you hold {practice.hand}")
        try:
            while not practice.is_finished:
                _play_decision(practice)
        except QuitError:
            return
        score.add_episode(practice.chips_won(), practice.total_ev_loss)
        print(f"  {practice.history} on {practice.board}: you win {practice.chips_won():g}")
        print(
            f"  {score.num_episodes} hands: {score.utility:+g} chips; "
            f"{score.ev_loss:.3g} lost by decisions"
        )


def _play_decision(practice: SpotPractice) -> None:
    """Read the person's action, take it, and print its EV loss."""
    decision = practice.take_action(_ask_for_action(practice))
    verdict = "best"
    if decision.ev_loss > 1e-6:
        verdict = f"{decision.best_action} was better by {decision.ev_loss:.3g}"
    frequency = f"{100 * decision.solution_frequency:.0f}%"
    print(f"  {decision.action}: {verdict}; the solution does it {frequency}")


def _ask_for_action(practice: SpotPractice) -> str:
    """Return the action that the person types; ask again until it is clear."""
    from counterplay.cli.play_prompt import ActionMenu, QuitError, prompt_line

    view = practice.view
    menu, names = ActionMenu(view.actions), ", ".join(view.actions)
    print(f"  board {practice.board}, pot {view.pot}; {practice.history or 'you open'}")
    while True:
        answer = prompt_line(f"  {names} (q quits): ")
        if answer in ("q", "quit"):
            raise QuitError
        exact, matches = menu.find_exact(answer), menu.find_matches(answer)
        if exact is not None:
            return view.actions[exact]
        if answer and len(matches) == 1:
            return view.actions[matches[0]]
        print(f"  choose one of {names}")
