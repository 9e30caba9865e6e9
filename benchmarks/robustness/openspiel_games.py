"""Compare every OpenSpiel game of at most 300,000 nodes with OpenSpiel itself.

    python -m benchmarks.robustness.openspiel_games            # continues where it stopped
    python -m benchmarks.robustness.openspiel_games --table    # write docs/openspiel.md only

Each game runs in a separate process with limits of time and memory, and adds a row to
results/openspiel_games.jsonl. Compared are:

- nodes, chance nodes, terminals and infosets, counted by a walk over OpenSpiel's own states;
- all players' values under three random policies and the result of CFR+, by OpenSpiel's functions;
- NashConv of the same policies. Where OpenSpiel has information states, by its C++ best response;
  in games of perfect information without them, by backward induction over OpenSpiel's states. Where
  players forget, our best response remembers, so that our NashConv may be larger but not smaller.

Simultaneous games are compared with OpenSpiel's turn-based form. A difference counts from 1e-9 of
the game's largest utility (or of 1).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.result_files import append_row, load_rows
from benchmarks.timing import first_paragraph, format_head, format_row

MAX_NODES = 300_000
TOLERANCE = 1e-9
MAX_SECONDS, MAX_GIBIBYTES = 420, 6  # of one game
NUM_ITERATIONS = 1000
FAMILY = "openspiel_games"
SETTINGS_FILE = Path(__file__).with_name("openspiel_settings.txt")
REPORT = Path(__file__).parents[2] / "docs" / "openspiel.md"


def load_settings() -> list[str]:
    """Return the small settings, one per line; `\\n` is a line break in a grid."""
    return [line.replace("\\n", "\n") for line in SETTINGS_FILE.read_text().splitlines()]


def main() -> None:
    """Compare all games that are missing, and write the report."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--one", help="compare one game and print the result as JSON")
    parser.add_argument("--play", help="play one game at random with nothing but OpenSpiel")
    parser.add_argument("--table", action="store_true", help="write the report only")
    parser.add_argument("--again", nargs="*", default=[], help="games to compare again")
    args = parser.parse_args()
    if args.one:
        print("\n" + json.dumps(compare(args.one)))
        return
    if args.play:
        play_random_episodes(args.play)
        return
    if not args.table:
        compare_all(set(args.again))
    write_report()


def load_latest_rows() -> dict[str, dict[str, Any]]:
    """Return the latest row of each game."""
    return {row["game"]: row for row in load_rows(FAMILY)}


def compare_all(again: set[str]) -> None:
    """Compare all games that have no row yet, and those to compare again."""
    import open_spiel.python.games  # noqa: F401  (registers the Python ones)
    import pyspiel

    kinds = pyspiel.registered_games()
    names = sorted(kind.short_name for kind in kinds if kind.default_loadable)
    done = load_latest_rows()
    for name in dict.fromkeys([*names, *load_settings()]):
        if name in done and name not in again:
            continue
        start = time.monotonic()
        row = compare_in_process(name)
        row["seconds"] = round(time.monotonic() - start, 1)
        append_row(FAMILY, row)
        print(f"{row['status']:8} {name}  {row.get('reason', '')}"[:160], flush=True)


def compare_in_process(name: str) -> dict[str, Any]:
    """Compare a game in a process that may crash, hang or run out of memory."""
    code, out, problem = run_process("--one", name)
    lines = out.splitlines()
    if code == 0 and lines:
        return json.loads(lines[-1])
    code, _, _ = run_process("--play", name)
    if code != 0:
        problem += "; so does OpenSpiel alone in random play"
    return {"game": name, "status": "failed", "reason": problem}


