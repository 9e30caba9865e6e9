"""`counterplay match`: what two contestants earn against each other."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterplay.cli.common import (
    GameArgument,
    JsonOption,
    SeedOption,
    TrustOption,
    integer_option,
    print_json,
    print_table,
)
from counterplay.core.game import Game
from counterplay.core.game_checks import game_title
from counterplay.errors import ConfigError
from counterplay.play.agents import is_searcher

if TYPE_CHECKING:
    from counterplay.play.match import Estimate, ExactMean, Match, MatchResult

MAX_EXACT_NODES = 3_000_000  # of a tree that is built to be exact: half a minute

AGENT_HELP = "A policy file, a searcher such as 'mcts(max_seconds=1)', an algorithm, or uniform."


def match(
    a: Annotated[str, typer.Argument(metavar="A", help=AGENT_HELP, show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help=AGENT_HELP, show_default=False)],
    game: GameArgument,
    episodes: Annotated[
        int | None,
        integer_option(
            minimum=1, help="Episodes at most.", show_default="1000, or as --width needs"
        ),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="Play until the interval is this narrow.", show_default=False
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        integer_option(
            "--iterations",
            "-n",
            minimum=1,
            help="Iterations that algorithms solve for.",
            show_default="1000",
        ),
    ] = None,
    sampled: Annotated[
        bool, typer.Option("--sampled", help="Play episodes even where the game can be unrolled.")
    ] = False,
    seed: SeedOption = 0,
    json: JsonOption = False,
    trust: TrustOption = None,
) -> None:
    """Print what two contestants earn against each other.

    Every seat counts the same. With more than two players, A plays one seat after the other, and
    copies of B all others.

    The result is exact where both are policies and the game can be unrolled. Otherwise it is a mean
    with its 95% interval, from episodes with swapped seats and the same luck. Ctrl-C ends the match
    early: what was measured is reported.
    """
    from counterplay.cli.progress import agent_loader_with_progress
    from counterplay.play.match import Match, head_to_head
    from counterplay.registry import get_spec, load_game

    rules = load_game(game)
    _check_match(rules, episodes, width)
    by_episodes = sampled or is_searcher(a) or is_searcher(b) or not is_small_game(rules)
    known = agent_loader_with_progress(rules, iterations, rules_only=by_episodes)
    contestants = known.load_agents(a, b)
    stopped = False
    if by_episodes:
        played = Match(rules, contestants, seed)
        stopped = _play_match(played, episodes, width)
        standings = played.result()
    else:
        standings = head_to_head(known.tree, *contestants)
    if json:
        facts = {"game": get_spec(rules), "contestants": [a, b], "exact": standings.is_exact}
        print_json(replace_non_finite({**facts, **_result_facts(standings), "stopped": stopped}))
    else:
        print(f"game  {get_spec(rules)}")
        _print_result(standings, (a, b), rules.num_players)
    if stopped:
        raise typer.Exit(130)


def _result_facts(standings: MatchResult) -> dict[str, Any]:
    return {
        "scores": [score_facts(score) for score in standings.scores],
        "seats": [[score_facts(score) for score in seats] for seats in standings.seat_scores],
        "episodes": standings.num_episodes,
    }


def score_facts(score: ExactMean | Estimate) -> dict[str, Any]:
    """A score as JSON has it."""
    facts = asdict(score)
    if "num_episodes" in facts:
        facts["episodes"] = facts.pop("num_episodes")
    return facts


def _check_match(game: Game, episodes: int | None, width: float | None) -> None:
    """Refuse what cannot be played before anything is solved for it."""
    if game.num_players < 2:
        raise ConfigError(f"{game_title(game)} has only one player; a match needs two")
    if width is not None and not width > 0.0:
        raise ConfigError(f"--width is {width:g}, must be positive")
    if episodes is not None and episodes < game.num_players:
        least = f"{game.num_players}: one for every seat of A"
        raise ConfigError(f"--episodes is {episodes}, must be at least {least}")


def is_small_game(game: Game) -> bool:
    from counterplay.arenas.tree.size_estimate import estimate_size

    return estimate_size(game, seconds=0.2).num_nodes <= MAX_EXACT_NODES


def _play_match(match: Match, episodes: int | None, width: float | None) -> bool:
    """Play all rounds, or those until Ctrl-C; whether it came."""
    from counterplay.cli.progress import ProgressBar

    try:
        with ProgressBar("playing", "episodes", total=episodes or 0) as bar:
            for _ in match.play(episodes, width):
                bar.update(match.num_episodes)
    except KeyboardInterrupt:
        if not match.num_episodes:
            raise
        print(f"interrupted after {match.num_episodes:,} episodes", file=sys.stderr)
        return True
    return False


def _print_result(standings: MatchResult, names: Sequence[str], num_players: int) -> None:
    for letter, name in zip("AB", names, strict=True):
        print(f"{letter}     {name}")
    digits = 6 if standings.is_exact else 4
    rows = [("mean", *(f"{score.mean:+.{digits}g}" for score in standings.scores))]
    if not standings.is_exact:
        rows.append(("95% interval", *map(format_interval, standings.scores)))
    for player in range(num_players):
        seats = [seat[player] for seat in standings.seat_scores]
        rows.append((f"as player {player}", *(f"{seat.mean:+.{digits}g}" for seat in seats)))
    print_table(("", "A", "B"), rows)
    if num_players > 2:
        print("A plays one seat after the other, copies of B all others")
    how = (
        "exact"
        if standings.is_exact
        else f"{standings.num_episodes:,} episodes, the same luck for both"
    )
    print(how)


def format_interval(estimate: Any) -> str:
    """The interval of an estimate, such as `+0.21 to +0.31`."""
    return f"{estimate.low:+.4g} to {estimate.high:+.4g}"


def replace_non_finite(value: Any) -> Any:
    """The value with None, which JSON knows, in place of infinities."""
    if isinstance(value, dict):
        return {key: replace_non_finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [replace_non_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value
