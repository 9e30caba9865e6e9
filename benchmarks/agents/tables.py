"""Agents at tables of three and more: a base, experts, matches, responses, search.

    python -m benchmarks.agents.tables train NAME BUCKETS ITERATIONS [--part P --base B]
    python -m benchmarks.agents.tables stitch NAME BASE EXPERT...
    python -m benchmarks.agents.tables match DEALS AGENT AGENT [AGENT...]
    python -m benchmarks.agents.tables gains NAME ITERATIONS DEALS
    python -m benchmarks.agents.tables search NAME DEALS

Agents are kept in the folder `--store`; training saves NAME (the average profile), NAME@current.
`--game` is the game of trainings; by default small three-player limit hold'em, with one raise a
street. `gains` trains a response for each seat against the others, on the buckets of the agent, and
plays both in that seat: what the response earns more is a lower bound on the seat's gain. `search`
plays the agent with search on the river against itself without. Winnings are in thousandths of a
big blind per hand (mbb), with 95 % intervals. Every deal is played in all seatings.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import counterplay as cp
from benchmarks.timing import first_paragraph
from counterplay.abstraction.betting_policy import BettingPolicy, load_betting_policy, stitch
from counterplay.play.match import Estimate, Match
from counterplay.play.poker.blueprint_search import BlueprintSearch, BlueprintSearchAgent
from counterplay.play.poker.table_match import TableMatch
from counterplay.registry import load_abstracted_game, load_game

GAME = "poker(players=3,blinds=(5,10,0),opens=(2,0,0,0),raise_caps=(1,1,1,1))"
NUM_BINS = 50
NUM_PERIODS = 50  # of linear weights, in a training


def train(
    store: Path,
    name: str,
    num_buckets: int,
    iterations: int,
    game: Any,
    part: str = "",
    base: str = "",
    **settings: Any,
) -> dict[str, Any]:
    """Train a blueprint or an expert, save its profiles, and return what it took."""
    rule = f"by_equity(num_buckets={num_buckets},num_bins={NUM_BINS},perfect_recall=false)"
    arena = cp.RulesArena(load_abstracted_game(game, rule))
    algorithm = cp.load_algorithm(
        "external_sampling",
        dense_tables=True,
        linear_period=max(iterations // NUM_PERIODS, 1),
        part=part,
        outside=str(agent_file(store, base)) if part else "",
        **settings,
    )
    memory = algorithm.init(arena, 0)
    algorithm.step(arena, memory, 1)  # loads buckets and compiles
    start = time.process_time()
    memory = algorithm.step(arena, memory, iterations - 1)
    seconds = time.process_time() - start
    for profile, policy in algorithm.policies(arena, memory).items():
        policy.save(agent_file(store, name if profile == "average" else f"{name}@{profile}"))
    facts = {"entries": memory.regret.size, "nodes": memory.nodes_touched}
    return {**facts, "cpu_seconds": round(seconds, 1)}


def agent_file(store: Path, name: str) -> Path:
    """Return the file of an agent."""
    return store / f"{name}.npz"


def load_agent(store: Path, name: str) -> BettingPolicy:
    """Return an agent that was saved."""
    return load_betting_policy(agent_file(store, name))


def interval(score: Any, game: Any) -> list[float]:
    """Return a mean and half its interval in mbb."""
    assert isinstance(score, Estimate)
    mbb = 1000.0 / max(game.blinds)
    return [round(mbb * score.mean, 2), round(mbb * (score.high - score.low) / 2, 2)]


def match(store: Path, num_deals: int, names: list[str]) -> dict[str, Any]:
    """Play a match and return the winnings of each agent."""
    agents = [load_agent(store, name) for name in names]
    table = TableMatch(agents[0].tables.game, agents)
    start = time.process_time()
    for _ in table.play(num_deals * len(table.seatings)):
        pass
    seconds = round(time.process_time() - start, 1)
    return {**winnings(table, names), "cpu_seconds": seconds}


def winnings(table: Match, names: list[str]) -> dict[str, Any]:
    """Return the winnings of each agent of a match, over all seats and by seat."""
    result, rows = table.result(), {}
    for name, score, seats in zip(names, result.scores, result.seat_scores, strict=True):
        by_seat = [interval(seat, table.game) for seat in seats]
        rows[name] = {"all": interval(score, table.game), "seats": by_seat}
    return {"hands": result.num_episodes, "winnings": rows}


class TimedSearch:
    """An agent that searches, and records the CPU seconds of decisions that took a search."""

    def __init__(self, agent: BlueprintSearchAgent):
        self.agent, self.seconds = agent, list[float]()

    def action_probabilities(self, state: Any, player: int) -> list[float]:
        """Return the agent's action probabilities."""
        start, before = time.process_time(), self.agent.num_searches
        row = self.agent.action_probabilities(state, player)
        if self.agent.num_searches > before:
            self.seconds.append(time.process_time() - start)
        return row