def run_process(*arguments: str) -> tuple[int, str, str]:
    """Run this script; return exit code, output, and a description of a failure."""
    limit = MAX_GIBIBYTES * 2**30
    try:
        process = subprocess.run(
            [sys.executable, "-m", "benchmarks.robustness.openspiel_games", *arguments],
            capture_output=True,
            text=True,
            timeout=MAX_SECONDS,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
            env={**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
        )
    except subprocess.TimeoutExpired:
        return 1, "", f"not finished after {MAX_SECONDS} seconds"
    last = (process.stderr.strip().splitlines() or ["no message"])[-1][:200]
    crash = "crashes" if process.returncode < 0 else "stops"
    return process.returncode, process.stdout, f"the process {crash} ({process.returncode}): {last}"


def play_random_episodes(name: str) -> None:
    """Play a thousand random episodes with OpenSpiel alone."""
    import pyspiel

    game, rng = pyspiel.load_game(name), random.Random(0)
    for _ in range(1000):
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_simultaneous_node():
                legal = [state.legal_actions(p) or [0] for p in range(game.num_players())]
                state = state.clone()
                state.apply_actions([rng.choice(actions) for actions in legal])
            else:
                state = state.child(rng.choice(state.legal_actions()))


def compare(name: str) -> dict[str, Any]:
    """Build the tree of a game and compare it with OpenSpiel."""
    import counterplay as cp

    row: dict[str, Any] = {"game": name}
    try:
        game = cp.load_game(f"openspiel:{name}")
    except cp.CounterplayError as error:
        return row | {"status": "refused", "reason": str(error)}

    def check_size(node: int, expected: int) -> None:
        if node >= MAX_NODES:
            estimate = f", about {expected:.2g}" if expected > MAX_NODES else ""
            raise cp.RunError(f"more than {MAX_NODES:,} nodes{estimate}")

    cp.build_tree(cp.load_game("kuhn_poker"))  # imports and compiles
    start = time.perf_counter()
    try:
        tree = cp.build_tree(game, progress=check_size, memory_limit=4 * 2**30)
    except cp.RunError as error:
        return row | {"status": "large", "reason": str(error)}
    except cp.CounterplayError as error:
        return row | {"status": "refused", "reason": str(error)}
    seconds = time.perf_counter() - start
    if tree.num_nodes > MAX_NODES:
        return row | {"status": "large", "reason": f"{tree.num_nodes:,} nodes"}
    row |= {
        "players": tree.num_players,
        "nodes": tree.num_nodes,
        "infosets": tree.num_infosets,
        "zero_sum": tree.is_zero_sum,
        "perfect_recall": tree.has_perfect_recall,
        "nodes_per_second": round(tree.num_nodes / seconds),
    }
    return row | Comparison(tree).run()


class Comparison:
    """One tree and the OpenSpiel game it came from."""

    def __init__(self, tree: Any):
        import pyspiel

        self.tree, self.game = tree, tree.game.spiel_game
        kind = self.game.get_type()
        self.is_simultaneous = kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
        self.has_info_states = kind.provides_information_state_string
        self.has_perfect_info = kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
        self.reference = (
            "OpenSpiel"
            if self.has_info_states
            else "induction"
            if self.has_perfect_info
            else "none"
        )
        self.turn_based = (
            pyspiel.convert_to_turn_based(self.game) if self.is_simultaneous else self.game
        )
        self.is_forgetful = not tree.has_perfect_recall
        self.scale = max(1.0, float(abs(tree.utility).max()))

    def run(self) -> dict[str, Any]:
        """Return the row of the game."""
        import counterplay as cp

        tree = self.tree
        row: dict[str, Any] = {}
        problems = self.compare_counts(row)
        policies = [cp.random_policy(tree, seed) for seed in range(3)]
        if tree.is_zero_sum:
            result = cp.solve(tree, cp.algorithms.CFRPlus(), iterations=NUM_ITERATIONS)
            row["uniform"] = cp.exploitability(tree, cp.uniform_policy(tree))
            row["cfr_plus"] = result.exploitability
            policies.append(result.policy)
        worst = {"values": 0.0, "nash_conv": 0.0}
        for policy in policies:
            ours = cp.judge(tree, policy)
            values = self.values(policy)
            gap = max(abs(a - b) for a, b in zip(ours.values, values, strict=True))
            worst["values"] = max(worst["values"], gap / self.scale)
            theirs = self.nash_conv(policy, values)
            if theirs is not None:
                gap = abs(ours.nash_conv - theirs) / self.scale
                if (
                    self.is_forgetful and ours.nash_conv > theirs
                ):  # our best response remembers more
                    row["remembering"] = max(row.get("remembering", 0.0), gap)
                else:
                    worst["nash_conv"] = max(worst["nash_conv"], gap)
        row |= {"judge": self.reference, "worst": worst}
        problems += [
            f"{what} differ by {gap:.1e}" for what, gap in worst.items() if gap > TOLERANCE
        ]
        row["status"] = "differs" if problems else "pass"
        if problems:
            row["reason"] = "; ".join(problems) + self.explain(policies[0])
        return row

    def compare_counts(self, row: dict[str, Any]) -> list[str]:
        """Compare the counts; return descriptions of the differences."""
        from counterplay.core.game import CHANCE

        nodes = terminals = chance = 0
        infosets = set()
        start = time.perf_counter()
        stack = [self.turn_based.new_initial_state()]
        while stack:
            state = stack.pop()
            nodes += 1
            if state.is_terminal():
                terminals += 1
                state.returns()
                continue
            if state.is_chance_node():
                chance += 1
            elif self.has_info_states:
                infosets.add((state.current_player(), state.information_state_string()))
            stack += [state.child(action) for action in state.legal_actions()]
        row["their_nodes_per_second"] = round(nodes / (time.perf_counter() - start))
        tree = self.tree
        pairs = {
            "nodes": (tree.num_nodes, nodes),
            "terminals": (tree.num_terminals, terminals),
            "chance nodes": (int((tree.player == CHANCE).sum()), chance),
        }
        if self.has_info_states:
            pairs["infosets"] = (tree.num_infosets, len(infosets))
        return [f"{a} {what}, not {b}" for what, (a, b) in pairs.items() if a != b]

    def values(self, policy: Any) -> list[float]:
        """Return OpenSpiel's values of a policy."""
        import pyspiel

        import counterplay as cp

        if not self.has_info_states:
            return self.python_values(policy)
        table = cp.interop.to_pyspiel_policy(policy, turn_based=self.is_simultaneous)
        return pyspiel.expected_returns(self.turn_based.new_initial_state(), table, -1, True)

    def python_values(self, policy: Any) -> list[float]:
        """Return the values by OpenSpiel's Python function."""
        from open_spiel.python.algorithms import expected_game_score

        import counterplay as cp

        theirs = [cp.interop.to_python_policy(policy)] * self.tree.num_players
        return list(expected_game_score.policy_value(self.turn_based.new_initial_state(), theirs))

    def explain(self, policy: Any) -> str:
        """Return a remark if OpenSpiel's own two ways to compute a value disagree."""
        first, second = self.values(policy), self.python_values(policy)
        gap = max(abs(a - b) for a, b in zip(first, second, strict=True))
        if gap <= TOLERANCE * self.scale:
            return ""
        return (
            f"; so do OpenSpiel's expected_returns, which adds up rewards ({first[0]:.6g}), and "
            f"its policy_value, which takes the returns ({second[0]:.6g}), as here"
        )

    def nash_conv(self, policy: Any, values: list[float]) -> float | None:
        """Return OpenSpiel's NashConv of a policy, if it can compute one."""
        import pyspiel
        from open_spiel.python.algorithms import exploitability

        import counterplay as cp

        if self.has_info_states:
            table = cp.interop.to_pyspiel_policy(policy, turn_based=self.is_simultaneous)
            try:
                return pyspiel.nash_conv(self.turn_based, table)
            except pyspiel.SpielError as error:
                if "ToString() not distinguish" not in str(error):
                    raise
            self.reference = "python"  # C++ stores states by strings that are not unique
            return exploitability.nash_conv(self.turn_based, cp.interop.to_python_policy(policy))
        if not self.has_perfect_info:
            return None
        theirs = cp.interop.to_python_policy(policy)
        best = [
            best_response_value(self.game.new_initial_state(), theirs, player)
            for player in range(self.tree.num_players)
        ]
        return sum(max(b - v, 0.0) for b, v in zip(best, values, strict=True))


def best_response_value(state: Any, policy: Any, player: int) -> float:
    """Return the player's value of a best response to the policy, by backward induction."""
    if state.is_terminal():
        return state.returns()[player]
    if state.is_chance_node():
        return sum(
            p * best_response_value(state.child(a), policy, player)
            for a, p in state.chance_outcomes()
        )
    if not state.is_simultaneous_node():
        values = {
            a: best_response_value(state.child(a), policy, player) for a in state.legal_actions()
        }
        if state.current_player() == player:
            return max(values.values())
        probs = policy.action_probabilities(state)
        return sum(probs[a] * value for a, value in values.items())
    players = range(state.num_players())
    probs = [policy.action_probabilities(state, p) for p in players]
    total: dict[int, float] = {}
    for joint in product(*probs):
        weight = 1.0
        for p in players:
            weight *= probs[p][joint[p]] if p != player else 1.0
        after = state.clone()
        after.apply_actions(list(joint))
        action = joint[player]
        total[action] = total.get(action, 0.0) + weight * best_response_value(after, policy, player)
    return max(total.values())


REFERENCE_NAMES = {
    "OpenSpiel": "its C++ best response",
    "induction": "backward induction",
    "none": "values only",
    "python": "its Python best response",
}


def write_report() -> None:
    """Write docs/openspiel.md."""
    names = set(load_settings())
    rows = [
        row for row in load_latest_rows().values() if row["game"] in names or "(" not in row["game"]
    ]
    rows.sort(key=lambda row: row["game"])
    groups = {
        status: [row for row in rows if row["status"] == status]
        for status in ("pass", "differs", "refused", "large", "failed")
    }
    import pyspiel

    solved = [row for row in groups["pass"] if "cfr_plus" in row]
    counts = {status: len(group) for status, group in groups.items()}
    text = [
        "# OpenSpiel's games here",
        "",
        "Written by `python -m benchmarks.robustness.openspiel_games` (OpenSpiel",
        f"{pyspiel.__version__}), whose docstring defines the comparison. Every registered game",
        "that loads without parameters is included, and small settings of many",
        "(`benchmarks/robustness/openspiel_settings.txt`).",
        "",
        f"{len(rows)} games and settings: {counts['pass']} pass, {counts['differs']} differ,",
        f"{counts['refused']} are refused, {counts['large']} have more than {MAX_NODES:,} nodes,",
        f"{counts['failed']} fail. {len(solved)} that pass are zero-sum and were solved with",
        f"{NUM_ITERATIONS:,} iterations of CFR+.",
        "",
    ]
    text += ["## Pass", ""]
    text += [
        format_head(
            [
                *("game", "players", "nodes", "infosets", "NashConv by", "worst difference"),
                "exploitability: uniform, CFR+",
            ]
        ),
    ]
    for row in groups["pass"]:
        text.append(format_passed(row))
    for status, head in (
        ("differs", "Differ"),
        ("refused", "Refused"),
        ("large", f"More than {MAX_NODES:,} nodes"),
        ("failed", "Fail"),
    ):
        if groups[status]:
            text += ["", f"## {head}", "", format_head(["game", "reason"])]
            text += [
                format_row([format_game(row["game"]), shorten(row["reason"])])
                for row in groups[status]
            ]
    REPORT.write_text("\n".join(text) + "\n")


def format_passed(row: dict[str, Any]) -> str:
    """Return the row of a game that passes."""
    worst = max(row["worst"].values())
    solved = f"{row['uniform']:.3g}, {row['cfr_plus']:.1e}" if "cfr_plus" in row else "not zero-sum"
    gap = row.get("remembering", 0.0)
    remembering = f", which forgets: up to {gap:.1e} less" if gap > TOLERANCE else ""
    forgets = "" if row["perfect_recall"] else " (players forget)"
    cells = [
        format_game(row["game"]) + forgets,
        str(row["players"]),
        f"{row['nodes']:,}",
        f"{row['infosets']:,}",
        REFERENCE_NAMES[row["judge"]] + remembering,
        f"{worst:.0e}",
        solved,
    ]
    return format_row(cells)


def format_game(name: str) -> str:
    """Return a game's name as code."""
    return f"`{shorten(name)}`"


def shorten(text: str) -> str:
    """Return one line for a cell; of a refused tree, the estimated number of nodes."""
    about = re.search(r"has about (\S+) nodes", text)
    if about:
        huge = float(about[1].replace(",", "")) > 1e98  # estimates stop at 1e100
        return "more than 1e+98 nodes" if huge else f"about {about[1]} nodes"
    return " ".join(text.replace("|", "/").split())[:240]


if __name__ == "__main__":
    sys.setrecursionlimit(100_000)
    main()
