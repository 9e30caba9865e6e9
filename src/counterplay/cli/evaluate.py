"""`counterplay evaluate`: exact values and exploitability of saved policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from counterplay.cli.options import (
    ExportOption,
    ForceOption,
    JsonOption,
    PolicyArgument,
    PolicyGameOption,
    TrustOption,
    check_outputs,
)
from counterplay.cli.output import print_json, print_table, write_outputs

if TYPE_CHECKING:
    from counterplay.core.evaluation import Judgement
    from counterplay.core.policy import Policy


class JudgementFacts(TypedDict):
    """A judgement as JSON has it."""

    values: list[float]
    best_values: list[float]
    gains: list[float]
    nash_conv: float
    exploitability: float


def evaluate(
    policy: PolicyArgument,
    game: PolicyGameOption = None,
    export: ExportOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
    trust: TrustOption = None,
) -> None:
    """Print the exact values and exploitability of saved policies.

    Each player's best-response value is printed too. All policies of a run are evaluated.
    """
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.core.evaluation import judge
    from counterplay.experiment.saved_policies import load_policies

    check_outputs(None, export, force)
    saved = load_policies(policy, game, build=build_tree_with_progress, allow_holdem=not export)
    policies = {name: to_tree_policy(saved_policy) for name, saved_policy in saved.items()}
    judgements = {name: judge(item.arena, item) for name, item in policies.items()}
    first = next(iter(policies))
    spec = policies[first].arena.spec
    if json:
        facts = {name: _judgement_facts(judgement) for name, judgement in judgements.items()}
        more = {"policies": facts} if len(facts) > 1 else {}
        print_json({"game": spec, **facts[first], **more})
    else:
        print(f"game  {spec}")
        for name, judgement in judgements.items():
            if len(judgements) > 1:
                print(f"\npolicy  {name}")
            _print_judgement(judgement)
    write_outputs(policies[first], None, export)


def load_first_policy(source: str, game: str | None = None) -> tuple[str, Policy]:
    """Return the name and the policy that a file or a run keeps first, on the game's tree."""
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.experiment.saved_policies import load_policies

    name, policy = next(iter(load_policies(source, game, build=build_tree_with_progress).items()))
    return name, to_tree_policy(policy)


def to_tree_policy(policy: Any) -> Policy:
    """Put a policy that was learned on rules, as a table or as networks, on the game's tree."""
    from counterplay.cli.progress import build_tree_with_progress

    is_on_rules = hasattr(policy, "tabulate")
    tree_policy: Policy = (
        policy.tabulate(build_tree_with_progress(policy.game)) if is_on_rules else policy
    )
    return tree_policy


def _judgement_facts(judgement: Judgement) -> JudgementFacts:
    values, best_values = judgement.values.tolist(), judgement.best_values.tolist()
    return {
        "values": values,
        "best_values": best_values,
        "gains": [best - value for value, best in zip(values, best_values, strict=True)],
        "nash_conv": judgement.nash_conv,
        "exploitability": judgement.exploitability,
    }


def _print_judgement(judgement: Judgement) -> None:
    facts = _judgement_facts(judgement)
    columns = zip(facts["values"], facts["best_values"], facts["gains"], strict=True)
    rows = [
        (str(player), f"{value:.6f}", f"{best:.6f}", f"{gain:.2e}")
        for player, (value, best, gain) in enumerate(columns)
    ]
    print_table(("player", "value", "best response", "gain"), rows)
    print(f"NashConv        {judgement.nash_conv:.2e}")
    print(f"exploitability  {judgement.exploitability:.2e}")
