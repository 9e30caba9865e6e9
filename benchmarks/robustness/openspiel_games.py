"""Every OpenSpiel game that unrolls to at most 300,000 nodes, compared with OpenSpiel itself.

    python benchmarks/openspiel_sweep.py              # goes on where it stopped
    python benchmarks/openspiel_sweep.py --table      # docs/openspiel.md from what is there

Each game runs in a process of its own, with a limit of time and memory, and leaves one line in
`benchmarks/openspiel_sweep.jsonl`. What is compared:

- nodes, chance nodes, terminals and infosets, counted by a walk over OpenSpiel's own states;
- every player's value under three random policies (and CFR+'s result), by OpenSpiel's functions;
- NashConv of the same policies. Where OpenSpiel has information states, by its C++ best response;
  in games of perfect information that have none, by backward induction over OpenSpiel's states.
  Where players forget, our responder remembers all the same: its NashConv may not be lower.

Simultaneous games are compared with OpenSpiel's turn-based form. Differences count from 1e-9 of the
game's largest utility (or of 1).
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

MOST_NODES = 300_000
TOLERANCE = 1e-9
SECONDS, GIBIBYTES = 420, 6
ITERATIONS = 1000
HERE = Path(__file__).resolve().parent
RESULTS = HERE / "openspiel_sweep.jsonl"
SETTINGS = HERE / "openspiel_settings.txt"
TABLE = HERE.parent / "docs" / "openspiel.md"


def settings() -> list[str]:
    """The small settings, one a line; `\\n` is a new line in a grid."""
    return [line.replace("\\n", "\n") for line in SETTINGS.read_text().splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("--one", help="compare one game and print the result as JSON")
    parser.add_argument("--play", help="play one game at random with nothing but OpenSpiel")
    parser.add_argument("--table", action="store_true", help="only write the table")
    parser.add_argument("--again", nargs="*", default=[], help="games to compare once more")
    options = parser.parse_args()
    if options.one:
        print("\n" + json.dumps(compare(options.one)))
        return
    if options.play:
        play(options.play)
        return
    if not options.table:
        sweep(set(options.again))
    write_table()


def known() -> dict[str, dict[str, Any]]:
    """The results so far, the latest of each game."""
    if not RESULTS.exists():
        return {}
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    return {row["game"]: row for row in rows}


def sweep(again: set[str]) -> None:
    import open_spiel.python.games  # noqa: F401  (registers the Python ones)
    import pyspiel

    kinds = pyspiel.registered_games()
    names = sorted(kind.short_name for kind in kinds if kind.default_loadable)
    done = known()
    for name in dict.fromkeys([*names, *settings()]):
        if name in done and name not in again:
            continue
        began = time.monotonic()
        row = run_apart(name)
        row["seconds"] = round(time.monotonic() - began, 1)
        with RESULTS.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{row['status']:8} {name}  {row.get('reason', '')}"[:160], flush=True)


def run_apart(name: str) -> dict[str, Any]:
    """Compare a game in a process that may crash, hang or eat memory without harm."""
    code, out, problem = in_process("--one", name)
    lines = out.splitlines()
    if code == 0 and lines:
        return json.loads(lines[-1])
    code, _, _ = in_process("--play", name)
    if code != 0:
        problem += "; so does OpenSpiel alone when it is played at random"
    return {"game": name, "status": "failed", "reason": problem}


def in_process(*arguments: str) -> tuple[int, str, str]:
    """Exit code, output, and what went wrong in words."""
    limit = GIBIBYTES * 2**30
    try:
        done = subprocess.run(
            [sys.executable, __file__, *arguments],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
            env={**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
        )
    except subprocess.TimeoutExpired:
        return 1, "", f"not done after {SECONDS} seconds"
    last = (done.stderr.strip().splitlines() or ["no message"])[-1][:200]
    crash = "crashes" if done.returncode < 0 else "stops"
    return done.returncode, done.stdout, f"the process {crash} ({done.returncode}): {last}"


def play(name: str) -> None:
    """A thousand random episodes."""
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
    """Build the tree of a game and hold it against OpenSpiel."""
    import counterplay as cp

    row: dict[str, Any] = {"game": name}
    try:
        game = cp.load_game(f"openspiel:{name}")
    except cp.CounterplayError as error:
        return row | {"status": "refused", "reason": str(error)}

    def too_large(node: int, expected: int) -> None:
        if node >= MOST_NODES:
            guess = f", about {expected:.2g}" if expected > MOST_NODES else ""
            raise cp.RunError(f"more than {MOST_NODES:,} nodes{guess}")

    cp.build_tree(cp.load_game("kuhn_poker"))  # the first time imports much
    began = time.perf_counter()
    try:
        tree = cp.build_tree(game, progress=too_large, memory_limit=4 * 2**30)
    except cp.RunError as error:
        return row | {"status": "large", "reason": str(error)}
    except cp.CounterplayError as error:
        return row | {"status": "refused", "reason": str(error)}
    built = time.perf_counter() - began
    if tree.num_nodes > MOST_NODES:
        return row | {"status": "large", "reason": f"{tree.num_nodes:,} nodes"}
    row |= {
        "players": tree.num_players,
        "nodes": tree.num_nodes,
        "infosets": tree.num_infosets,
        "zero_sum": tree.is_zero_sum,
        "perfect_recall": tree.has_perfect_recall,
        "nodes_per_second": round(tree.num_nodes / built),
    }
    return row | Comparison(tree).run()


class Comparison:
    """One tree and the OpenSpiel game it came from."""

    def __init__(self, tree: Any):
        import pyspiel

        self.tree, self.game = tree, tree.game.spiel_game
        kind = self.game.get_type()
        self.together = kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
        self.named = kind.provides_information_state_string
        self.perfect = kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
        self.judge = "OpenSpiel" if self.named else "induction" if self.perfect else "none"
        self.turns = pyspiel.convert_to_turn_based(self.game) if self.together else self.game
        self.forgets = not tree.has_perfect_recall
        self.scale = max(1.0, float(abs(tree.utility).max()))

    def run(self) -> dict[str, Any]:
        import counterplay as cp

        tree = self.tree
        row: dict[str, Any] = {}
        problems = self.count(row)
        policies = [cp.random_policy(tree, seed) for seed in range(3)]
        if tree.is_zero_sum:
            result = cp.solve(tree, cp.algorithms.CFRPlus(), iterations=ITERATIONS)
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
                if self.forgets and ours.nash_conv > theirs:  # our responder remembers more
                    row["remembering"] = max(row.get("remembering", 0.0), gap)
                else:
                    worst["nash_conv"] = max(worst["nash_conv"], gap)
        row |= {"judge": self.judge, "worst": worst}
        problems += [
            f"{what} differ by {gap:.1e}" for what, gap in worst.items() if gap > TOLERANCE
        ]
        row["status"] = "differs" if problems else "pass"
        if problems:
            row["reason"] = "; ".join(problems) + self.explain(policies[0])
        return row

    def count(self, row: dict[str, Any]) -> list[str]:
        """Compare the counts; what differs, in words."""
        from counterplay.core.game import CHANCE

        nodes = terminals = chance = 0
        infosets = set()
        began = time.perf_counter()
        stack = [self.turns.new_initial_state()]
        while stack:
            state = stack.pop()
            nodes += 1
            if state.is_terminal():
                terminals += 1
                state.returns()
                continue
            if state.is_chance_node():
                chance += 1
            elif self.named:
                infosets.add((state.current_player(), state.information_state_string()))
            stack += [state.child(action) for action in state.legal_actions()]
        row["their_nodes_per_second"] = round(nodes / (time.perf_counter() - began))
        tree = self.tree
        pairs = {
            "nodes": (tree.num_nodes, nodes),
            "terminals": (tree.num_terminals, terminals),
            "chance nodes": (int((tree.player == CHANCE).sum()), chance),
        }
        if self.named:
            pairs["infosets"] = (tree.num_infosets, len(infosets))
        return [f"{a} {what}, not {b}" for what, (a, b) in pairs.items() if a != b]

    def values(self, policy: Any) -> list[float]:
        import pyspiel

        import counterplay as cp

        if not self.named:
            return self.python_values(policy)
        table = cp.interop.to_pyspiel_policy(policy, turn_based=self.together)
        return pyspiel.expected_returns(self.turns.new_initial_state(), table, -1, True)

    def python_values(self, policy: Any) -> list[float]:
        from open_spiel.python.algorithms import expected_game_score

        import counterplay as cp

        theirs = [cp.interop.to_python_policy(policy)] * self.tree.num_players
        return list(expected_game_score.policy_value(self.turns.new_initial_state(), theirs))

    def explain(self, policy: Any) -> str:
        """Whether OpenSpiel's own two ways to compute a value disagree."""
        first, second = self.values(policy), self.python_values(policy)
        gap = max(abs(a - b) for a, b in zip(first, second, strict=True))
        if gap <= TOLERANCE * self.scale:
            return ""
        return (
            f"; so do OpenSpiel's expected_returns, which adds up rewards ({first[0]:.6g}), and "
            f"its policy_value, which takes the returns ({second[0]:.6g}), as here"
        )

    def nash_conv(self, policy: Any, values: list[float]) -> float | None:
        import pyspiel
        from open_spiel.python.algorithms import exploitability

        import counterplay as cp

        if self.named:
            table = cp.interop.to_pyspiel_policy(policy, turn_based=self.together)
            try:
                return pyspiel.nash_conv(self.turns, table)
            except pyspiel.SpielError as error:
                if "ToString() not distinguish" not in str(error):
                    raise
            self.judge = "python"  # C++ remembers states by their strings, which are not unique
            return exploitability.nash_conv(self.turns, cp.interop.to_python_policy(policy))
        if not self.perfect:
            return None
        theirs = cp.interop.to_python_policy(policy)
        best = [
            response(self.game.new_initial_state(), theirs, player)
            for player in range(self.tree.num_players)
        ]
        return sum(max(b - v, 0.0) for b, v in zip(best, values, strict=True))


