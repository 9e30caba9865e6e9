"""`counterplay play`: a person against a policy, in the terminal."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from counterplay.cli.common import GameArgument
from counterplay.cli.match import Match, QuitError
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.game import Game
    from counterplay.policy import Policy


def play(
    game: GameArgument,
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The opponent: what solve --save wrote.")
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(help="Solve first to get the opponent.", show_default="cfr_plus"),
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, help="Iterations to solve for.", show_default="1000")
    ] = None,
    player: Annotated[int, typer.Option(min=0, help="Your seat; the policy has the others.")] = 0,
    reveal: Annotated[
        bool,
        typer.Option("--reveal", help="Show its probabilities after each episode."),
    ] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of all randomness.", show_default="by the clock")
    ] = None,
    episodes: Annotated[
        int | None, typer.Option(min=1, help="Episodes to play.", show_default="until you quit")
    ] = None,
) -> None:
    """Play a game against a solved policy. Inside, ? shows help and q quits."""
    from counterplay.registry import load_game

    if policy and (algorithm or iterations):
        raise ConfigError("--policy brings the opponent; leave out --algorithm and --iterations")
    rules = load_game(game)
    if player >= rules.num_players:
        raise ConfigError(f"--player is {player}, must be from 0 to {rules.num_players - 1}")
    opponent = _opponent(rules, policy, algorithm or "cfr_plus", iterations or 1000)
    match = Match(rules, opponent, player, random.Random(seed), reveal)
    print(f"You are player {player} of {opponent.tree.spec}. ? shows help, q quits.")
    try:
        while episodes is None or match.num_episodes < episodes:
            match.play_episode(pause=episodes is None)
    except QuitError:
        print(f"\nGood-bye. {match.score_line() if match.num_episodes else ''}".rstrip())


def _opponent(game: Game, file: Path | None, algorithm: str, iterations: int) -> Policy:
    """The policy from the file, or one solved for now."""
    from counterplay.cli.progress import Bar, build
    from counterplay.policy import load_policy, policy_spec
    from counterplay.registry import load_algorithm
    from counterplay.solving import solve

    if file:
        policy_spec(file)  # complains about a bad file before the tree is built
        return load_policy(file, build(game))
    method = load_algorithm(algorithm)
    tree = build(game)
    with Bar("solving", "it", total=iterations) as bar:
        result = solve(tree, method, iterations=iterations, tick=bar.update)
    print(f"The opponent's exploitability is {result.exploitability:.2e}.", file=sys.stderr)
    return result.policy
