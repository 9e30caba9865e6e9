"""`counterplay concepts`: which solution concepts apply to a game, and which a policy meets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterplay.cli.options import GameArgument, JsonOption, TrustOption
from counterplay.cli.output import print_json, print_table
from counterplay.errors import ConfigError, RunError

if TYPE_CHECKING:
    from counterplay.arenas.tree.arena import TreeArena
    from counterplay.core.policy import Policy

MAX_SEQUENCES = 2_500  # above which the concepts of the game itself take minutes
MAX_COMMITMENT_SEQUENCES = 200
MAX_PLAN_PAIRS = 40_000  # pairs of sequences in the programme of an optimal EFCE


def concepts(
    game: GameArgument,
    policy: Annotated[
        str | None,
        typer.Option(metavar="POLICY", help="Judge it by every concept: a file or a run."),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(metavar="X", help="Largest gain, as a fraction of the largest utility.")
    ] = 1e-6,
    teams: Annotated[
        str | None,
        typer.Option(metavar="TEAMS", help="Two teams that coordinate beforehand, such as 0,2/1."),
    ] = None,
    json: JsonOption = False,
    trust: TrustOption = None,
) -> None:
    """Print the solution concepts that apply to a game.

    Each comes with its value, or with the reason why it does not apply. With --policy, print
    instead the gain of deviating from a policy by each concept, and which refinements it meets.
    """
    from counterplay.cli.evaluate import to_tree_policy
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.core.evaluation import check_same_game
    from counterplay.experiment.saved_policies import load_policies
    from counterplay.registry import load_game

    if tolerance < 0.0:
        raise typer.BadParameter(f"{tolerance} is negative", param_hint="--tolerance")
    if teams and policy:
        raise typer.BadParameter("goes with a game, not with --policy", param_hint="--teams")
    sides = _parse_teams(teams) if teams else None
    tree = build_tree_with_progress(load_game(game))
    if policy:
        loaded = load_policies(policy, build=build_tree_with_progress)
        profile = to_tree_policy(next(iter(loaded.values())))
        check_same_game(tree, profile)
        facts = judge_policy(tree, profile, tolerance)
    else:
        facts = describe_game(tree, sides)
    if json:
        print_json({"game": tree.spec, "concepts": facts})
        return
    print(f"game  {tree.spec}")
    print_table(("concept", "result"), [(name, _format(value)) for name, value in facts.items()])


def _parse_teams(text: str) -> list[list[int]]:
    """Return the teams of a text such as "0,2/1"."""
    try:
        return [[int(player) for player in side.split(",")] for side in text.split("/")]
    except ValueError:
        message = f"{text!r} must be players by team, such as 0,2/1"
        raise typer.BadParameter(message, param_hint="--teams") from None


def describe_game(tree: TreeArena, teams: list[list[int]] | None = None) -> dict[str, Any]:
    """Return the value of each concept that applies to a game, or why it does not apply.

    Args:
        tree: the game.
        teams: two teams, whose equilibrium is computed.
    """
    from counterplay.algorithms.exact.rational import exact_equilibrium
    from counterplay.concepts.commitment import optimal_commitment
    from counterplay.concepts.optimal_correlation import optimal_efce
    from counterplay.concepts.refinements import find_subgames, quasi_perfect_equilibrium
    from counterplay.concepts.teams import team_equilibrium
    from counterplay.core.policy import uniform_policy

    def with_limit(limit: int, compute: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            if tree.num_sequences > limit:
                raise ConfigError(f"over {limit:,} sequences: call it from Python")
            return compute()

        return run

    def leader_values() -> list[float]:
        return [float(optimal_commitment(tree, p).values[p]) for p in range(tree.num_players)]

    def efce_values() -> list[float]:
        counts = [int((tree.infoset_player == p).sum()) for p in range(tree.num_players)]
        if tree.num_players == 2 and counts[0] * counts[1] > MAX_PLAN_PAIRS:
            raise ConfigError(f"over {MAX_PLAN_PAIRS:,} pairs of infosets: call it from Python")
        return [float(value) for value in optimal_efce(tree).values]

    def team_value() -> float:
        if teams is None:
            raise ConfigError("name two teams, such as --teams 0,2/1")
        return float(team_equilibrium(tree, teams).value)

    computations: dict[str, Callable[[], Any]] = {
        "exact value": with_limit(MAX_SEQUENCES, lambda: str(exact_equilibrium(tree).value)),
        "quasi-perfect equilibrium": lambda: str(quasi_perfect_equilibrium(tree).value),
        "subgames": with_limit(
            MAX_SEQUENCES, lambda: len(find_subgames(tree, uniform_policy(tree)))
        ),
        "optimal EFCE, values": with_limit(MAX_SEQUENCES, efce_values),
        "commitment, leader's values": with_limit(MAX_COMMITMENT_SEQUENCES, leader_values),
    }
    if tree.num_players > 2 or teams:
        computations["first team's value (TMECor)"] = with_limit(MAX_SEQUENCES, team_value)
    return {name: _result_or_reason(compute) for name, compute in computations.items()}


def judge_policy(tree: TreeArena, policy: Policy, tolerance: float) -> dict[str, Any]:
    """Return the gains of deviating from a policy by concept, and the refinements it meets."""
    import numpy as np

    from counterplay.concepts.correlation import correlation_gaps
    from counterplay.concepts.refinements import find_subgames, off_path_losses
    from counterplay.core.evaluation import judge

    scale = float(np.abs(tree.utility).max(initial=0.0)) or 1.0
    facts: dict[str, Any] = {"NashConv": judge(tree, policy).nash_conv}
    gaps = correlation_gaps(tree, policy)
    for name in ("afce", "efce"):
        facts[f"{name.upper()} gap"] = gaps.total(name)
    losses = off_path_losses(tree, policy)
    subgames = find_subgames(tree, policy)
    worst = max((float(subgame.gains.max()) for subgame in subgames), default=0.0)
    facts["equilibrium"] = facts["NashConv"] <= tolerance * scale
    facts["subgame perfect"] = worst <= tolerance * scale
    facts["sequentially rational"] = bool((losses <= tolerance * scale).all())
    if losses.size and losses.max() > tolerance * scale:
        facts["largest loss off the path"] = float(losses.max())
        facts["at infoset"] = tree.infoset_key(int(losses.argmax()))
    return facts


def _result_or_reason(compute: Callable[[], Any]) -> Any:
    try:
        return compute()
    except (ConfigError, RunError) as error:
        return f"not applicable: {error}"


def _format(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return " ".join(f"{x:.6g}" for x in value)
    return str(value)