def response(state: Any, policy: Any, player: int) -> float:
    """What `player` earns by backward induction, the others following the policy."""
    if state.is_terminal():
        return state.returns()[player]
    if state.is_chance_node():
        return sum(p * response(state.child(a), policy, player) for a, p in state.chance_outcomes())
    if not state.is_simultaneous_node():
        values = {a: response(state.child(a), policy, player) for a in state.legal_actions()}
        if state.current_player() == player:
            return max(values.values())
        odds = policy.action_probabilities(state)
        return sum(odds[a] * value for a, value in values.items())
    everyone = range(state.num_players())
    odds = [policy.action_probabilities(state, p) for p in everyone]
    total: dict[int, float] = {}
    for joint in product(*odds):
        weight = 1.0
        for p in everyone:
            weight *= odds[p][joint[p]] if p != player else 1.0
        after = state.clone()
        after.apply_actions(list(joint))
        mine = joint[player]
        total[mine] = total.get(mine, 0.0) + weight * response(after, policy, player)
    return max(total.values())


JUDGES = {
    "OpenSpiel": "its C++ best response",
    "induction": "backward induction",
    "none": "values only",
    "python": "its Python best response",
}


def write_table() -> None:
    wanted = set(settings())  # a setting that was dropped from the list leaves the table too
    rows = [row for row in known().values() if row["game"] in wanted or "(" not in row["game"]]
    rows.sort(key=lambda row: row["game"])
    groups = {
        status: [row for row in rows if row["status"] == status]
        for status in ("pass", "differs", "refused", "large", "failed")
    }
    import pyspiel

    solved = [row for row in groups["pass"] if "cfr_plus" in row]
    counts = {status: len(found) for status, found in groups.items()}
    text = [
        "# OpenSpiel's games here",
        "",
        f"Written by `python benchmarks/openspiel_sweep.py` (OpenSpiel {pyspiel.__version__}); its",
        "docstring says what is compared and how. Every registered game that loads without",
        "parameters is tried, and small settings of many (`benchmarks/openspiel_settings.txt`).",
        "",
        f"{len(rows)} games and settings: {counts['pass']} pass, {counts['differs']} differ,",
        f"{counts['refused']} are refused, {counts['large']} have more than {MOST_NODES:,} nodes,",
        f"{counts['failed']} fail. {len(solved)} that pass are zero-sum and were solved with",
        f"{ITERATIONS:,} iterations of CFR+.",
        "",
    ]
    text += ["## Pass", ""]
    text += [
        "| game | players | nodes | infosets | NashConv by | worst difference | exploitability: "
        "uniform, CFR+ |",
        "|" + "---|" * 7,
    ]
    for row in groups["pass"]:
        text.append(pass_line(row))
    for status, head in (
        ("differs", "Differ"),
        ("refused", "Refused"),
        ("large", f"More than {MOST_NODES:,} nodes"),
        ("failed", "Fail"),
    ):
        if groups[status]:
            text += ["", f"## {head}", "", "| game | why |", "|---|---|"]
            text += [f"| {cell(row['game'])} | {plain(row['reason'])} |" for row in groups[status]]
    TABLE.write_text("\n".join(text) + "\n")


