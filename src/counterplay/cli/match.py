"""`counterplay match`: the mean utilities of agents against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterplay.cli.options import (
    AgentIterationsOption,
    GameArgument,
    JsonOption,
    SeedOption,
    TrustOption,
    episodes_option,
    file_option,
    integer_option,
    load_last_game,
)
from counterplay.cli.output import print_json, print_note, print_table
from counterplay.core.game import Game
from counterplay.core.game_checks import game_title
from counterplay.core.json_values import replace_non_finite
from counterplay.errors import ConfigError
from counterplay.play.agents import AgentLoader, is_searcher
from counterplay.registry import get_spec

if TYPE_CHECKING:
    from counterplay.play.match import Estimate, ExactMean, Match, MatchResult

MAX_EXACT_NODES = 3_000_000  # of a tree that is built for an exact result, in half a minute
DEFAULT_AIVAT_EPISODES = 1000

AGENT_HELP = "A policy file, a searcher such as 'mcts(max_seconds=1)', an algorithm, or uniform."


def match(
    a: Annotated[str, typer.Argument(metavar="A", help=AGENT_HELP, show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help=AGENT_HELP, show_default=False)],
    game: GameArgument,
    episodes: Annotated[
        int | None,
        episodes_option(1, "Maximum number of episodes.", "1000, or as many as --width needs"),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Play until the 95% interval is this narrow.",
            show_default=False,
        ),
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Option(
            metavar="C",
            help="A further agent; with one for each seat, they play in all orders. Repeatable.",
            show_default=False,
        ),
    ] = None,
    iterations: AgentIterationsOption = None,
    sampled: Annotated[
        bool, typer.Option("--sampled", help="Play episodes even if the game can be unrolled.")
    ] = False,
    aivat: Annotated[
        bool,
        typer.Option(
            "--aivat", help="Heads-up hold'em: average over the hands agents could have held."
        ),
    ] = False,
    log: Annotated[
        Path | None,
        file_option(help="With --aivat: keep every deal, and continue the match of the file."),
    ] = None,
    workers: Annotated[
        int, integer_option(minimum=1, help="With --aivat: processes that play deals.")
    ] = 1,
    seed: SeedOption = 0,
    json: JsonOption = False,
    trust: TrustOption = None,
) -> None:
    """Print the mean utilities of agents against each other.

    All seats have the same weight. With more than two players, A plays each seat in turn, and
    copies of B have all others; or --more names an agent for each further seat.

    The result is exact if both are policies and the game can be unrolled. Otherwise it is a mean
    with its 95% interval, from episodes with swapped seats and the same random numbers. Ctrl-C ends
    the match early and prints the result so far.
    """
    from counterplay.cli.progress import agent_loader_with_progress
    from counterplay.play.match import head_to_head
    from counterplay.play.poker.table_match import new_match

    names = (a, b, *(more or ()))
    rules = load_last_game(game, *names)
    _check_match(rules, episodes, width)
    if aivat:
        if more:
            raise ConfigError("--aivat is for two agents; leave out --more")
        _play_range_match(
            rules, (a, b), episodes or DEFAULT_AIVAT_EPISODES, seed, log, workers, json
        )
        return
    if log is not None or workers > 1:
        raise ConfigError("--log and --workers are for --aivat; add it or leave them out")
    by_episodes = sampled or any(map(is_searcher, names)) or not is_small_game(rules)
    loader = agent_loader_with_progress(rules, iterations, rules_only=by_episodes)
    agents = loader.load_agents(*names)
    stopped = False
    if by_episodes:
        sampled_match = new_match(rules, agents, seed)
        stopped = _play_match(sampled_match, episodes, width)
        result = sampled_match.result()
    else:
        result = head_to_head(loader.tree, *agents)
    if json:
        facts = {"game": get_spec(rules), "contestants": list(names), "exact": result.is_exact}
        print_json(replace_non_finite({**facts, **_result_facts(result), "stopped": stopped}))
    else:
        print(f"game  {get_spec(rules)}")
        _print_result(result, names, rules.num_players)
    if stopped:
        raise typer.Exit(130)


def _play_range_match(
    game: Game,
    names: tuple[str, str],
    episodes: int,
    seed: int,
    log: Path | None,
    workers: int,
    json: bool,
) -> None:
    """Play a match of heads-up hold'em with averages over hands, and print the estimates."""
    from counterplay.cli.progress import ProgressBar
    from counterplay.play.poker.range_match import RangeMatch, play_in_processes
    from counterplay.registry import get_spec

    num_deals = (episodes + 1) // 2
    rules: Any = game
    match = RangeMatch(rules, AgentLoader(rules, rules_only=True).load_agents(*names), seed, log)
    stopped = False
    try:
        with ProgressBar("playing", "hands", total=2 * num_deals) as bar:
            deals = (
                match.play(num_deals)
                if workers == 1
                else play_in_processes(match, names, num_deals, workers)
            )
            for _ in deals:
                bar.update(2 * len(match.deals))
    except KeyboardInterrupt:
        if not match.deals:
            raise
        stopped = True
    result = match.result()
    if json:
        facts = {"game": get_spec(game), "contestants": list(names), **asdict(result)}
        print_json(replace_non_finite({**facts, "stopped": stopped}))
    else:
        print(f"game  {get_spec(game)}")
        for letter, name in zip("AB", names, strict=True):
            print(f"{letter}     {name}")
        rows = []
        for label in ("plain", "averaged", "aivat"):
            part = getattr(result, label)
            low, high = part.mean - part.margin, part.mean + part.margin
            interval = f"{low:+.4g} to {high:+.4g}"
            rows.append((label, f"{part.mean:+.4g}", interval, f"{part.deviation:.4g}"))
        print_table(("A's chips a hand", "mean", "95% interval", "deviation of a deal"), rows)
        print(f"{2 * result.num_deals:,} hands: each deal in both seats")
    if stopped:
        print_note(f"interrupted after {2 * result.num_deals:,} hands")
        raise typer.Exit(130)


