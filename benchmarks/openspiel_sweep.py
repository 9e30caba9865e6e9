"""Every OpenSpiel game that unrolls to at most 300,000 nodes, compared with OpenSpiel itself.

    python benchmarks/openspiel_sweep.py              # goes on where it stopped; hours if from scratch
    python benchmarks/openspiel_sweep.py --table      # docs/openspiel.md from what is there

Each game runs in a process of its own, with a limit of time and memory, and leaves one line in
`benchmarks/openspiel_sweep.jsonl`. What is compared:

- nodes, chance nodes, terminals and infosets, counted by a walk over OpenSpiel's own states;
- every player's value under three random policies (and CFR+'s result), by OpenSpiel's functions;
- NashConv of the same policies. Where OpenSpiel has information states, by its C++ best response;
  in games of perfect information that have none, by backward induction over OpenSpiel's states.

Simultaneous games are compared with OpenSpiel's turn-based form. Differences count from 1e-9 of the
game's largest utility (or of 1).
"""

from __future__ import annotations

import argparse
import json
import os
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
TABLE = HERE.parent / "docs" / "openspiel.md"

SETTINGS = """
amazons(board_size=3) bargaining(max_turns=2,max_num_instances=3)
battleship(board_width=2,board_height=2,ship_sizes=[1],ship_values=[1],num_shots=2)
battleship(board_width=2,board_height=1,ship_sizes=[1],ship_values=[1],num_shots=2,allow_repeated_shots=False)
blotto(coins=5,fields=2) blotto(coins=4,fields=3,players=3)
breakthrough(rows=3,columns=3) breakthrough(rows=4,columns=2) catch(rows=4,columns=3)
checkers(rows=4,columns=4) chinese_checkers(max_moves=4) cliff_walking(height=2,width=3,horizon=6)
clobber(rows=3,columns=3) clobber(rows=2,columns=5)
coin_game(rows=2,columns=2,num_coins_per_color=1,num_extra_coin_colors=0,episode_length=2)
connect_four(rows=3,columns=3,x_in_row=3) connect_four(rows=2,columns=4,x_in_row=2)
coop_box_pushing(horizon=2) coop_box_pushing(horizon=2,fully_observable=True)
coop_to_1p(game=tiny_hanabi()) cursor_go(board_size=2,max_cursor_moves=1)
dark_hex(board_size=2) dark_hex(board_size=2,gameversion=adh) dark_hex(num_rows=2,num_cols=3)
dark_hex_ir(board_size=2) deep_sea(size=3) deep_sea(size=8)
dots_and_boxes(num_rows=1,num_cols=1) dots_and_boxes(num_rows=1,num_cols=2)
dots_and_boxes(num_rows=1,num_cols=2,utility_margin=True)
first_sealed_auction(max_value=4) first_sealed_auction(max_value=4,players=3)
go(board_size=2,max_game_length=6) gomoku(size=3,connect=3)
goofspiel(num_cards=3) goofspiel(num_cards=3,imp_info=True) goofspiel(num_cards=4)
goofspiel(num_cards=4,imp_info=True) goofspiel(num_cards=3,players=3,imp_info=True)
goofspiel(num_cards=4,points_order=descending,imp_info=True)
goofspiel(num_cards=5,points_order=descending,imp_info=True)
goofspiel(num_cards=4,imp_info=True,returns_type=total_points)
goofspiel(num_cards=4,imp_info=True,egocentric=True)
hex(board_size=2) hex(board_size=3) hex(num_rows=2,num_cols=3,swap=True)
hanabi(players=2,colors=1,ranks=2,hand_size=1,max_information_tokens=1,max_life_tokens=1)
kuhn_poker(players=3) kuhn_poker(players=4) kuhn_poker(players=5)
leduc_poker(suit_isomorphism=True) leduc_poker(players=3,suit_isomorphism=True)
leduc_poker(action_mapping=True)
lewis_signaling(num_states=2,num_messages=2,payoffs=1;0;0;1)
liars_dice(dice_sides=2) liars_dice(dice_sides=3) liars_dice(dice_sides=4) liars_dice(dice_sides=5)
liars_dice(dice_sides=2,numdice=2) liars_dice(dice_sides=3,players=3)
liars_dice(dice_sides=3,bidding_rule=reset-quantity)
liars_dice_ir(dice_sides=3) liars_dice_ir(dice_sides=4,recall_length=1)
markov_soccer(horizon=3) laser_tag(horizon=2) capture_the_flag(horizon=2)
misere(game=kuhn_poker()) misere(game=tic_tac_toe()) mnk(m=3,n=3,k=3) mnk(m=3,n=2,k=2)
nim(pile_sizes=1;2;3) nim(pile_sizes=2;2;2,is_misere=False) nim(pile_sizes=1;3;5)
normal_form_extensive_game(game=kuhn_poker())
oh_hell(players=3,num_suits=1,num_cards_per_suit=4) oh_hell(players=3,num_suits=2,num_cards_per_suit=2)
oshi_zumo(coins=3,size=1,horizon=4) oshi_zumo(coins=4,size=1,horizon=4,min_bid=1)
oshi_zumo(coins=5,size=2,horizon=3,alesia=True,min_bid=1)
othello() oware(num_houses_per_player=2,num_seeds_per_house=1)
pathfinding(horizon=4) pathfinding(horizon=2,players=2,grid=A.B
b.a
) phantom_go(board_size=2,max_game_length=5) pig(winscore=4,horizon=6) pig(winscore=3,diceoutcomes=3,players=3,horizon=6)
pig(winscore=6,horizon=8,piglet=True)
python_iterated_prisoners_dilemma(max_game_length=4) python_liars_poker(hand_length=1,num_digits=3)
python_liars_poker(hand_length=2,num_digits=2) python_dynamic_routing(max_num_time_step=3,players=2)
quoridor(board_size=2) quoridor(board_size=3,wall_count=1)
repeated_game(stage_game=matrix_pd(),num_repetitions=3)
repeated_game(stage_game=matrix_rps(),num_repetitions=2) repeated_game(stage_game=matching_pennies_3p(),num_repetitions=2)
repeated_leduc_poker(num_hands=1) restricted_nash_response(game=leduc_poker(),p=0.25)
restricted_nash_response(game=kuhn_poker(),fixed_player=1)
sheriff(max_items=2,max_bribe=2,num_rounds=1) sheriff(max_items=2,max_bribe=2,num_rounds=2)
sheriff(max_items=3,max_bribe=3,num_rounds=2)
snake(rows=2,columns=2,horizon=2) social_deduction(players=3,max_rounds=1)
start_at(game=leduc_poker(),history=0;1;1) tiny_bridge_2p(abstracted=True)
tiny_hanabi(num_players=3,num_chance=2,num_actions=2,payoff=0;1;2;3;4;5;6;7;7;6;5;4;3;2;1;0;0;1;2;3;4;5;6;7;7;6;5;4;3;2;1;0;0;1;2;3;4;5;6;7;7;6;5;4;3;2;1;0;0;1;2;3;4;5;6;7;7;6;5;4;3;2;1;0)
trade_comm(num_items=2) trade_comm(num_items=3) trade_comm(num_items=4)
turn_based_simultaneous_game(game=goofspiel(num_cards=3,imp_info=True))
turn_based_simultaneous_game(game=matrix_rps()) twixt(board_size=5) y(board_size=2) y(board_size=3)
universal_poker(numRanks=3,numSuits=1,numRounds=1,numBoardCards=0,betting=limit,raiseSize=1,maxRaises=1,blind=1\\ 1,firstPlayer=1,stack=5\\ 5)
yacht(num_dice=1,dice_sides=2,players=1,rolls_per_turn=1) zerosum(game=matrix_pd())
zerosum(game=tiny_hanabi()) add_noise(game=kuhn_poker(),epsilon=0.5,seed=1) cached_tree(game=leduc_poker())
havannah(board_size=2) dark_chess(board_size=4) kriegspiel(board_size=4) backgammon(max_player_turns=1,hyper_backgammon=True)
crazy_eights(players=2,max_turns=1) gin_rummy(num_ranks=3,num_suits=2,hand_size=2) go_fish(ranks=2,suits=2,initial_cards=1)
"""


