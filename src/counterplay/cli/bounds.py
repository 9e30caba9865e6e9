"""`counterplay bounds`: lower bounds of exploitability from play, for large games."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterplay.cli.match import AGENT_HELP, format_interval, is_small_game, score_facts
from counterplay.cli.options import (
    AgentIterationsOption,
    GameArgument,
    JsonOption,
    SeedOption,
    TrustOption,
    episodes_option,
    integer_option,
    load_last_game,
)
from counterplay.cli.output import print_json, print_table
from counterplay.core.json_values import replace_non_finite
from counterplay.errors import ConfigError
from counterplay.play.agents import is_searcher

if TYPE_CHECKING:
    from counterplay.core.game import Game
    from counterplay.play.agents import AgentLoader
    from counterplay.play.bounds import LowerBound
    from counterplay.play.episodes import Agent


def bounds(
    policy: Annotated[str, typer.Argument(metavar="POLICY", help=AGENT_HELP, show_default=False)],
    game: GameArgument,
    episodes: Annotated[
        int, episodes_option(2, "Episodes of each player's response, and of the match.")
    ] = 1000,
    playouts: Annotated[
        int,
        integer_option(minimum=1, help="Playouts of each action that a local response considers."),
    ] = 100,
    learn: Annotated[
        int,
        integer_option(
            minimum=0, help="Iterations of training of a learned response; 0 for no such response."
        ),
    ] = 0,
    lbr: Annotated[
        str | None,
        typer.Option(
            "--lbr",
            metavar="SETTING",
            help="Two-player poker: only the published local best response with exact ranges; "
            "fold_call, pot_from_turn, fine_from_turn or fine_from_flop.",
            show_default=False,
        ),
    ] = None,
    iterations: AgentIterationsOption = None,
    sampled: Annotated[
        bool,
        typer.Option("--sampled", help="Do not unroll the game; no exact value is printed."),
    ] = False,
    seed: SeedOption = 0,
    json: JsonOption = False,
    trust: TrustOption = None,
) -> None:
    """Print lower bounds of a policy's NashConv, with intervals.

    A local response looks one action ahead; a learned response is a network that is trained against
    the policy (--learn). Both are lower bounds: a better response may exist. The match against
    uniform play is not a bound, only an estimate. If the game can be unrolled, the exact NashConv
    is printed too, and the share of it that each bound reaches.

    For agents of two-player poker, also those that search, --lbr SETTING plays local best response
    with the agent's exact range, every deal in both seats.
    """
    from counterplay.arenas.rules import TabularPolicy
    from counterplay.cli.progress import agent_loader_with_progress
    from counterplay.play.bounds import local_best_response
    from counterplay.play.match import head_to_head
    from counterplay.registry import get_spec

    rules = load_last_game(game, policy)
    if lbr is not None:
        _print_poker_response(rules, policy, lbr, episodes, seed, json)
        return
    by_episodes = sampled or is_searcher(policy) or not is_small_game(rules)
    loader = agent_loader_with_progress(rules, iterations, rules_only=by_episodes)
    (agent,) = loader.load_agents(policy)
    bound_by_name = {
        "local": local_best_response(
            rules, agent, num_episodes=episodes, num_playouts=playouts, seed=seed
        )
    }
    if learn:
        from counterplay.algorithms.deep.common.learned_best_response import learned_best_response

        bound_by_name["learned"] = learned_best_response(
            rules, agent, iterations=learn, num_episodes=episodes, seed=seed
        )
    match = head_to_head(rules, agent, TabularPolicy(rules), max_episodes=episodes, seed=seed)
    nash_conv = None if by_episodes else _exact_nash_conv(loader, agent)
    score = match.scores[0]
    if json:
        facts: dict[str, object] = {
            "game": get_spec(rules),
            "policy": policy,
            "nash_conv": nash_conv,
            **{name: _bound_facts(bound) for name, bound in bound_by_name.items()},
            "match_with_uniform": score_facts(score),
        }
        print_json(replace_non_finite(facts))
        return
    print(f"game  {get_spec(rules)}")
    print_table(("lower bound", *bound_by_name), _bound_rows(bound_by_name))
    for name, bound in bound_by_name.items():
        if nash_conv is not None:
            share = bound.nash_conv.mean / nash_conv if nash_conv > 0.0 else 1.0
            print(f"{name} found {share:.0%} of the exact NashConv, {nash_conv:.6f}")
    interval = "" if match.is_exact else f", 95% {format_interval(score)}"
    print(f"a match with uniform play earns {score.mean:+.4g} a game{interval}")


def _print_poker_response(
    game: Game, policy: str, setting: str, episodes: int, seed: int, json: bool
) -> None:
    """Print what local best response with exact ranges wins against an agent per hand."""
    from counterplay.cli.progress import ProgressBar
    from counterplay.play.agents import AgentLoader
    from counterplay.play.local_best_response import PUBLISHED_SETTINGS, LocalBestResponse
    from counterplay.play.poker.range_match import play_response
    from counterplay.registry import get_spec

    if setting not in PUBLISHED_SETTINGS:
        raise ConfigError(f"--lbr is {setting!r}, must be one of {', '.join(PUBLISHED_SETTINGS)}")
    rules: Any = game
    (agent,) = AgentLoader(game, rules_only=True).load_agents(policy)
    response = LocalBestResponse(rules, agent, PUBLISHED_SETTINGS[setting])
    num_deals = (episodes + 1) // 2
    with ProgressBar("playing", "hands", total=2 * num_deals) as bar:
        estimate = play_response(response, num_deals, seed, lambda n: bar.update(2 * n))
    big_blind = max(rules.blinds)
    mbb = [1000.0 / big_blind * x for x in (estimate.mean, estimate.margin)]
    if json:
        facts = {"game": get_spec(game), "policy": policy, "setting": setting}
        print_json({**facts, "hands": 2 * num_deals, "wins_mbb": mbb[0], "margin_mbb": mbb[1]})
        return
    print(f"game  {get_spec(game)}")
    low, high = mbb[0] - mbb[1], mbb[0] + mbb[1]
    print(f"local best response ({setting}) wins {mbb[0]:+.4g} mbb a hand")
    print(f"95% interval {low:+.4g} to {high:+.4g}")
    print(f"{2 * num_deals:,} hands: each deal in both seats")


def _bound_facts(bound: LowerBound) -> dict[str, object]:
    return {
        "gains": [score_facts(gain) for gain in bound.player_gains],
        "nash_conv": score_facts(bound.nash_conv),
    }


def _bound_rows(bound_by_name: dict[str, LowerBound]) -> list[tuple[str, ...]]:
    """Return the rows of a table with one column per bound."""
    bounds = list(bound_by_name.values())
    rows: list[tuple[str, ...]] = [
        ("NashConv", *(f"{bound.nash_conv.mean:.4g}" for bound in bounds)),
        ("95% interval", *(format_interval(bound.nash_conv) for bound in bounds)),
    ]
    for player in range(len(bounds[0].player_gains)):
        gains = (f"{bound.player_gains[player].mean:+.4g}" for bound in bounds)
        rows.append((f"gain of player {player}", *gains))
    return rows


def _exact_nash_conv(loader: AgentLoader, agent: Agent) -> float:
    from counterplay.core.evaluation import judge

    policy = agent.tabulate(loader.tree) if hasattr(agent, "tabulate") else agent
    return judge(loader.tree, policy).nash_conv