def pass_line(row: dict[str, Any]) -> str:
    worst = max(row["worst"].values())
    solved = f"{row['uniform']:.3g}, {row['cfr_plus']:.1e}" if "cfr_plus" in row else "not zero-sum"
    gap = row.get("remembering", 0.0)
    remembering = f", which forgets: up to {gap:.1e} less" if gap > TOLERANCE else ""
    forgets = "" if row["perfect_recall"] else " (players forget)"
    cells = [
        cell(row["game"]) + forgets,
        str(row["players"]),
        f"{row['nodes']:,}",
        f"{row['infosets']:,}",
        JUDGES[row["judge"]] + remembering,
        f"{worst:.0e}",
        solved,
    ]
    return f"| {' | '.join(cells)} |"


def cell(name: str) -> str:
    return f"`{plain(name)}`"


def plain(text: str) -> str:
    """One line for a cell; of what a tree would take, the estimate of nodes is enough."""
    about = re.search(r"has about (\S+) nodes", text)
    if about:
        huge = float(about[1].replace(",", "")) > 1e98  # estimates stop at 1e100
        return "more than 1e+98 nodes" if huge else f"about {about[1]} nodes"
    return " ".join(text.replace("|", "/").split())[:240]


if __name__ == "__main__":
    sys.setrecursionlimit(100_000)
    main()
