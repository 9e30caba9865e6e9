"""Networks against tables with buckets in heads-up limit hold'em, for equal CPU time.

    python -m benchmarks.holdem.limit_networks train deep_cfr --folder FOLDER --seconds 120
    python -m benchmarks.holdem.limit_networks train buckets --folder FOLDER --seconds 120
    python -m benchmarks.holdem.limit_networks match deep_cfr --folder FOLDER --deals 1000
    python -m benchmarks.holdem.limit_networks respond deep_cfr --folder FOLDER --deals 200
    python -m benchmarks.holdem.limit_networks table

`train` takes a method of `flop_methods` with the published observations up to suits, or `buckets`:
external sampling with `--buckets` buckets of equity histograms on each street. The seconds do not
count compilation (init and the first step) and the buckets, which are kept in the user's cache
folder. `match` plays a method against the table, every deal in both seats, by AIVAT over the hands
that both could hold; `respond` plays local best response (fold, call and raise) against a method or
the table, by AIVAT over the agent's hands. Memories and deals are kept in the folder, and
interrupted commands continue. Rows go to `benchmarks/results/limit_networks.jsonl`, in place of
those with the same settings and opponent.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import counterplay as cp
from benchmarks.holdem.flop_methods import METHODS, load_method
from benchmarks.memory_files import read_memory, write_memory
from benchmarks.result_files import load_rows, replace_row
from benchmarks.timing import Stopwatch, first_paragraph, format_head, format_row, peak_memory_mib
from counterplay.play.local_best_response import LocalBestResponse, LocalResponseConfig
from counterplay.play.poker.range_match import RangeMatch, RangeMatchResult
from counterplay.registry import load_abstracted_game

FAMILY = "limit_networks"
GAME = "limit_holdem"
BUCKETS = "buckets"
OPPONENTS = {"match": BUCKETS, "respond": "local best response"}
NUM_BINS = 50  # of the equity histograms
ENCODING = "cards_up_to_suits"
MBB = 1000.0  # per big blind
SECONDS_PER_CHECKPOINT = 60.0
EXTERNAL_SAMPLING_STEPS = 20_000  # at a time; a step of a network is one iteration
KEY = "method", "seed", "budget", "num_buckets", "opponent"


@dataclass(frozen=True)
class Setting:
    """Settings that all agents of a comparison share."""

    folder: Path  # of memories and deals
    game: str
    seed: int
    max_seconds: float  # CPU seconds of a training
    num_buckets: int  # of the table

    def file_stem(self, name: str) -> str:
        """Return the beginning of the names of an agent's files."""
        return f"{name}_{self.seed}_{self.max_seconds:g}_{self.num_buckets}"

    def memory_file(self, name: str) -> Path:
        """Return the file of a memory; a file beside it has the seconds so far."""
        return self.folder / f"{self.file_stem(name)}.npz"

    def load_method(self, name: str) -> tuple[Any, Any, int]:
        """Return an algorithm, the rules it learns on, and its iterations at a time."""
        game = cp.load_game(self.game)
        if name != BUCKETS:
            return load_method(name, ENCODING), cp.RulesArena(game), 1
        sizes = f"num_buckets={self.num_buckets},num_bins={NUM_BINS}"
        rules = cp.RulesArena(
            load_abstracted_game(game, f"by_equity({sizes},perfect_recall=false)")
        )
        method = cp.load_algorithm("external_sampling", dense_tables=True, linear_period=100_000)
        return method, rules, EXTERNAL_SAMPLING_STEPS


def train(setting: Setting, name: str) -> dict[str, Any]:
    """Train for some CPU seconds, or go on from the folder, and return what it took."""
    method, rules, steps = setting.load_method(name)
    path, max_seconds = setting.memory_file(name), setting.max_seconds
    notes = path.with_suffix(".json")
    watch = Stopwatch()
    memory = method.init(rules, setting.seed)
    if path.exists():
        memory = read_memory(path, memory)
        watch.cpu_seconds = json.loads(notes.read_text())["cpu_seconds"]
    else:
        memory = method.step(rules, memory, 1)  # compiles
    saved = watch.cpu_seconds
    while watch.cpu_seconds < max_seconds:
        with watch:
            memory = method.step(rules, memory, steps)
        if watch.cpu_seconds >= min(saved + SECONDS_PER_CHECKPOINT, max_seconds):
            saved = watch.cpu_seconds
            write_memory(path, memory)
            notes.write_text(json.dumps({"cpu_seconds": saved}))
    return {
        "method": name, "seed": setting.seed, "budget": max_seconds,
        "num_buckets": setting.num_buckets, "opponent": None, "iteration": memory.iteration,
        "nodes": int(memory.nodes_touched), "cpu_seconds": round(watch.cpu_seconds, 1),
        "peak_mib": round(peak_memory_mib()),
    }  # fmt: skip