def search(store: Path, name: str, num_deals: int) -> dict[str, Any]:
    """Play an agent with search on the river against itself without search."""
    agent = load_agent(store, name)
    config = BlueprintSearch(blueprint=str(agent_file(store, name)), max_seconds=60.0)
    timed = TimedSearch(BlueprintSearchAgent(agent.tables.game, agent, config))
    table = Match(agent.tables.game, [timed, agent])
    for _ in table.play(num_deals * len(table.seatings)):
        pass
    times = np.quantile(timed.seconds, [0.5, 0.99]).round(3).tolist()
    facts = {"searches": len(timed.seconds), "median_and_99_percent_seconds": times}
    return {**winnings(table, ["search", name]), **facts}


def gains(store: Path, name: str, iterations: int, num_deals: int) -> dict[str, Any]:
    """Return, for each seat, what a trained response earns more than the agent in that seat."""
    agent = load_agent(store, name)
    buckets = agent.game.abstraction.num_buckets
    rows = []
    for seat in range(agent.num_players):
        response = f"{name}-response{seat}"
        game = agent.tables.game
        train(store, response, buckets, iterations, game, f"seat {seat}", name)
        table = TableMatch(agent.tables.game, [load_agent(store, response), agent])
        for _ in table.play(num_deals * len(table.seatings)):
            pass
        row = table.result().seat_scores[0][seat]
        own = TableMatch(agent.tables.game, [agent])
        for _ in own.play(num_deals):
            pass
        before = own.result().seat_scores[0][seat]
        error = float((row.standard_error**2 + before.standard_error**2) ** 0.5)  # type: ignore[union-attr]
        mbb = 1000.0 / max(agent.tables.game.blinds)
        rows.append([round(mbb * (row.mean - before.mean), 2), round(mbb * 1.96 * error, 2)])
    return {"gains": rows}


def main() -> None:
    """Run one task and print its result as JSON."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--store", type=Path, default=Path("runs/tables"))
    parser.add_argument("--game", default=GAME)
    tasks = parser.add_subparsers(dest="task", required=True)
    training = tasks.add_parser("train")
    training.add_argument("name")
    training.add_argument("buckets", type=int)
    training.add_argument("iterations", type=int)
    training.add_argument("--part", default="")
    training.add_argument("--base", default="")
    training.add_argument("--settings", type=json.loads, default={})
    stitching = tasks.add_parser("stitch")
    stitching.add_argument("name")
    stitching.add_argument("base")
    stitching.add_argument("experts", nargs="+")
    matching = tasks.add_parser("match")
    matching.add_argument("deals", type=int)
    matching.add_argument("agents", nargs="+")
    gaining = tasks.add_parser("gains")
    gaining.add_argument("name")
    gaining.add_argument("iterations", type=int)
    gaining.add_argument("deals", type=int)
    searching = tasks.add_parser("search")
    searching.add_argument("name")
    searching.add_argument("deals", type=int)
    args = parser.parse_args()
    args.store.mkdir(parents=True, exist_ok=True)
    row: dict[str, Any] = {}
    if args.task == "train":
        game, part = load_game(args.game), (args.part, args.base)
        sizes = args.buckets, args.iterations
        row = train(args.store, args.name, *sizes, game, *part, **args.settings)
    elif args.task == "stitch":
        experts = [load_agent(args.store, expert) for expert in args.experts]
        policy = stitch(load_agent(args.store, args.base), *experts)
        policy.save(agent_file(args.store, args.name))
    elif args.task == "match":
        row = match(args.store, args.deals, args.agents)
    elif args.task == "search":
        row = search(args.store, args.name, args.deals)
    else:
        row = gains(args.store, args.name, args.iterations, args.deals)
    facts = {key: value for key, value in vars(args).items() if key != "store"}
    print(json.dumps({**facts, **row}), flush=True)


if __name__ == "__main__":
    main()
