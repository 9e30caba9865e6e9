"""`counterplay evaluate`: exact values and exploitability of saved policies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from counterplay.cli.options import (
    ExportOption,
    ForceOption,
    JsonOption,
    PolicyArgument,
    PolicyGameOption,
    SeedOption,
    TrustOption,
    check_outputs,
    integer_option,
)
from counterplay.cli.output import print_json, print_note, print_table, write_outputs

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
    agent: Annotated[
        str | None,
        typer.Option(
            metavar="AGENT",
            help="Evaluate this agent, such as 'is_mcts(simulations=9)'; POLICY is the game.",
        ),
    ] = None,
    seeds: Annotated[
        int, integer_option("--seeds", minimum=1, help="Number of seeds of a random agent.")
    ] = 1,
    seed: SeedOption = 0,
) -> None:
    """Print the exact values and exploitability of saved policies.

    Each player's best-response value is printed too. All policies of a run are evaluated. With
    --agent, a searching agent is evaluated instead: it is asked at every infoset of the game.
    """
    if agent:
        _evaluate_agent(agent, game or policy, seed, seeds, export, force, json)
        return
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.core.constant_sum import describe_shift
    from counterplay.core.evaluation import judge
    from counterplay.experiment.saved_policies import load_policies

    check_outputs(None, export, force)
    saved = load_policies(policy, game, build=build_tree_with_progress, allow_holdem=not export)
    policies = {name: to_tree_policy(saved_policy) for name, saved_policy in saved.items()}
    judgements = {name: judge(item.arena, item) for name, item in policies.items()}
    first = next(iter(policies))
    spec = policies[first].arena.spec
    if note := describe_shift(policies[first].arena):
        print_note(note)
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


def _evaluate_agent(
    spec: str, game: str, seed: int, seeds: int, export: Path | None, force: bool, json: bool
) -> None:
    """Evaluate an agent at every infoset of a game, and print its values and exploitability."""
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
        timing = {"seconds_per_decision": seconds, "by_seed": list(table.exploitabilities)}
        print_json(facts | timing)
    else:
        print(f"game   {loader.tree.spec}\nagent  {spec}")
        _print_judgement(judgement)
        if seeds > 1:
            mean = sum(table.exploitabilities) / seeds
            print(f"by seed         {mean:.2e} +- {table.standard_error:.1e}")
        print(f"per decision    {seconds:.2g} s")
    write_outputs(table.policy, None, export)


def to_tree_policy(policy: Any) -> Policy:
    """Put a policy that was learned on rules, as a table or as networks, on the game's tree."""
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.core.game import full_game

    is_on_rules = hasattr(policy, "tabulate")
    tree_policy: Policy = (
        policy.tabulate(build_tree_with_progress(full_game(policy.game))) if is_on_rules else policy
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
