"""Further commands of `counterplay spot`: next cards, over-folding opponents, drills."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from counterplay.cli.options import (
    ForceOption,
    JsonOption,
    SeedOption,
    check_outputs,
    file_option,
    integer_option,
    parse_target,
)
from counterplay.cli.output import print_json, print_note, print_table, print_written
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.play.spot_drill import (
        DrillAnswer,
        DrillGrade,
        DrillProgress,
        DrillQuestion,
        SpotDrill,
    )

POSITION_NAMES = ("OOP", "IP")
RUNOUT_COLUMNS = ("card", "EV OOP", "EV IP", "equity OOP", "OOP bets", "IP bets after check")

SolutionArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="A solution written by spot solve --save.")
]
HistoryArgument = Annotated[
    str, typer.Argument(help="The actions and cards so far, such as 'check,bet 94,call|Td'.")
]


def runouts(
    solution: SolutionArgument,
    record: HistoryArgument = "",
    sort: Annotated[
        str, typer.Option(metavar="COLUMN", help="ev, equity, oop-bets, ip-bets, or card.")
    ] = "ev",
    json: JsonOption = False,
) -> None:
    """Print EVs, equities and betting frequencies after every next card.

    The line ends a street, such as 'check,check'. EVs are chips from the card on.
    """
    from counterplay.arenas.holdem.runouts import Runout, list_runouts
    from counterplay.arenas.holdem.solution import load_solution

    keys: dict[str, Callable[[Runout], float]] = {
        "ev": lambda runout: -(runout.values[0] if runout.values else 0.0),
        "equity": lambda runout: -runout.equities[0],
        "oop-bets": lambda runout: -runout.oop_bet_frequency,
        "ip-bets": lambda runout: -runout.ip_bet_frequency,
        "card": lambda runout: 0.0,
    }
    if sort not in keys:
        raise ConfigError(f"--sort is {sort!r}, must be one of {', '.join(keys)}")
    found = sorted(list_runouts(load_solution(solution).policy, record), key=keys[sort])
    if json:
        print_json([runout.to_dict() for runout in found])
        return
    rows = [
        [
            runout.card,
            *(f"{value:.4g}" for value in runout.values or ()),
            *([] if runout.values else ["", ""]),
            f"{100 * runout.equities[0]:.1f}%",
            f"{100 * runout.oop_bet_frequency:.1f}%",
            f"{100 * runout.ip_bet_frequency:.1f}%",
        ]
        for runout in found
    ]
    print_table(list(RUNOUT_COLUMNS), rows)


def overfold(
    solution: SolutionArgument,
    player: Annotated[
        int,
        integer_option(
            "--player", "-p", minimum=0, maximum=1, help="Who folds too often; 0 acts first."
        ),
    ] = 1,
    by: Annotated[
        float, typer.Option("--by", metavar="POINTS", help="Points added to the fold frequency.")
    ] = 10.0,
    target: Annotated[
        str, typer.Option("--target", "-t", metavar="X", help="As for spot solve.")
    ] = "0.5%",
    save: Annotated[
        Path | None, file_option("--save", "-o", help="Write the solution, for spot show.")
    ] = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Solve a spot again in which one player folds too often, and print what it costs.

    At every decision on the first street where the player can fold, all its hands continue less
    often by the same factor, so that the range folds POINTS percentage points more often.
    """
    from counterplay.arenas.holdem.overfold import lock_overfold
    from counterplay.arenas.holdem.solution import Solution, load_solution
    from counterplay.core.solve import solve
    from counterplay.registry import load_registered_algorithm

    check_outputs(save, None, force)
    base = load_solution(solution)
    arena = lock_overfold(base.policy, player, by / 100.0)
    limit = parse_target(target, arena.spot.pot, "0.5% of the pot, or chips such as 0.9")
    result = solve(
        arena,
        load_registered_algorithm("dcfr(gamma=3,restart_base=4)"),
        iterations=10_000,
        target=limit,
        evaluate_at=lambda iteration: (iteration // 10 + 1) * 10,
    )
    judgement = result.policy.judge(arena)
    values = (float(judgement.values[0]), float(judgement.values[1]))
    changes = [new - old for new, old in zip(values, base.values, strict=True)]
    if json:
        print_json({"values": list(values), "before": list(base.values), "changes": changes})
    else:
        print(f"{POSITION_NAMES[player]} folds {by:g} points more often on the first street")
        for name, old, new in zip(POSITION_NAMES, base.values, values, strict=True):
            print(f"EV of {name}: {old:.4g} before, {new:.4g} now ({new - old:+.4g})")
    if save:
        Solution(result.policy, judgement.exploitability, values, result.iterations).save(save)
        print_written(save)


def drill(
    solution: SolutionArgument,
    line: Annotated[
        str, typer.Option(metavar="LINE", help="Ask decisions after this line only.")
    ] = "",
    player: Annotated[
        str, typer.Option("--player", "-p", metavar="SEAT", help="0 (OOP), 1 (IP), or both.")
    ] = "both",
    street: Annotated[
        str, typer.Option(metavar="STREET", help="flop, turn, river, or empty for all.")
    ] = "",
    questions: Annotated[int, integer_option(minimum=1, help="Number of questions.")] = 20,
    seconds: Annotated[
        float, typer.Option(metavar="X", min=0.0, help="Time for an answer; 0 for no limit.")
    ] = 0.0,
    progress: Annotated[
        Path | None, file_option(help="The file of your answers; by default one per user.")
    ] = None,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Print the statistics, and ask nothing.")
    ] = False,
    seed: SeedOption = 0,
) -> None:
    """Answer random decisions of a solution, graded by EV loss; mistakes come back.

    Answers are kept in a file, by the name of the solution. A mistake is asked again after ten
    minutes, and after every right answer later: a day, three days, a week, three weeks.
    """
    from counterplay.arenas.holdem.solution import load_solution
    from counterplay.cli.play_prompt import QuitError
    from counterplay.play.spot_drill import (
        DrillProgress,
        DrillSettings,
        SpotDrill,
        default_progress_file,
        due_questions,
    )

    if player not in ("0", "1", "both"):
        raise ConfigError(f"--player is {player!r}, must be 0, 1 or both")
    record = DrillProgress.load(progress or default_progress_file())
    name = solution.stem
    if statistics:
        _print_statistics(record, name)
        return
    settings = DrillSettings(None if player == "both" else int(player), line, street)
    session = SpotDrill(load_solution(solution).policy, settings, seed)
    due = due_questions(record.answers, name, time.time())
    if due:
        print_note(f"{len(due)} mistakes are due again")
    try:
        for number in range(1, questions + 1):
            question = session.question(*due.pop(0)) if due else session.next_question()
            grade, needed = _ask_question(session, question, number, seconds)
            record.add(session.answer(name, question, grade, needed))
    except QuitError:
        pass
    _print_statistics(record, name)


