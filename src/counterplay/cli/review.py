"""`counterplay review`: the price of every decision of played hands by an agent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from counterplay.cli.match import AGENT_HELP
from counterplay.cli.options import AgentIterationsOption, file_option, integer_option
from counterplay.cli.output import print_note, print_table, print_written
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.interop.hand_history import PlayedHand
    from counterplay.interop.hand_review import ReviewedDecision


def review(
    hands: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Hand histories: .phh files, or ACPC logs."),
    ],
    agent: Annotated[str, typer.Option(metavar="AGENT", help=AGENT_HELP)] = "uniform",
    game: Annotated[
        Path | None,
        typer.Option("--game", "-g", metavar="GAME", help="The ACPC file.game of logs."),
    ] = None,
    csv: Annotated[Path | None, file_option(help="Write all decisions as a CSV file.")] = None,
    top: Annotated[int, integer_option(minimum=1, help="Decisions to print.")] = 20,
    iterations: AgentIterationsOption = None,
    oop: Annotated[
        str, typer.Option(metavar="RANGE", help="Solve the spot, with this range out of position.")
    ] = "",
    ip: Annotated[str, typer.Option(metavar="RANGE", help="The range in position.")] = "",
    street: Annotated[
        str, typer.Option(metavar="STREET", help="Where spots start: flop, turn or river.")
    ] = "flop",
    target: Annotated[
        str, typer.Option("--target", "-t", metavar="X", help="As for spot solve.")
    ] = "1%",
) -> None:
    """Price the decisions of played hands.

    Decisions are printed with the probability that the agent gives them.

    With --oop and --ip, hands that are heads-up on the street become spots with these ranges, and
    the decisions after it are priced by the solutions.

    If the game is small enough for its tree, and the agent is a policy of it, decisions also have
    their EV loss against the agent, and the largest losses come first.
    """
    from counterplay.cli.match import is_small_game
    from counterplay.cli.options import check_outputs
    from counterplay.cli.progress import agent_loader_with_progress
    from counterplay.core.policy import Policy
    from counterplay.interop.hand_review import review_hands, write_review
    from counterplay.play.sessions import TreeEvaluator

    check_outputs(csv, None)
    played = _read_hands(hands, game)
    if oop or ip:
        if not (oop and ip):
            raise ConfigError("give both ranges, --oop and --ip")
        _review_spots(played, (oop, ip), street, target)
        return
    rules = played[0].game
    if any(hand.game != rules for hand in played):
        raise ConfigError("the hands are of different formats or stacks; review them one by one")
    loader = agent_loader_with_progress(rules, iterations, rules_only=not is_small_game(rules))
    reviewer = loader.load_agents(agent)[0]
    evaluator = None
    if isinstance(reviewer, Policy):
        from counterplay.arenas.tree.policy_analysis import PolicyAnalysis

        evaluator = TreeEvaluator(PolicyAnalysis(loader.tree, reviewer, agent))
    rows = review_hands(played, reviewer, evaluator)
    if csv:
        write_review(rows, csv)
        print_written(csv)
    _print_rows(rows[:top])
    if len(rows) > top:
        print_note(f"{len(rows) - top} more decisions; --top prints more, --csv writes all")


def _read_hands(paths: list[Path], game: Path | None) -> list[PlayedHand]:
    from counterplay.interop.acpc_format import read_game_file, read_log
    from counterplay.interop.hand_history import read_hand_history
    from counterplay.interop.hand_review import hand_from_log

    played: list[PlayedHand] = []
    for path in paths:
        if path.suffix == ".phh":
            played.append(read_hand_history(path))
        elif game is None:
            raise ConfigError(f"{path} is an ACPC log; give its game file by --game")
        else:
            rules = read_game_file(game)
            played += [hand_from_log(rules, hand) for hand in read_log(rules, path)]
    if not played:
        raise ConfigError("the files have no hands")
    return played


def _review_spots(
    played: list[PlayedHand], ranges: tuple[str, str], street: str, target: str
) -> None:
    """Solve the spot of every hand, and print the EV loss of its decisions."""
    from counterplay.arenas.holdem.spot_arena import SpotArena
    from counterplay.cli.options import parse_target
    from counterplay.core.solve import solve
    from counterplay.interop.spot_review import spot_from_hand
    from counterplay.play.spot_drill import SpotDrill
    from counterplay.registry import load_registered_algorithm

    header = ["hand", "player", "street", "cards", "line", "action", "EV loss", "of pot", "best"]
    table, problems = [], []
    for number, hand in enumerate(played, 1):
        try:
            found = spot_from_hand(hand, ranges, street)
        except ConfigError as error:
            problems.append(str(error))
            continue
        arena = SpotArena(found.spot)
        limit = parse_target(target, arena.spot.pot, "1% of the pot, or chips such as 0.9")
        method = load_registered_algorithm("dcfr(gamma=3,restart_base=4)")
        drill = SpotDrill(solve(arena, method, iterations=10_000, target=limit).policy)
        for decision in found.decisions:
            row = [hand.number or str(number), decision.player, decision.street]
            row += [decision.hand, decision.history, decision.played]
            prices = ["", "", "cards unknown"]
            if decision.hand:
                try:
                    question = drill.question(decision.history, decision.hand)
                    grade = drill.grade(question, decision.action)
                    prices = [f"{grade.ev_loss:.4g}", f"{100 * grade.pot_fraction:.2f}%"]
                    prices.append(grade.best_action)
                    if not grade.is_reached:
                        prices = ["", "", "not reached by the solution"]
                except ConfigError:
                    prices = ["", "", "not in the range"]
            table.append(row + prices)
    for problem in problems:
        print_note(problem)
    if not table:
        raise ConfigError(f"no hand is heads-up with a decision on the {street}")
    print_table(header, table)


def _print_rows(rows: list[ReviewedDecision]) -> None:
    header = ["hand", "player", "street", "cards", "board", "action", "prob", "EV loss", "agent"]
    table = [
        [
            *(row.hand, row.player, row.street, row.cards, row.board, row.action),
            f"{row.probability:.4g}",
            "" if row.ev_loss is None else f"{row.ev_loss:.4g}",
            f"{row.agent_action} {row.agent_probability:.4g}",
        ]
        for row in rows
    ]
    print_table(header, table)
