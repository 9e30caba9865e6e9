"""`counterplay play`: a person against a policy or a searcher, in the terminal."""

from __future__ import annotations

from random import randrange
from typing import Annotated

import typer

from counterplay.cli.common import (
    GameArgument,
    TrustOption,
    integer_option,
)
from counterplay.cli.play_prompt import QuitError, TerminalPlaySession
from counterplay.errors import ConfigError


def play(
    game: GameArgument,
    opponent: Annotated[
        str | None,
        typer.Option(
            metavar="OPPONENT",
            help="Who plays: alpha_beta, 'mcts(max_seconds=1)', ..., uniform, or an algorithm.",
            show_default="cfr_plus",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY", help="The opponent: a file that solve --save wrote, or a run."
        ),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--algorithm",
            "-a",
            metavar="ALGORITHM",
            help="Solve first to get the opponent; the same as --opponent.",
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        integer_option(
            "--iterations", "-n", minimum=1, help="Iterations to solve for.", show_default="1000"
        ),
    ] = None,
    player: Annotated[
        int, integer_option(minimum=0, help="Your seat; the opponent has the others.")
    ] = 0,
    reveal: Annotated[
        bool,
        typer.Option("--reveal", help="Show its probabilities after each episode."),
    ] = False,
    losses: Annotated[
        bool,
        typer.Option(
            "--losses", help="Show what your decisions lost, exactly, after each episode."
        ),
    ] = False,
    seed: Annotated[
        int | None,
        integer_option(
            "--seed", "-s", minimum=0, help="Seed of all randomness.", show_default="by the clock"
        ),
    ] = None,
    episodes: Annotated[
        int | None,
        integer_option(minimum=1, help="Episodes to play.", show_default="until you quit"),
    ] = None,
    trust: TrustOption = None,
) -> None:
    """Play against a policy or a searcher. Inside, ? shows help and q quits."""
    from counterplay.cli.progress import agent_loader_with_progress
    from counterplay.registry import get_spec, load_game

    if policy and (opponent or algorithm or iterations):
        raise ConfigError(
            "--policy brings the opponent; leave out --opponent, --algorithm and --iterations"
        )
    if opponent and algorithm:
        raise ConfigError("--opponent and --algorithm are two opponents; leave out one")
    rules = load_game(game)
    if player >= rules.num_players:
        raise ConfigError(f"--player is {player}, must be from 0 to {rules.num_players - 1}")
    known = agent_loader_with_progress(rules, iterations)
    name = opponent or algorithm or "cfr_plus"
    other = known.load_saved_policy(policy) if policy else known.load_agents(name)[0]
    luck = randrange(2**32) if seed is None else seed
    sitting = TerminalPlaySession(rules, other, player, luck, reveal, show_losses=losses)
    print(f"You are player {player} of {get_spec(rules)}. ? shows help, q quits.")
    try:
        while episodes is None or sitting.num_episodes < episodes:
            sitting.play_episode(pause=episodes is None)
    except QuitError:
        print(f"\nGood-bye. {sitting.score_line() if sitting.num_episodes else ''}".rstrip())
    except KeyboardInterrupt:
        if sitting.num_episodes:
            print(sitting.score_line())
        raise