def _ask_question(
    session: SpotDrill, question: DrillQuestion, number: int, limit: float
) -> tuple[DrillGrade, float]:
    """Ask a question, print its grade, and return it with the time of the answer."""
    call = f", {question.to_call} to call" if question.to_call else ""
    position = POSITION_NAMES[question.player]
    print(
        f"\n{number}. {question.street} {question.board}, pot {question.pot}{call}; "
        f"{question.history or 'first to act'}\n   you are {position} with {question.hand}"
    )
    start = time.monotonic()
    action = _ask_for_action(question)
    needed = time.monotonic() - start
    grade = session.grade(question, action, is_late=0.0 < limit < needed)
    print(f"   {_describe_grade(grade)}")
    parts = zip(question.actions, grade.action_values, grade.frequencies, strict=True)
    for name, value, frequency in parts:
        print(f"   {name:12} EV {value:9.4g}  {100 * frequency:5.1f}%")
    return grade, needed


def _describe_grade(grade: DrillGrade) -> str:
    if grade.grade == "best":
        return "best"
    better = f"{grade.best_action} is better by {grade.ev_loss:.3g} chips"
    return f"{grade.grade}: {better}, {100 * grade.pot_fraction:.2f}% of the pot"


def _ask_for_action(question: DrillQuestion) -> str:
    """Return the action that the person types, by its number or its name."""
    from counterplay.cli.play_prompt import ActionMenu, QuitError, prompt_line

    menu = ActionMenu(question.actions)
    names = ", ".join(f"{index} {name}" for index, name in enumerate(question.actions, 1))
    while True:
        answer = prompt_line(f"   {names} (q quits): ")
        if answer in ("q", "quit"):
            raise QuitError
        if answer.isdigit() and 1 <= int(answer) <= len(question.actions):
            return question.actions[int(answer) - 1]
        exact, matches = menu.find_exact(answer), menu.find_matches(answer)
        if exact is not None:
            return question.actions[exact]
        if answer and len(matches) == 1:
            return question.actions[matches[0]]
        print(f"   choose one of {names}")


def _print_statistics(record: DrillProgress, solution: str) -> None:
    from counterplay.play.spot_drill import score_answers

    answers = [answer for answer in record.answers if answer.solution == solution]
    if not answers:
        print_note(f"no answers about {solution} in {record.path}")
        return
    rows = []
    keys: dict[str, Callable[[DrillAnswer], str]] = {
        "street": lambda answer: answer.street,
        "line": lambda answer: answer.line,
    }
    for title, key in keys.items():
        scores = score_answers(answers, key)
        for name, score in sorted(scores.items(), key=lambda item: -item[1].mean_loss):
            rows.append(
                [
                    title,
                    name or "first to act",
                    str(score.count),
                    f"{100 * score.num_right / score.count:.0f}%",
                    f"{100 * score.mean_loss:.2f}%",
                ]
            )
    print_table(["by", "", "answers", "right", "EV loss"], rows)