def settings() -> list[str]:
    """The small settings above: words split where no bracket is open."""
    names, depth, word = [], 0, ""
    for letter in SETTINGS.replace("\\ ", "\0"):
        depth += (letter == "(") - (letter == ")")
        if letter.isspace() and not depth:
            names += [word.replace("\0", " ")] if word else []
            word = ""
        else:
            word += letter
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("--one", help="compare one game and print the result as JSON")
    parser.add_argument("--table", action="store_true", help="only write the table")
    parser.add_argument("--again", nargs="*", default=[], help="games to compare once more")
    options = parser.parse_args()
    if options.one:
        print("\n" + json.dumps(compare(options.one)))
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
    limit = GIBIBYTES * 2**30
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--one", name],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
            env={**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
        )
    except subprocess.TimeoutExpired:
        return {"game": name, "status": "failed", "reason": f"not done after {SECONDS} seconds"}
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        return json.loads(lines[-1])
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    reason = f"the process ended with code {done.returncode}: {last[:200]}"
    return {"game": name, "status": "failed", "reason": reason}


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
        "zero_sum": tree.zero_sum,
        "perfect_recall": tree.perfect_recall,
        "nodes_per_second": round(tree.num_nodes / built),
    }
    return row | Comparison(tree).run()


class Comparison:
    """One tree and the OpenSpiel game it came from."""

    def __init__(self, tree: Any):
        import pyspiel

        self.tree, self.game = tree, tree.game.rules
        kind = self.game.get_type()
        self.together = kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
        self.named = kind.provides_information_state_string
        self.perfect = kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
        self.turns = pyspiel.convert_to_turn_based(self.game) if self.together else self.game
        self.scale = max(1.0, float(abs(tree.utility).max()))

    def run(self) -> dict[str, Any]:
        import counterplay as cp

        tree = self.tree
        row: dict[str, Any] = {}
        problems = self.count(row)
        policies = [cp.random_policy(tree, seed) for seed in range(3)]
        if tree.zero_sum:
            result = cp.solve(tree, cp.CFRPlus(), iterations=ITERATIONS)
            row["uniform"] = cp.exploitability(tree, cp.uniform_policy(tree))
            row["cfr_plus"] = result.exploitability
            policies.append(result.policy)
        row["judge"] = self.judge_name()
        worst = {"values": 0.0, "nash_conv": 0.0}
        for policy in policies:
            ours = cp.judge(tree, policy)
            values = self.values(policy)
            gap = max(abs(a - b) for a, b in zip(ours.values, values, strict=True))
            worst["values"] = max(worst["values"], gap / self.scale)
            theirs = self.nash_conv(policy, values)
            if theirs is not None:
                worst["nash_conv"] = max(
                    worst["nash_conv"], abs(ours.nash_conv - theirs) / self.scale
                )
        row["worst"] = worst
        problems += [
            f"{what} differ by {gap:.1e}" for what, gap in worst.items() if gap > TOLERANCE
        ]
        row["status"] = "differs" if problems else "pass"
        if problems:
            row["reason"] = "; ".join(problems)
        return row

    def judge_name(self) -> str:
        if self.named:
            return "OpenSpiel"
        return "induction" if self.perfect else "none"

    def count(self, row: dict[str, Any]) -> list[str]:
        """Compare the counts; what differs, in words."""
        from counterplay.game import CHANCE

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
        from open_spiel.python.algorithms import expected_game_score

        import counterplay as cp

        if self.named:
            table = cp.to_pyspiel_policy(policy, turn_based=self.together)
            return pyspiel.expected_returns(self.turns.new_initial_state(), table, -1, True)
        theirs = [cp.to_python_policy(policy)] * self.tree.num_players
        state = self.turns.new_initial_state()
        return list(expected_game_score.policy_value(state, theirs))

    def nash_conv(self, policy: Any, values: list[float]) -> float | None:
        import pyspiel

        import counterplay as cp

        if self.named:
            table = cp.to_pyspiel_policy(policy, turn_based=self.together)
            return pyspiel.nash_conv(self.turns, table)
        if not self.perfect:
            return None
        theirs = cp.to_python_policy(policy)
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
}


