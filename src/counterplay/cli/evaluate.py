"""`counterplay evaluate`: how good saved policies are, exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterplay.cli.common import (
    ExportOption,
    ForceOption,
    JsonOption,
    OfGameOption,
    SourceArgument,
    TrustOption,
    check_outputs,
    print_json,
    print_table,
    write_outputs,
)

if TYPE_CHECKING:
    from counterplay.evaluate import Judgement


def evaluate(
    policy: SourceArgument,
    game: OfGameOption = None,
    export: ExportOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
    trust: TrustOption = None,
) -> None:
    """Print how good saved policies are, exactly, for every player.

    Of a run, every policy that it keeps is judged.
    """
    from counterplay.cli.progress import build
    from counterplay.evaluate import judge
    from counterplay.experiment.stored import load_policies

    check_outputs(None, export, force)
    kept = load_policies(policy, game, build=build, vectors=not export)
    found = {name: as_exact(one) for name, one in kept.items()}
    judged = {name: judge(one.tree, one) for name, one in found.items()}
    first = next(iter(found))
    spec = found[first].tree.spec
    if json:
        facts = {name: _facts(judgement) for name, judgement in judged.items()}
        more = {"policies": facts} if len(facts) > 1 else {}
        print_json({"game": spec, **facts[first], **more})
    else:
        print(f"game  {spec}")
        for name, judgement in judged.items():
            if len(judged) > 1:
                print(f"\npolicy  {name}")
            _print(judgement)
    write_outputs(found[first], None, export)


def as_exact(policy: Any) -> Any:
    """Put a policy that was learned on rules, by sampling or by networks, on the game's tree."""
    from counterplay.cli.progress import build

    return policy.on(build(policy.game)) if hasattr(policy, "on") else policy


def _facts(judgement: Judgement) -> dict[str, Any]:
    values, best_values = judgement.values.tolist(), judgement.best_values.tolist()
    return {
        "values": values,
        "best_values": best_values,
        "gains": [best - value for value, best in zip(values, best_values, strict=True)],
        "nash_conv": judgement.nash_conv,
        "exploitability": judgement.exploitability,
    }


def _print(judgement: Judgement) -> None:
    facts = _facts(judgement)
    columns = zip(facts["values"], facts["best_values"], facts["gains"], strict=True)
    rows = [
        (str(player), f"{value:.6f}", f"{best:.6f}", f"{gain:.2e}")
        for player, (value, best, gain) in enumerate(columns)
    ]
    print_table(("player", "value", "best response", "gain"), rows)
    print(f"NashConv        {judgement.nash_conv:.2e}")
    print(f"exploitability  {judgement.exploitability:.2e}")
