"""`counterplay evaluate`: how good saved policies are, exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterplay.cli.common import (
    ExportOption,
    ForceOption,
    JsonOption,
    PolicyArgument,
    PolicyGameOption,
    TrustOption,
    check_outputs,
    print_json,
    print_table,
    write_outputs,
)

if TYPE_CHECKING:
    from counterplay.core.evaluation import Judgement


def evaluate(
    policy: PolicyArgument,
    game: PolicyGameOption = None,
    export: ExportOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
    trust: TrustOption = None,
) -> None:
    """Print how good saved policies are, exactly, for every player.

    Of a run, every policy that it keeps is judged.
    """
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.core.evaluation import judge
    from counterplay.experiment.saved_policies import load_policies

    check_outputs(None, export, force)
    kept = load_policies(policy, game, build=build_tree_with_progress, allow_holdem=not export)
    found = {name: to_tree_policy(one) for name, one in kept.items()}
    judged = {name: judge(one.arena, one) for name, one in found.items()}
    first = next(iter(found))
    spec = found[first].arena.spec
    if json:
        facts = {name: _judgement_facts(judgement) for name, judgement in judged.items()}
        more = {"policies": facts} if len(facts) > 1 else {}
        print_json({"game": spec, **facts[first], **more})
    else:
        print(f"game  {spec}")
        for name, judgement in judged.items():
            if len(judged) > 1:
                print(f"\npolicy  {name}")
            _print_judgement(judgement)
    write_outputs(found[first], None, export)


def to_tree_policy(policy: Any) -> Any:
    """Put a policy that was learned on rules, by sampling or by networks, on the game's tree."""
    from counterplay.cli.progress import build_tree_with_progress

    return (
        policy.tabulate(build_tree_with_progress(policy.game))
        if hasattr(policy, "tabulate")
        else policy
    )


def _judgement_facts(judgement: Judgement) -> dict[str, Any]:
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
