"""`counterplay bounds`: how exploitable a policy is at least, where nothing is exact."""

from __future__ import annotations

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
from counterplay.cli.match import (
    AGENT_HELP,
    format_interval,
    is_small_game,
    replace_non_finite,
    score_facts,
)
from counterplay.play.agents import is_searcher

if TYPE_CHECKING:
    from counterplay.play.agents import AgentLoader
    from counterplay.play.bounds import LowerBound


def bounds(
    policy: Annotated[str, typer.Argument(metavar="POLICY", help=AGENT_HELP, show_default=False)],
    game: GameArgument,
    episodes: Annotated[
        int, integer_option(minimum=2, help="Episodes of each player's response, and of the match.")
    ] = 1000,
    playouts: Annotated[
        int, integer_option(minimum=1, help="Of every action that a local response considers.")
    ] = 100,
    learn: Annotated[
        int,
        integer_option(minimum=0, help="Iterations that a response is learned for; 0: not at all."),
    ] = 0,
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
        bool, typer.Option("--sampled", help="Never unroll the game: nothing is judged exactly.")
    ] = False,
    seed: SeedOption = 0,
    json: JsonOption = False,
    trust: TrustOption = None,
) -> None:
    """Print lower bounds of a policy's NashConv, with intervals.

    A local response looks one action ahead; a learned one is a network that has played against the
    policy (--learn). Neither is exploitability: a better response may exist. A match against
    uniform play is neither bound, only an estimate. Where the game can be unrolled the truth stands
    beside them, and how much of it the bounds have found.
    """
    from counterplay.arenas.rules import TabularPolicy
    from counterplay.cli.progress import agent_loader_with_progress
    from counterplay.play.bounds import local_best_response
    from counterplay.play.match import head_to_head
    from counterplay.registry import get_spec, load_game

    rules = load_game(game)
    by_episodes = sampled or is_searcher(policy) or not is_small_game(rules)
    known = agent_loader_with_progress(rules, iterations, rules_only=by_episodes)
    (contestant,) = known.load_agents(policy)
    found = {
        "local": local_best_response(
            rules, contestant, num_episodes=episodes, num_playouts=playouts, seed=seed
        )
    }
    if learn:
        from counterplay.algorithms.deep.common.learned_best_response import learned_best_response

        found["learned"] = learned_best_response(
            rules, contestant, iterations=learn, num_episodes=episodes, seed=seed
        )
    match = head_to_head(rules, contestant, TabularPolicy(rules), max_episodes=episodes, seed=seed)
    truth = None if by_episodes else _exact_nash_conv(known, contestant)
    if json:
        facts: dict[str, Any] = {"game": get_spec(rules), "policy": policy, "nash_conv": truth}
        facts |= {name: _bound_facts(bound) for name, bound in found.items()}
        print_json(replace_non_finite(facts | {"match_with_uniform": score_facts(match.scores[0])}))
        return
    print(f"game  {get_spec(rules)}")
    print_table(("lower bound", *found), _bound_rows(found))
    for name, bound in found.items():
        if truth is not None:
            part = bound.nash_conv.mean / truth if truth > 0.0 else 1.0
            print(f"{name} found {part:.0%} of the exact NashConv, {truth:.6f}")
    score: Any = match.scores[0]
    interval = f", 95% {score.low:+.4g} to {score.high:+.4g}" if not match.is_exact else ""
    print(f"a match with uniform play earns {score.mean:+.4g} a game{interval}")


def _bound_facts(bound: LowerBound) -> dict[str, Any]:
    return {
        "gains": [score_facts(gain) for gain in bound.player_gains],
        "nash_conv": score_facts(bound.nash_conv),
    }


def _bound_rows(bound_by_name: dict[str, LowerBound]) -> list[tuple[str, ...]]:
    """One column per bound: its NashConv, its interval, and the gain of each player."""
    bounds = list(bound_by_name.values())
    rows: list[tuple[str, ...]] = [
        ("NashConv", *(f"{bound.nash_conv.mean:.4g}" for bound in bounds)),
        ("95% interval", *(format_interval(bound.nash_conv) for bound in bounds)),
    ]
    for player in range(len(bounds[0].player_gains)):
        gains = (f"{bound.player_gains[player].mean:+.4g}" for bound in bounds)
        rows.append((f"gain of player {player}", *gains))
    return rows


def _exact_nash_conv(agent_loader: AgentLoader, agent: Any) -> float:
    from counterplay.core.evaluation import judge

    exact = agent.tabulate(agent_loader.tree) if hasattr(agent, "tabulate") else agent
    return judge(agent_loader.tree, exact).nash_conv
