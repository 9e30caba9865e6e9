"""What units of the tests do; their processes import this."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from counterplay.distributed.units import run_unit, source_digest, unwrap_results
from counterplay.errors import ConfigError


def square(number):
    print("a line that must not come between results")  # noqa: T201
    return number * number, os.getpid()


def killed_at_first(place, number):
    """Ends its process by a signal the first time."""
    mark = Path(place) / str(number)
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def deadly():
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


class Here:
    """An executor that does units one after the other in this process."""

    size = 1

    def map(self, units, report=None, stop=None):
        results = [None] * len(units)
        for number, unit in enumerate(units):
            if stop and stop():
                break
            (results[number],) = unwrap_results([run_unit(unit, source_digest())])
            if report:
                report(number, results[number])
        return results


def deep_walks(game, count):
    """What the reservoirs of Deep CFR on rules hold after so many walks for each player."""
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
