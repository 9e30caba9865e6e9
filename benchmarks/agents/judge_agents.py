"""Judge the heads-up no-limit agent: local best response, matches with AIVAT, time per decision.

    python -m benchmarks.agents.judge_agents lbr AGENT SETTING DEALS [--blueprint RUN] [--log FILE]
    python -m benchmarks.agents.judge_agents match AGENT AGENT DEALS [--blueprint RUN] [--log FILE]

AGENT is `blueprint` or `search`, with parameters of the agent as in `search:turn_iterations=30`;
SETTING is one of `PUBLISHED_SETTINGS` of local best response. Every deal is played in both seats.
With `--log`, an interrupted measurement goes on where it ended. Winnings are in thousandths of a
big blind per hand (mbb); the second agent's are the negative of the first's.
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
from counterplay.kernels.runtime.threads import set_num_threads
from counterplay.play.local_best_response import PUBLISHED_SETTINGS, LocalBestResponse
from counterplay.play.poker.hunl import HoldemAgent, HoldemAgentConfig, load_blueprint
from counterplay.play.poker.range_match import RangeMatch, RangeMatchResult

GAME = "no_limit_holdem(stack=20000)"
MBB = 10.0  # per chip: the big blind is 100 chips
BLUEPRINT_ONLY = 4  # as `search_street`


class TimedAgent:
    """An agent that records the clock and CPU seconds of its decisions."""

    def __init__(self, agent: HoldemAgent):
        self.agent, self.seconds, self.cpu_seconds = agent, list[float](), list[float]()

    def hand_policy(self, state: Any, player: int) -> Any:
        """Return the agent's policy for all hands."""
        start, cpu = time.perf_counter(), time.process_time()
        policy = self.agent.hand_policy(state, player)
        self.seconds.append(time.perf_counter() - start)
        self.cpu_seconds.append(time.process_time() - cpu)
        return policy

    def action_probabilities(self, state: Any, player: int) -> Any:
        """Return the agent's action probabilities."""
        return self.agent.action_probabilities(state, player)


def make_agent(text: str, blueprint: str) -> TimedAgent:
    """Return the agent of a word such as `search:turn_iterations=30`."""
    kind, _, settings = text.partition(":")
    values: dict[str, Any] = {"blueprint": blueprint}
    if kind == "blueprint":
        values["search_street"] = BLUEPRINT_ONLY
    for part in filter(None, settings.split("/")):
        name, _, value = part.partition("=")
        values[name] = json.loads(value) if value.replace(".", "").isdigit() else value
    game: Any = cp.load_game(GAME)
    config = HoldemAgentConfig(**values)
    return TimedAgent(HoldemAgent(game, load_blueprint(blueprint), config))


def facts(result: RangeMatchResult, agents: list[TimedAgent], cpu: float) -> dict[str, Any]:
    """Return a result as a JSON object."""
    row: dict[str, Any] = {"deals": result.num_deals}
    for name in ("plain", "averaged", "aivat"):
        part = getattr(result, name)
        row[name] = [round(MBB * x, 1) for x in (part.mean, part.margin, part.deviation)]
    row["cpu_seconds"] = round(cpu, 1)
    seconds = np.array([s for agent in agents for s in agent.seconds])
    if len(seconds):
        row["decisions"] = len(seconds)
        row["slowest_percent"] = round(float(np.quantile(seconds, 0.99)), 3)
    return row


def main() -> None:
    """Run one measurement and print it as JSON."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("task", choices=("lbr", "match"))
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("deals", type=int)
    parser.add_argument("--blueprint", default="runs/hunl")
    parser.add_argument("--log", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    set_num_threads(args.threads)
    game: Any = cp.load_game(GAME)
    first = make_agent(args.first, args.blueprint)
    agents = [first]
    opponent: Any
    if args.task == "lbr":
        opponent = LocalBestResponse(game, first, PUBLISHED_SETTINGS[args.second])
    else:
        opponent = make_agent(args.second, args.blueprint)
        agents.append(opponent)
    start = time.process_time()
    match = RangeMatch(game, [first, opponent], args.seed, args.log)
    for number in match.play(args.deals):
        if number % 50 == 49:
            print(
                json.dumps(facts(match.result(), agents, time.process_time() - start)), flush=True
            )
    row = facts(match.result(), agents, time.process_time() - start)
    print(json.dumps({"task": args.task, "agents": [args.first, args.second], **row}))


if __name__ == "__main__":
    main()
