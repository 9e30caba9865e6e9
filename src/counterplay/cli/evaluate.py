"""`counterplay evaluate`: how good saved policies are, exactly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterplay.cli.common import (
    ExportOption,
    ForceOption,
    JsonOption,
    PolicyArgument,
    PolicyGameOption,
    SeedOption,
    TrustOption,
    check_outputs,
    integer_option,
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
    agent: Annotated[
        str | None,
        typer.Option(
            metavar="AGENT",
            help="Judge this agent instead, such as 'is_mcts(simulations=100)', asked at every "
            "infoset; POLICY is the game then.",
        ),
    ] = None,
    seeds: Annotated[
        int, integer_option("--seeds", minimum=1, help="Seeds that a random agent is asked with.")
    ] = 1,
    seed: SeedOption = 0,
) -> None:
    """Print how good saved policies are, exactly, for every player.

    Of a run, every policy that it keeps is judged. With --agent a searching agent is judged.
    """
    if agent:
        _evaluate_agent(agent, game or policy, seed, seeds, export, force, json)
        return
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


def _evaluate_agent(
    spec: str, game: str, seed: int, seeds: int, export: Path | None, force: bool, json: bool
) -> None:
    """Ask an agent at every infoset of a game, and print how good its policy is."""
    from counterplay.cli.progress import ProgressBar, agent_loader_with_progress
    from counterplay.core.evaluation import judge
    from counterplay.registry import load_game
    from counterplay.search.tabulation import tabulate_agent

    check_outputs(None, export, force)
    loader = agent_loader_with_progress(load_game(game))
    (agent,) = loader.load_agents(spec)
    with ProgressBar("searching", "infosets", total=seeds * loader.tree.num_infosets) as bar:
        table = tabulate_agent(loader.tree, agent, seed=seed, num_seeds=seeds, progress=bar.update)
    judgement, seconds = judge(loader.tree, table.policy), table.seconds_per_decision
    if json:
        facts = {"game": loader.tree.spec, "agent": spec, **_judgement_facts(judgement)}
        facts |= {"seconds_per_decision": seconds, "by_seed": list(table.exploitabilities)}
        print_json(facts)
    else:
        print(f"game   {loader.tree.spec}\nagent  {spec}")
        _print_judgement(judgement)
        if seeds > 1:
            mean = sum(table.exploitabilities) / seeds
            print(f"by seed         {mean:.2e} +- {table.standard_error:.1e}")
        print(f"per decision    {seconds:.2g} s")
    write_outputs(table.policy, None, export)


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
