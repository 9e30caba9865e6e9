"""`counterplay evaluate`: exact values and exploitability of saved policies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypedDict

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
from counterplay.errors import ConfigError

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
    mbb_per_game: NotRequired[float]  # exploitability in thousandths of a big blind


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

    Each player's best-response value is printed too. All policies of a run are evaluated; networks
    and tables that learned the rules of a large heads-up hold'em game as a table of all hands on
    all boards, whose cost is printed first, and in thousandths of a big blind (mbb) too. With
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
    policies: dict[str, Any] = {}
    judgements: dict[str, Judgement] = {}
    for name, saved_policy in saved.items():
        item = _to_exact_policy(saved_policy, name, export)
        judgements[name] = judge(item.arena, item)
        policies = policies or {name: item}  # a table of hold'em takes gigabytes: keep one
        del item
    first = next(iter(policies))
    arena = policies[first].arena
    spec, big_blind = arena.spec, _big_blind(arena)
    if note := describe_shift(arena):
        print_note(note)
    if json:
        facts = {
            name: _judgement_facts(judgement, big_blind) for name, judgement in judgements.items()
        }
        more: dict[str, Any] = {"policies": facts} if len(facts) > 1 else {}
        print_json({"game": spec, **facts[first], **more})
    else:
        print(f"game  {spec}")
        for name, judgement in judgements.items():
            if len(judgements) > 1:
                print(f"\npolicy  {name}")
            _print_judgement(judgement, big_blind)
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
    if hasattr(agent, "tabulate") and hasattr(agent, "list_roots"):
        _evaluate_holdem_agent(spec, agent, export, json)
        return
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


def _evaluate_holdem_agent(spec: str, agent: Any, export: Path | None, json: bool) -> None:
    """Evaluate an agent on a hold'em arena, after it has solved every subgame of both players."""
    import time

    from counterplay.cli.progress import ProgressBar
    from counterplay.core.evaluation import judge

    if export:
        raise ConfigError("--export is for games with a tree; leave it out in this hold'em game")
    count, start = len(agent.list_roots()), time.perf_counter()
    with ProgressBar("searching", "subgames", total=count) as bar:
        policy = agent.tabulate(bar.update)
    seconds, arena = (time.perf_counter() - start) / max(1, count), policy.arena
    judgement, big_blind = judge(arena, policy), _big_blind(arena)
    if json:
        facts = {"game": arena.spec, "agent": spec, **_judgement_facts(judgement, big_blind)}
        print_json(facts | {"seconds_per_subgame": seconds, "num_subgames": count})
        return
    print(f"game   {arena.spec}\nagent  {spec}")
    _print_judgement(judgement, big_blind)
    print(f"per subgame     {seconds:.2g} s ({count:,} subgames)")


def to_tree_policy(policy: Any) -> Policy:
    """Put a policy that was learned on rules, as a table or as networks, on the game's tree."""
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.core.game import full_game

    is_on_rules = hasattr(policy, "tabulate")
    tree_policy: Policy = (
        policy.tabulate(build_tree_with_progress(full_game(policy.game))) if is_on_rules else policy
    )
    return tree_policy


def _to_exact_policy(policy: Any, name: str, export: Path | None) -> Any:
    """Put a policy on an arena that judges it: a hold'em arena if the game is large, or a tree."""
    from counterplay.arenas.holdem.game_arena import HoldemGameArena
    from counterplay.cli.progress import ProgressBar
    from counterplay.core.game import full_game
    from counterplay.play.agents import is_large_holdem

    rules: Any = full_game(policy.game) if hasattr(policy, "tabulate") else None
    if export or not is_large_holdem(rules):
        return to_tree_policy(policy)
    arena = HoldemGameArena(rules, isomorphism=getattr(policy, "is_suit_invariant", False))
    total = _note_cost(policy, name, arena)
    with ProgressBar(f"tabulating {name}", "infosets", total=total) as bar:
        return policy.tabulate(arena, bar.update)


def _note_cost(policy: Any, name: str, arena: Any) -> int:
    """Print the time and memory of putting a policy on an arena; return its infosets."""
    from counterplay.arenas.holdem.hand_states import HandStates
    from counterplay.arenas.tree.size_estimate import format_gib
    from counterplay.cli.output import format_seconds
    from counterplay.core.observations import KeyObservedGame

    if not hasattr(policy, "nets") or isinstance(policy.game, KeyObservedGame):
        return HandStates(arena).num_rows
    from counterplay.algorithms.deep.common.hand_tables import HandTables

    cost = HandTables(policy, arena).estimate()
    networks = f"{cost.num_networks} networks" if cost.num_networks > 1 else "a network"
    print_note(
        f"{name}: {networks} at {cost.num_infosets:,} infosets, about "
        f"{format_seconds(cost.seconds)} and {format_gib(cost.num_bytes)}"
    )
    return cost.num_infosets


def _big_blind(arena: Any) -> float:
    """Return the chips of a big blind; 0 if the game is not hold'em, or pays prizes."""
    from counterplay.games.holdem_base import HoldemBase

    game = getattr(arena, "game", None) if "vectors" in arena.capabilities else None
    return float(game.min_bet) if isinstance(game, HoldemBase) and not game.pays_prizes else 0.0


def _judgement_facts(judgement: Judgement, big_blind: float = 0.0) -> JudgementFacts:
    values, best_values = judgement.values.tolist(), judgement.best_values.tolist()
    mbb: Any = {}
    if big_blind:
        mbb = {"mbb_per_game": 1000.0 * judgement.exploitability / big_blind}
    return mbb | {
        "values": values,
        "best_values": best_values,
        "gains": [best - value for value, best in zip(values, best_values, strict=True)],
        "nash_conv": judgement.nash_conv,
        "exploitability": judgement.exploitability,
    }


def _print_judgement(judgement: Judgement, big_blind: float = 0.0) -> None:
    facts = _judgement_facts(judgement)
    columns = zip(facts["values"], facts["best_values"], facts["gains"], strict=True)
    rows = [
        (str(player), f"{value:.6f}", f"{best:.6f}", f"{gain:.2e}")
        for player, (value, best, gain) in enumerate(columns)
    ]
    print_table(("player", "value", "best response", "gain"), rows)
    print(f"NashConv        {judgement.nash_conv:.2e}")
    print(f"exploitability  {judgement.exploitability:.2e}")
    if big_blind:
        print(f"mbb per game    {1000.0 * judgement.exploitability / big_blind:.2f}")
