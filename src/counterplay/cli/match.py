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
from counterplay.cli.contestants import Contestants, searches
from counterplay.errors import ConfigError
from counterplay.game import Game, title

if TYPE_CHECKING:
    from counterplay.playing import Match, Standings

MOST_NODES = 3_000_000  # of a tree that is built to be exact: half a minute

WHO = "A policy file, a searcher such as 'mcts(seconds=1)', an algorithm, or uniform."


def match(
    a: Annotated[str, typer.Argument(metavar="A", help=WHO, show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help=WHO, show_default=False)],
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
    from counterplay.playing import Match, head_to_head
    from counterplay.registry import load_game, spec_of

    rules = load_game(game)
    _check(rules, episodes, width)
    by_episodes = sampled or searches(a) or searches(b) or not is_small(rules)
    known = Contestants(rules, iterations, sampled=by_episodes)
    contestants = known.named(a, b)
    stopped = False
    if by_episodes:
        played = Match(rules, contestants, seed)
        stopped = _play(played, episodes, width)
        standings = played.standings()
    else:
        standings = head_to_head(known.tree, *contestants)
    if json:
        facts = {"game": spec_of(rules), "contestants": [a, b], "exact": standings.exact}
        print_json(without_inf({**facts, **asdict(standings), "stopped": stopped}))
    else:
        print(f"game  {spec_of(rules)}")
        _print(standings, (a, b), rules.num_players)
    if stopped:
        raise typer.Exit(130)


def _check(rules: Game, episodes: int | None, width: float | None) -> None:
    """Refuse what cannot be played before anything is solved for it."""
    if rules.num_players < 2:
        raise ConfigError(f"{title(rules)} has only one player; a match needs two")
    if width is not None and not width > 0.0:
        raise ConfigError(f"--width is {width:g}, must be positive")
    if episodes is not None and episodes < rules.num_players:
        least = f"{rules.num_players}: one for every seat of A"
        raise ConfigError(f"--episodes is {episodes}, must be at least {least}")


def is_small(rules: Game) -> bool:
    from counterplay.tree.estimating import estimate_size

    return estimate_size(rules, seconds=0.2).num_nodes <= MOST_NODES


def _play(match: Match, episodes: int | None, width: float | None) -> bool:
    """Play all rounds, or those until Ctrl-C; whether it came."""
    from counterplay.cli.progress import Bar

    try:
        with Bar("playing", "episodes", total=episodes or 0) as bar:
            for _ in match.play(episodes, width):
                bar.update(match.episodes)
    except KeyboardInterrupt:
        if not match.episodes:
            raise
        print(f"interrupted after {match.episodes:,} episodes", file=sys.stderr)
        return True
    return False


def _print(standings: Standings, names: Sequence[str], num_players: int) -> None:
    for letter, name in zip("AB", names, strict=True):
        print(f"{letter}     {name}")
    digits = 6 if standings.exact else 4
    rows = [("mean", *(f"{score.mean:+.{digits}g}" for score in standings.scores))]
    if not standings.exact:
        rows.append(("95% interval", *map(format_interval, standings.scores)))
    for player in range(num_players):
        seats = [seat[player] for seat in standings.seats]
        rows.append((f"as player {player}", *(f"{seat.mean:+.{digits}g}" for seat in seats)))
    print_table(("", "A", "B"), rows)
    if num_players > 2:
        print("A plays one seat after the other, copies of B all others")
    how = "exact" if standings.exact else f"{standings.episodes:,} episodes, the same luck for both"
    print(how)


def format_interval(estimate: Any) -> str:
    """The interval of an estimate, such as `+0.21 to +0.31`."""
    return f"{estimate.low:+.4g} to {estimate.high:+.4g}"


def without_inf(value: Any) -> Any:
    """The value with None, which JSON knows, in place of infinities."""
    if isinstance(value, dict):
        return {key: without_inf(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_inf(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value