def write_table() -> None:
    rows = sorted(known().values(), key=lambda row: row["game"])
    groups = {
        status: [row for row in rows if row["status"] == status]
        for status in ("pass", "differs", "refused", "large", "failed")
    }
    import pyspiel

    solved = [row for row in groups["pass"] if "cfr_plus" in row]
    rates = sorted(row["nodes_per_second"] for row in groups["pass"] if row["nodes"] > 20_000)
    text = [
        "# OpenSpiel's games here",
        "",
        f"Written by `python benchmarks/openspiel_sweep.py` (OpenSpiel {pyspiel.__version__}); its",
        "docstring says what is compared and how. Every registered game that loads without parameters is",
        "tried, and small settings of many.",
        "",
        f"{len(rows)} games and settings: {len(groups['pass'])} pass, {len(groups['differs'])} differ, "
        f"{len(groups['refused'])} are refused, {len(groups['large'])} have more than "
        f"{MOST_NODES:,} nodes, {len(groups['failed'])} fail. {len(solved)} zero-sum ones were solved",
        f"with {ITERATIONS:,} iterations of CFR+.",
        "",
    ]
    if rates:
        text += [
            f"Of those with more than 20,000 nodes, the median tree was built at {rates[len(rates) // 2]:,}",
            f"nodes a second, the slowest at {rates[0]:,}; the walk that only counts OpenSpiel's states is",
            "in the column beside it.",
            "",
        ]
    text += ["## Pass", ""]
    text += [
        "| game | players | nodes | infosets | NashConv by | worst difference | exploitability: "
        "uniform, CFR+ | nodes/s | OpenSpiel's walk |",
        "|" + "---|" * 9,
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
    forgets = "" if row["perfect_recall"] else " (players forget)"
    cells = [
        cell(row["game"]) + forgets,
        str(row["players"]),
        f"{row['nodes']:,}",
        f"{row['infosets']:,}",
        JUDGES[row["judge"]],
        f"{worst:.0e}",
        solved,
        f"{row['nodes_per_second']:,}",
        f"{row['their_nodes_per_second']:,}",
    ]
    return f"| {' | '.join(cells)} |"


def cell(name: str) -> str:
    return f"`{plain(name)}`"


def plain(text: str) -> str:
    return " ".join(text.replace("|", "/").split())[:240]


if __name__ == "__main__":
    sys.setrecursionlimit(100_000)
    main()
