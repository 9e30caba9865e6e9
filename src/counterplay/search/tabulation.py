"""Agents as policies: ask an agent at every infoset of a tree, and judge it exactly."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterplay.arenas.public_states import public_states
from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.replay import first_infoset_states
from counterplay.core.arena import Floats
from counterplay.core.evaluation import exploitability
from counterplay.core.policy import Policy
from counterplay.core.random import seed_stream
from counterplay.errors import ConfigError, TimeLimitWarning
from counterplay.search.belief_tabulation import average_policies


@dataclass(frozen=True)
class TabulatedAgent:
    """The policy of an agent, and the time that its decisions took."""

    policy: Policy  # the mean over seeds
    num_decisions: int  # infosets times seeds
    seconds: float  # for all decisions
    exploitabilities: tuple[float, ...]  # of the policy of each seed
    first_seconds: float = 0.0  # for the first decision, which may compile programs

    @property
    def seconds_per_decision(self) -> float:
        """Mean seconds of a decision, without the first one if there are more."""
        if self.num_decisions < 2 or not self.first_seconds:
            return self.seconds / max(1, self.num_decisions)
        return (self.seconds - self.first_seconds) / (self.num_decisions - 1)

    @property
    def standard_error(self) -> float:
        """Standard error of the mean exploitability of a seed; 0 for one seed."""
        count = len(self.exploitabilities)
        if count < 2:
            return 0.0
        return float(np.std(self.exploitabilities, ddof=1) / np.sqrt(count))


def tabulate_agent(
    tree: TreeArena,
    agent: Any,
    *,
    seed: int = 0,
    num_seeds: int = 1,
    progress: Callable[[int], None] | None = None,
) -> TabulatedAgent:
    """Ask an agent for its action probabilities at every infoset of a tree.

    An agent with `for_episode(seed)` gets a seed for every public state, which depends on `seed`
    and the public state alone. An agent with `on_tree(tree)` is asked as the agent that this
    returns: it draws consistent states from the tree in place of simulating the rules. An agent
    with `sample_policies(count, seed)` returns the policies of whole episodes at once, and the
    policy is the mean of their realization plans.

    Args:
        tree: the tree of the agent's game.
        agent: anything with `action_probabilities(state, player)`.
        seed: seed of all random numbers.
        num_seeds: how many times to ask; the policy is the mean, as an agent plays that draws a new
            seed in every episode.
        progress: called with the number of decisions so far.

    Raises:
        ConfigError: the agent does not answer with probabilities.

    Example:
        >>> import counterplay as cp
        >>> tree = cp.build_tree("kuhn_poker")
        >>> agent = cp.search.Resolving(iterations=100).make_agent(tree, cp.uniform_policy(tree))
        >>> cp.search.tabulate_agent(tree, agent).num_decisions
        12
    """
    if num_seeds < 1:
        raise ConfigError(f"num_seeds is {num_seeds}, must be at least 1")
    states, game_states = public_states(tree), first_infoset_states(tree)
    order = np.argsort(states.infoset_state, kind="stable").tolist()
    if hasattr(agent, "sample_policies"):
        return _tabulate_policies(tree, agent, seed, num_seeds)
    if hasattr(agent, "on_tree"):
        agent = agent.on_tree(tree)
    mean, values, times = np.zeros(tree.num_sequences), [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # many infosets are never reached
        warnings.simplefilter("default", TimeLimitWarning)
        for repeat in range(num_seeds):
            probabilities = np.zeros(tree.num_sequences)
            seated: Any = None
            last_state = -1
            for infoset in order:
                public_state = int(states.infoset_state[infoset])
                if public_state != last_state:
                    seated, last_state = _seat(agent, seed, repeat, public_state), public_state
                player = int(tree.infoset_player[infoset])
                start = time.perf_counter()
                row = seated.action_probabilities(game_states[infoset], player)
                times.append(time.perf_counter() - start)
                first, last = tree.offset[infoset : infoset + 2]
                _check_row(row, int(last - first), tree.infoset_keys[infoset])
                probabilities[first:last] = row
                if progress:
                    progress(len(times))
            values.append(exploitability(tree, Policy(tree, probabilities)))
            mean += probabilities / num_seeds
    return TabulatedAgent(Policy(tree, mean), len(times), sum(times), tuple(values), times[0])


def _tabulate_policies(tree: TreeArena, agent: Any, seed: int, num_seeds: int) -> TabulatedAgent:
    """Tabulate an agent whose random draws at the beginning of an episode concern all of it."""
    start = time.perf_counter()
    policies = agent.sample_policies(num_seeds, seed)
    seconds = time.perf_counter() - start
    values = tuple(exploitability(tree, Policy(tree, row)) for row in policies)
    policy = average_policies(tree, policies)
    return TabulatedAgent(policy, num_seeds * tree.num_infosets, seconds, values)


def _seat(agent: Any, seed: int, repeat: int, state: int) -> Any:
    """Return the agent for a public state, seeded by it."""
    if not hasattr(agent, "for_episode"):
        return agent
    stream = [0]
    seed_stream(seed, repeat, state, stream)
    return agent.for_episode(stream[0] >> 11)


def _check_row(row: Floats | list[float], count: int, key: str) -> None:
    if len(row) != count or abs(sum(row) - 1.0) > 1e-6 or min(row) < 0.0:
        raise ConfigError(f"the agent answers {list(row)} at {key!r}, not {count} probabilities")
