"""Judge search at play time exactly: method, exploitability and seconds per decision.

    python -m benchmarks.search.search_methods                # all tables
    python -m benchmarks.search.search_methods second_round   # one of them

- `second_round`: NashConv of Leduc poker after its second round is solved again by each method,
  from an exact blueprint and from one of 20,000 iterations of CFR+; subgames by 3,000 iterations
  of CFR+ and by the sequence-form linear programme.
- `resolving`: agents that solve a subgame at each decision, from blueprints of 10, 100 and 1,000
  iterations of CFR+; exploitability and milliseconds per decision.
- `sampling`: IS-MCTS, PIMC, smooth UCT and online outcome sampling by simulations per decision.
- `random_games`: the largest rise of a best response's value by each method, with exact solutions
  of random subgames of 1,000 random games and random blueprints.
- `curves`: exploitability of IS-MCTS and online outcome sampling by simulations per decision on
  Leduc poker and Goofspiel with four cards. Rows that are stored already are not computed again.
- `speed`: simulations per second of IS-MCTS beside OpenSpiel's in Python and C++ on Leduc poker.

Rows are appended to `results/search_methods.jsonl`.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import counterplay as cp
from benchmarks.result_files import append_row, load_rows
from benchmarks.timing import first_paragraph, format_head, format_row
from counterplay.arenas.subgame import METHODS, SAFE_METHODS
from counterplay.arenas.tree.replay import first_infoset_states
from counterplay.registry import load_search_agent

FAMILY = "search_methods"
NUM_SPEED_RUNS = 3  # of which the median counts
SAMPLING_RUNS = (  # game, simulations per decision, seeds, agents
    ("kuhn_poker", 10, 4, 4),
    ("kuhn_poker", 100, 4, 4),
    ("kuhn_poker", 1_000, 4, 4),
    ("kuhn_poker", 10_000, 1, 4),
    ("leduc_poker", 10, 2, 4),
    ("leduc_poker", 100, 2, 4),
    ("leduc_poker", 1_000, 1, 1),
)
SAMPLING_AGENTS = (
    "is_mcts(simulations={n})",
    "is_mcts(simulations={n},observer=multiple)",
    "smooth_uct(simulations={n})",
    "oos(simulations={n})",
)


def second_round() -> None:
    """Print NashConv of Leduc poker with its second round solved again."""
    tree = cp.build_tree("leduc_poker")
    blueprints = {
        "exact": cp.algorithms.solve_sequence_form_lp(tree).policy,
        "cfr_plus 20,000": cp.solve(tree, "cfr_plus", iterations=20_000).policy,
    }
    print(format_head(["blueprint", "method", "NashConv, CFR+ 3,000", "NashConv, LP"]))
    for name, blueprint in blueprints.items():
        print(format_row([name, "none", f"{cp.nash_conv(tree, blueprint):.2g}", ""]))
        for method in METHODS:
            values = [
                cp.nash_conv(
                    tree,
                    cp.search.resolve_policy(
                        tree, blueprint, algorithm, method=method, iterations=iterations
                    ),
                )
                for algorithm, iterations in (
                    (cp.algorithms.CFRPlus(), 3_000),
                    (cp.algorithms.SequenceFormLP(), 1),
                )
            ]
            print(format_row([name, method, *(f"{value:.2g}" for value in values)]), flush=True)
            row = {"table": "second_round", "blueprint": name, "method": method}
            append_row(FAMILY, row | {"cfr_plus": values[0], "lp": values[1]})


def resolving() -> None:
    """Print exploitability and time of resolving agents on Kuhn and Leduc poker."""
    print(format_head(["game", "blueprint", "method", "depth", "exploitability", "ms"]))
    for spec in ("kuhn_poker", "leduc_poker"):
        tree = cp.build_tree(spec)
        for iterations in (10, 100, 1_000):
            blueprint = cp.solve(tree, "cfr_plus", iterations=iterations).policy
            print_row(spec, iterations, "none", "", cp.exploitability(tree, blueprint), 0.0)
            for method in METHODS:
                for depth in (0, 2):
                    settings = cp.search.Resolving(method=method, depth=depth)
                    table = cp.search.tabulate_agent(tree, settings.make_agent(tree, blueprint))
                    value = cp.exploitability(tree, table.policy)
                    seconds = median_solve_seconds(settings.make_agent(tree, blueprint))
                    print_row(spec, iterations, method, depth, value, seconds)
                    row = {"table": "resolving", "game": spec, "blueprint": iterations}
                    row |= {"method": method, "depth": depth, "exploitability": value}
                    append_row(FAMILY, row | {"seconds": seconds})


def median_solve_seconds(agent: Any) -> float:
    """Return the median processor time of a subgame, once layouts are cached."""
    seconds = []
    for state, player in np.argwhere(agent.states.acting).tolist():
        start = time.process_time()
        agent.policy_at(state, player)
        seconds.append(time.process_time() - start)
    return float(np.median(seconds))


def print_row(
    spec: str, iterations: int, method: str, depth: Any, value: float, seconds: float
) -> None:
    cells = [spec, f"CFR+ {iterations}", method, depth, f"{value:.4f}", f"{1e3 * seconds:.2f}"]
    print(format_row(cells), flush=True)


def sampling() -> None:
    """Print exploitability and time of sampling searchers by simulations per decision."""
    print(format_head(["game", "agent", "seeds", "exploitability", "of one seed", "ms"]))
    for spec, count, num_seeds, num_agents in SAMPLING_RUNS:
        tree = cp.build_tree(spec)
        names = [agent.format(n=count) for agent in SAMPLING_AGENTS[:num_agents]]
        for name in [*names, *(["pimc(num_states=30)"] if count == 10 else [])]:
            agent = load_search_agent(name).make_agent(tree.game)
            table = cp.search.tabulate_agent(tree, agent, num_seeds=num_seeds)
            value, by_seed = cp.exploitability(tree, table.policy), table.exploitabilities
            single, seconds = np.mean(by_seed), table.seconds_per_decision
            cells = [spec, name, num_seeds, f"{value:.4f}"]
            cells += [f"{single:.4f} +- {table.standard_error:.4f}", f"{1e3 * seconds:.1f}"]
            print(format_row(cells), flush=True)
            row = {"table": "sampling", "game": spec, "agent": name, "exploitability": value}
            append_row(FAMILY, row | {"by_seed": list(by_seed), "seconds": seconds})


def random_games(count: int = 1_000) -> None:
    """Print how far methods raise the value of best responses on random games."""
    from tests.random_games import RandomGame

    methods = (*SAFE_METHODS, "unsafe")
    rises: dict[str, list[float]] = {method: [] for method in methods}
    seed = num_games = 0
    while num_games < count:
        seed += 1
        tree = cp.build_tree(RandomGame(seed=10_000 + seed, max_depth=3 + seed % 3))
        if not tree.num_sequences or not tree.is_zero_sum or not np.ptp(tree.utility) > 0.0:
            continue
        chosen = random_subgames(cp.search.public_states(tree), seed)
        if not chosen:
            continue
        num_games += 1
        blueprint = cp.random_policy(tree, seed=seed)
        before = cp.judge(tree, blueprint).best_values
        for method in methods:
            policy = cp.search.resolve_policy(
                tree, blueprint, cp.algorithms.SequenceFormLP(), chosen, method=method
            )
            rises[method].append(float((cp.judge(tree, policy).best_values - before).max()))
    print(format_head(["method", "games", "worse in", "largest rise"]))
    for method, values in rises.items():
        worse = sum(value > 1e-7 for value in values)
        print(format_row([method, len(values), worse, f"{max(values):.2g}"]), flush=True)
        row = {"table": "random_games", "method": method, "games": len(values), "worse": worse}
        append_row(FAMILY, row | {"largest_rise": max(values)})


def random_subgames(states: cp.search.PublicStates, seed: int) -> list[int]:
    """Return some public states, none below another, below which a player acts."""
    rng, chosen, state = np.random.default_rng(seed), [], 1
    while state < len(states):
        if rng.random() < 0.5:
            if states.acting[state : states.end[state]].any():
                chosen.append(state)
            state = int(states.end[state])
        else:
            state += 1
    return chosen


def curves() -> None:
    """Print exploitability by simulations per decision: where IS-MCTS stops falling."""
    print(format_head(["game", "agent", "exploitability", "CPU ms per decision"]))
    stored = [row for row in load_rows(FAMILY) if row["table"] == "curves"]
    done = {(row["game"], row["agent"]) for row in stored}
    for game in ("leduc_poker", "goofspiel(num_cards=4)"):
        tree = cp.build_tree(game)
        for count in (10, 100, 1_000, 10_000):
            for spec in (f"is_mcts(simulations={count})", f"oos(simulations={count})"):
                if (game, spec) in done:
                    continue
                agent = load_search_agent(spec).make_agent(tree.game)
                agent.on_tree(tree).action_probabilities(first_infoset_states(tree)[0], 0)
                start = time.process_time()
                table = cp.search.tabulate_agent(tree, agent, num_seeds=2 if count < 100 else 1)
                seconds = (time.process_time() - start) / table.num_decisions
                value = cp.exploitability(tree, table.policy)
                print(format_row([game, spec, f"{value:.4f}", f"{1e3 * seconds:.2f}"]), flush=True)
                row = {"table": "curves", "game": game, "agent": spec, "exploitability": value}
                append_row(FAMILY, row | {"seconds": seconds})


def speed() -> None:
    """Print simulations per second of IS-MCTS beside OpenSpiel's on Leduc poker."""
    import pyspiel
    from open_spiel.python.algorithms import ismcts, mcts

    tree = cp.build_tree("leduc_poker")
    state = tree.game.initial_state()
    theirs = pyspiel.load_game("leduc_poker").new_initial_state()
    for action in (0, 2):
        state = tree.game.next_state(state, action)
        theirs.apply_action(action)
    count, compiled_count, rng = 5_000, 100_000, np.random.RandomState(0)
    agent = cp.search.ISMCTS(simulations=count, observer="multiple").make_agent(tree.game)
    agent.action_probabilities(state, 0)  # fills the pool of states
    fast = cp.search.ISMCTS(simulations=compiled_count, observer="multiple")
    on_tree = fast.make_tree_agent(tree)
    on_tree.action_probabilities(state, 0)  # compiles
    python_bot = ismcts.ISMCTSBot(
        theirs.get_game(), mcts.RandomRolloutEvaluator(1, rng), 2.0, count, random_state=rng
    )
    evaluator = pyspiel.RandomRolloutEvaluator(1, 0)
    final = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
    cpp_bot = pyspiel.ISMCTSBot(
        0,
        evaluator,
        2.0,
        compiled_count,
        -1,
        final,
        False,
        False,
    )
    works = {
        "counterplay, rules in Python": (count, lambda: agent.action_probabilities(state, 0)),
        "counterplay, compiled tree": (
            compiled_count,
            lambda: on_tree.action_probabilities(state, 0),
        ),
        "OpenSpiel, Python": (count, lambda: python_bot.step(theirs)),
        "OpenSpiel, C++": (compiled_count, lambda: cpp_bot.step(theirs)),
    }
    print(format_head(["program", "simulations / s"]))
    for name, (number, work) in works.items():
        times = []
        for _ in range(NUM_SPEED_RUNS):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
        rate = number / float(np.median(times))
        print(format_row([name, f"{rate:,.0f}"]), flush=True)
        append_row(FAMILY, {"table": "speed", "program": name, "simulations_per_second": rate})


TABLES = {
    "second_round": second_round,
    "resolving": resolving,
    "sampling": sampling,
    "random_games": random_games,
    "curves": curves,
    "speed": speed,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("table", nargs="*", choices=[*TABLES, []], help="tables to measure")
    for name in parser.parse_args().table or TABLES:
        print(f"\n## {name}\n")
        TABLES[name]()


if __name__ == "__main__":
    main()