def _result_facts(result: MatchResult) -> dict[str, object]:
    return {
        "scores": [score_facts(score) for score in result.scores],
        "seats": [[score_facts(score) for score in seats] for seats in result.seat_scores],
        "episodes": result.num_episodes,
    }


def score_facts(score: ExactMean | Estimate) -> dict[str, float]:
    """Return a score as a JSON object."""
    facts: dict[str, float] = asdict(score)
    if "num_episodes" in facts:
        facts["episodes"] = facts.pop("num_episodes")
    return facts


def _check_match(game: Game, episodes: int | None, width: float | None) -> None:
    """Raise an error for a match that cannot be played, before an agent is solved."""
    if game.num_players < 2:
        raise ConfigError(f"{game_title(game)} has only one player; a match needs two")
    if width is not None and not width > 0.0:
        raise ConfigError(f"--width is {width:g}, must be positive")
    if episodes is not None and episodes < game.num_players:
        minimum = f"{game.num_players}: one for every seat of A"
        raise ConfigError(f"--episodes is {episodes}, must be at least {minimum}")


def is_small_game(game: Game) -> bool:
    """Return True if the tree of a game is small enough for exact results."""
    from counterplay.arenas.tree.size_estimate import estimate_size

    return estimate_size(game, seconds=0.2).num_nodes <= MAX_EXACT_NODES


def _play_match(match: Match, episodes: int | None, width: float | None) -> bool:
    """Play all rounds, and return True if Ctrl-C ended the match early."""
    from counterplay.cli.progress import ProgressBar

    try:
        with ProgressBar("playing", "episodes", total=episodes or 0) as bar:
            for _ in match.play(episodes, width):
                bar.update(match.num_episodes)
    except KeyboardInterrupt:
        if not match.num_episodes:
            raise
        print_note(f"interrupted after {match.num_episodes:,} episodes")
        return True
    return False


def _print_result(result: MatchResult, names: Sequence[str], num_players: int) -> None:
    letters = ascii_uppercase[: len(names)]
    for letter, name in zip(letters, names, strict=True):
        print(f"{letter}     {name}")
    digits = 6 if result.is_exact else 4
    rows = [("mean", *(f"{score.mean:+.{digits}g}" for score in result.scores))]
    if not result.is_exact:
        rows.append(("95% interval", *map(format_interval, result.scores)))
    for player in range(num_players):
        seats = [seat[player] for seat in result.seat_scores]
        rows.append((f"as player {player}", *(f"{seat.mean:+.{digits}g}" for seat in seats)))
    print_table(("", *letters), rows)
    if num_players > 2 == len(names):
        print("A plays each seat in turn, copies of B have all others")
    if result.is_exact:
        print("exact")
    else:
        print(f"{result.num_episodes:,} episodes, the same random numbers for all")


def format_interval(score: ExactMean | Estimate) -> str:
    """Return the interval of a score, such as `+0.21 to +0.31`; "exact" if it has none."""
    from counterplay.play.match import Estimate

    return f"{score.low:+.4g} to {score.high:+.4g}" if isinstance(score, Estimate) else "exact"
