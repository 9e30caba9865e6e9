"""`counterplay bounds`: how exploitable a policy is at least, where nothing is exact."""

from __future__ import annotations

from dataclasses import asdict
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
from counterplay.cli.match import WHO, format_interval, is_small, without_inf

if TYPE_CHECKING:
    from counterplay.bounding import LowerBound


def bounds(
    policy: Annotated[str, typer.Argument(metavar="POLICY", help=WHO, show_default=False)],
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
    from counterplay.bounding import local_best_response
    from counterplay.playing import head_to_head
    from counterplay.registry import load_game, spec_of
    from counterplay.sampled import SampledPolicy

    rules = load_game(game)
    by_episodes = sampled or searches(policy) or not is_small(rules)
    known = Contestants(rules, iterations, sampled=by_episodes)
    (contestant,) = known.named(policy)
    found = {
        "local": local_best_response(
            rules, contestant, episodes=episodes, playouts=playouts, seed=seed
        )
    }
    if learn:
        from counterplay.deep.learned_bound import learned_best_response

        found["learned"] = learned_best_response(
            rules, contestant, iterations=learn, episodes=episodes, seed=seed
        )
    match = head_to_head(rules, contestant, SampledPolicy(rules), episodes=episodes, seed=seed)
    truth = None if by_episodes else _truth(known, contestant)
    if json:
        facts: dict[str, Any] = {"game": spec_of(rules), "policy": policy, "nash_conv": truth}
        facts |= {name: asdict(bound) for name, bound in found.items()}
        print_json(without_inf(facts | {"match_with_uniform": asdict(match.scores[0])}))
        return
    print(f"game  {spec_of(rules)}")
    print_table(("lower bound", *found), _rows(found))
    for name, bound in found.items():
        if truth is not None:
            part = bound.nash_conv.mean / truth if truth > 0.0 else 1.0
            print(f"{name} found {part:.0%} of the exact NashConv, {truth:.6f}")
    score: Any = match.scores[0]
    interval = f", 95% {score.low:+.4g} to {score.high:+.4g}" if not match.exact else ""
    print(f"a match with uniform play earns {score.mean:+.4g} a game{interval}")


def _rows(found: dict[str, LowerBound]) -> list[tuple[str, ...]]:
    """One column per bound: its NashConv, its interval, and the gain of each player."""
    bounds = list(found.values())
    rows: list[tuple[str, ...]] = [
        ("NashConv", *(f"{bound.nash_conv.mean:.4g}" for bound in bounds)),
        ("95% interval", *(format_interval(bound.nash_conv) for bound in bounds)),
    ]
    for player in range(len(bounds[0].gains)):
        gains = (f"{bound.gains[player].mean:+.4g}" for bound in bounds)
        rows.append((f"gain of player {player}", *gains))
    return rows


def _truth(known: Contestants, contestant: Any) -> float:
    from counterplay.evaluate import judge

    exact = contestant.on(known.tree) if hasattr(contestant, "on") else contestant
    return judge(known.tree, exact).nash_conv
