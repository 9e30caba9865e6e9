"""Functions of test units, imported by the processes that run them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from counterplay.distributed.units import ResultCollector, run_unit, source_digest
from counterplay.errors import ConfigError


def square(number):
    print("a line that must not come between results")  # noqa: T201
    return number * number, os.getpid()


def kill_at_first_call(place, number):
    """Ends its process by a signal the first time."""
    mark = Path(place) / str(number)
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def kill_always():
    os.kill(os.getpid(), signal.SIGKILL)


def wrong(number):
    if number % 2:
        raise ConfigError(f"number is {number}, must be even")
    return number


def broken():
    raise ZeroDivisionError("by us")


def threads():
    from counterplay.kernels.runtime.threads import num_threads

    return num_threads()


class InProcessExecutor:
    """An executor that does units one after the other in this process."""

    size = 1

    def map(self, units, report=None, stop=None):
        collector = ResultCollector(len(units), report)
        for number, unit in enumerate(units):
            if collector.has_failed or (stop and stop()):
                break
            collector.add(number, run_unit(unit, source_digest()))
        return collector.unwrap()


def deep_walks(game, count):
    """Contents of the reservoirs of Deep CFR on rules after some walks for each player."""
    import jax

    import counterplay as cp
    from counterplay.algorithms.deep.common.tree_or_rules import env_from_arena
    from counterplay.algorithms.deep.regret.rules_sampler import RulesSampler

    arena = cp.RulesArena(cp.load_game(game))
    choices = (
        f"reservoir_size=300,num_traversals={count},hidden_sizes=(8,),average_hidden_sizes=(8,)"
    )
    algorithm = cp.load_algorithm(f"deep_cfr({choices})")
    state = algorithm.init(arena, 5).state
    sampler = RulesSampler(algorithm, env_from_arena(arena), state.sampler)
    for player in range(2):
        sampler.collect_external(state.nets.params, player, 1.0, jax.random.PRNGKey(player))
    return jax.tree.leaves(sampler.arrays)