def load_agent(setting: Setting, name: str) -> Any:
    """Return the policy of a finished training: the first, which has the guarantee."""
    method, rules, _ = setting.load_method(name)
    path = setting.memory_file(name)
    if not path.exists():
        raise SystemExit(f"{path} is missing: train {name} first, with the same settings")
    memory = read_memory(path, method.init(rules, setting.seed))
    return next(iter(method.policies(rules, memory).values()))


def play(game: str, agents: list[Any], num_deals: int, log: Path) -> RangeMatchResult:
    """Play a match, or go on with the match of the log."""
    match = RangeMatch(cp.load_game(game), agents, log=log)
    for number in match.play(num_deals):
        if number % 50 == 49:
            print(number + 1, "deals", asdict(match.result().aivat), flush=True)
    return match.result()


def facts(result: RangeMatchResult, big_blind: int) -> dict[str, Any]:
    """Return the first agent's winnings in mbb a hand, with half a 95 % interval."""
    row: dict[str, Any] = {"deals": result.num_deals}
    for name in ("plain", "averaged", "aivat"):
        part = getattr(result, name)
        row[name] = [round(MBB / big_blind * x, 1) for x in (part.mean, part.margin)]
    return row


def play_and_store(setting: Setting, name: str, task: str, num_deals: int) -> None:
    """Play a method against the table with buckets, or local best response against a method."""
    game: Any = cp.load_game(setting.game)
    agent, opponent = load_agent(setting, name), OPPONENTS[task]
    other: Any = LocalBestResponse(game, agent, LocalResponseConfig())
    if opponent == BUCKETS:
        other = load_agent(setting, BUCKETS)
    log = setting.folder / f"{task}_{setting.file_stem(name)}.jsonl"
    with Stopwatch() as watch:
        result = play(setting.game, [agent, other], num_deals, log)
    row = {
        "method": name, "seed": setting.seed, "budget": setting.max_seconds,
        "num_buckets": setting.num_buckets, "opponent": opponent,
        **facts(result, max(game.blinds)), "cpu_seconds": round(watch.cpu_seconds, 1),
    }  # fmt: skip
    replace_row(FAMILY, row, KEY)
    print(row)


def print_table() -> None:
    """Print the stored rows."""
    columns = [
        "method",
        "seed",
        "CPU s of training",
        "opponent",
        "deals",
        "AIVAT, mbb",
        "plain, mbb",
    ]
    print(format_head(columns))
    for row in load_rows(FAMILY):
        if row["opponent"] is None:
            continue
        winnings = [f"{mean:+.0f} ± {margin:.0f}" for mean, margin in (row["aivat"], row["plain"])]
        cells = [row["method"], row["seed"], row["budget"], row["opponent"], row["deals"]]
        print(format_row([*cells, *winnings]))


def main() -> None:
    """Train, play, or print what is stored."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("command", choices=("train", "match", "respond", "table"))
    parser.add_argument("method", nargs="?", choices=(BUCKETS, *METHODS))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--game", default=GAME)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=120.0, help="CPU seconds of training")
    parser.add_argument("--buckets", type=int, default=50, help="of the table, on each street")
    parser.add_argument("--deals", type=int, default=1000)
    args = parser.parse_args()
    if args.command == "table":
        print_table()
        return
    if args.folder is None or args.method is None:
        parser.error(f"{args.command} needs a method and --folder")
    setting = Setting(args.folder, args.game, args.seed, args.seconds, args.buckets)
    if args.command == "train":
        row = train(setting, args.method)
        replace_row(FAMILY, row, KEY)
        print(row)
    else:
        play_and_store(setting, args.method, args.command, args.deals)


if __name__ == "__main__":
    main()
