"""`counterplay play`: a person against a policy or a searcher, in the terminal."""

from __future__ import annotations

from random import randrange
from typing import Annotated

import typer

from counterplay.cli.options import (
    GameArgument,
    TrustOption,
    algorithm_option,
    episodes_option,
    integer_option,
    iterations_option,
    seed_option,
)
from counterplay.cli.play_prompt import QuitError, TerminalPlay
from counterplay.errors import ConfigError


def play(
    game: GameArgument,
    opponent: Annotated[
        str | None,
        typer.Option(
            metavar="OPPONENT",
            help="A searcher such as alpha_beta or 'mcts(max_seconds=1)', hunl (no-limit hold'em), "
            "an algorithm, or uniform.",
            show_default="cfr_plus",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY", help="The opponent: a file written by solve --save, or a run."
        ),
    ] = None,
    algorithm: Annotated[
        str | None, algorithm_option("Solve first to get the opponent; the same as --opponent.")
    ] = None,
    iterations: Annotated[
        int | None, iterations_option("Iterations to solve for.", "as solve")
    ] = None,
    player: Annotated[
        int,
        integer_option(
            "--player", "-p", minimum=0, help="Your seat; the opponent has all other seats."
        ),
    ] = 0,
    reveal: Annotated[
        bool,
        typer.Option("--reveal", help="Show the opponent's probabilities after each episode."),
    ] = False,
    losses: Annotated[
        bool,
        typer.Option(
            "--losses", help="Show the exact EV loss of your decisions after each episode."
        ),
    ] = False,
    seed: Annotated[int | None, seed_option(show_default="random")] = None,
    episodes: Annotated[
        int | None, episodes_option(1, "Episodes to play.", "until you quit")
    ] = None,
    trust: TrustOption = None,
) -> None:
    """Play against a policy or a searcher. Type ? for help and q to quit."""
    from counterplay.cli.match import is_small_game
    from counterplay.cli.progress import agent_loader_with_progress
    from counterplay.play.agents import is_searcher
    from counterplay.registry import get_spec, load_game

    if policy and (opponent or algorithm or iterations):
        raise ConfigError(
            "--policy is the opponent; leave out --opponent, --algorithm and --iterations"
        )
    if opponent and algorithm:
        raise ConfigError("--opponent and --algorithm are two opponents; leave out one")
    rules = load_game(game)
    if player >= rules.num_players:
        raise ConfigError(f"--player is {player}, must be from 0 to {rules.num_players - 1}")
    name = opponent or algorithm or policy or "cfr_plus"
    # files of large games are read as tables; EV losses need the tree
    rules_only = not losses and not is_searcher(name) and not is_small_game(rules)
    loader = agent_loader_with_progress(rules, iterations, rules_only)
    agent = loader.load_saved_policy(policy) if policy else loader.load_agents(name)[0]
    first_seed = randrange(2**32) if seed is None else seed
    session = TerminalPlay(rules, agent, player, first_seed, reveal, losses)
    print(f"You are player {player} of {get_spec(rules)}. ? shows help, q quits.")
    try:
        while episodes is None or session.score.num_episodes < episodes:
            session.play_episode(pause=episodes is None)
    except QuitError:
        score = session.score_line() if session.score.num_episodes else ""
        print(f"\nGood-bye. {score}".rstrip())
    except KeyboardInterrupt:
        if session.score.num_episodes:
            print(session.score_line())
        raise
