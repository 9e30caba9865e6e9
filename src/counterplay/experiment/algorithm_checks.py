"""Relations that every algorithm must fulfil, checked on small games."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterplay.arenas.tree.build import build_tree
from counterplay.core.arena import Floats
from counterplay.core.evaluation import exploitability
from counterplay.core.policy import uniform_policy
from counterplay.core.state_io import flatten_memory, restore_memory
from counterplay.errors import CounterplayError
from counterplay.registry import load_game

GAME = "kuhn_poker"
ITERATIONS = 1000
CAPABILITIES = ("sequences", "vectors", "tree", "episodes", "rules")  # of arenas
HALF = 20  # iterations before a run is saved and restored
TARGET_SHARE = 0.25  # of uniform play's exploitability


@dataclass(frozen=True)
class CheckResult:
    """The outcome of one check of an algorithm."""

    name: str
    holds: bool
    detail: str


def check_algorithm(algorithm: Any, iterations: int = ITERATIONS) -> Iterator[CheckResult]:
    """Check an algorithm on Kuhn poker, relation by relation.

    Args:
        algorithm: an instance of the class.
        iterations: iterations of the check of convergence.

    Yields:
        The results: protocol, policies, same seed, batches, restored memory, convergence.
    """
    tree = build_tree(load_game(GAME))
    problem = _protocol_problem(algorithm)
    yield CheckResult("protocol", not problem, problem or "has runs_on, init, step and policies")
    if problem:
        return
    checks: dict[str, Callable[[Any, Any, int], tuple[bool, str]]] = {
        "policies": _check_policies,
        "same seed, same bits": _check_same_seed,
        "any split into steps": _check_batches,
        "restored memory": _check_restored,
        "convergence": _check_convergence,
    }
    for name, check in checks.items():
        try:
            holds, detail = check(algorithm, tree, iterations)
        except CounterplayError as error:
            holds, detail = False, str(error)
        except Exception as error:  # of the user's code
            holds, detail = False, f"{type(error).__name__}: {error}"
        yield CheckResult(name, holds, detail)


def _protocol_problem(algorithm: Any) -> str:
    for name in ("init", "step", "policies"):
        if not callable(getattr(algorithm, name, None)):
            return f"it has no method {name}"
    runs_on = getattr(algorithm, "runs_on", None)
    if not isinstance(runs_on, tuple) or not set(runs_on) & set(CAPABILITIES):
        return f"runs_on must be a tuple with one of {', '.join(CAPABILITIES)}, not {runs_on!r}"
    return ""


def _policy_after(algorithm: Any, tree: Any, *steps: int, seed: int = 0) -> dict[str, Floats]:
    memory = algorithm.init(tree, seed=seed)
    for count in steps:
        memory = algorithm.step(tree, memory, count)
    return _tables(algorithm, tree, memory)


def _tables(algorithm: Any, tree: Any, memory: Any) -> dict[str, Floats]:
    policies = algorithm.policies(tree, memory)
    return {name: np.array(policy.probabilities) for name, policy in policies.items()}


def _differences(first: dict[str, Floats], second: dict[str, Floats]) -> str:
    """Return the names of the policies that differ in any bit."""
    names = [name for name in first if not np.array_equal(first[name], second[name])]
    return ", ".join(names)


def _check_policies(algorithm: Any, tree: Any, iterations: int) -> tuple[bool, str]:
    memory = algorithm.step(tree, algorithm.init(tree), 3)
    for name in ("iteration", "finished"):
        if not hasattr(memory, name):
            return False, f"its memory has no attribute {name}"
    if int(memory.iteration) != 3 and not memory.finished:
        return False, f"after step(3) its memory is at iteration {memory.iteration}"
    tables = _tables(algorithm, tree, memory)
    is_named = bool(tables) and all(isinstance(name, str) for name in tables)
    return is_named, f"returns {', '.join(map(str, tables))}" if tables else "returns no policy"


def _check_same_seed(algorithm: Any, tree: Any, iterations: int) -> tuple[bool, str]:
    first, second = (_policy_after(algorithm, tree, HALF, seed=7) for _ in range(2))
    names = _differences(first, second)
    return not names, f"two runs of seed 7 differ in {names}" if names else "two runs are equal"


def _check_batches(algorithm: Any, tree: Any, iterations: int) -> tuple[bool, str]:
    whole = _policy_after(algorithm, tree, HALF, seed=7)
    split = _policy_after(algorithm, tree, 1, HALF - 3, 2, seed=7)
    names = _differences(whole, split)
    problem = f"step({HALF}) and step(1), step({HALF - 3}), step(2) differ in {names}"
    return not names, problem if names else f"step({HALF}) equals smaller steps"


def _check_restored(algorithm: Any, tree: Any, iterations: int) -> tuple[bool, str]:
    memory = algorithm.step(tree, algorithm.init(tree, seed=7), HALF)
    leaves = flatten_memory(memory)
    leaves = replace(leaves, arrays={key: np.array(a) for key, a in leaves.arrays.items()})
    straight = _tables(algorithm, tree, algorithm.step(tree, memory, HALF))
    restored = restore_memory(algorithm.init(tree, seed=7), leaves)
    resumed = _tables(algorithm, tree, algorithm.step(tree, restored, HALF))
    names = _differences(straight, resumed)
    problem = f"a resumed run differs in {names}: the memory does not hold the whole state"
    return not names, problem if names else "a resumed run equals an uninterrupted one"


def _check_convergence(algorithm: Any, tree: Any, iterations: int) -> tuple[bool, str]:
    memory = algorithm.step(tree, algorithm.init(tree), iterations)
    policy = next(iter(algorithm.policies(tree, memory).values()))
    value, uniform = exploitability(tree, policy), exploitability(tree, uniform_policy(tree))
    detail = f"exploitability {value:.2g} after {iterations:,} iterations"
    return value < TARGET_SHARE * uniform, detail
