"""Iterations of the Monte Carlo family on compiled rules.

Each kernel has the name of its counterpart on trees in `traversals` or `episodes`, and one argument
more: kernel(begin, end, max_new_entries, *arguments), where the arguments end with `game`, `table`
and `scratch`. It returns the first iteration that did not complete: `end`, or an earlier one if
the tables are too small or the rules failed.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from counterplay.kernels.runtime.jit import no_alloc_kernel
from counterplay.kernels.sampling import episodes, traversals
from counterplay.kernels.sampling.lazy_nodes import has_failed, prepare_iteration

run_iterations: Any = None  # replaced by `_run_on_compiled_rules`


def _loop(begin, end, max_new_entries, *arguments):
    nodes = arguments[-3].nodes
    for t in range(begin, end):
        if not prepare_iteration(nodes, max_new_entries):
            return t
        run_iterations(t, t + 1, *arguments)
        if has_failed(nodes):
            return t
    return end


def _run_on_compiled_rules(kernel: Any) -> Any:
    """Compile `_loop` around a kernel, which becomes its global `run_iterations`.

    It is not a closure: numba's cache on disk knows a function by its file and qualified name, but
    a closure over a kernel also by an identifier that changes with every process.
    """
    variables = {**globals(), "run_iterations": kernel}
    function = FunctionType(_loop.__code__, variables, kernel.__name__)
    function.__qualname__ = kernel.__name__
    return no_alloc_kernel(function, inline=False)


chance_sampling = _run_on_compiled_rules(traversals.chance_sampling)
matching_chance_sampling = _run_on_compiled_rules(traversals.matching_chance_sampling)
external_sampling = _run_on_compiled_rules(traversals.external_sampling)
external_sampling_by_infoset = _run_on_compiled_rules(traversals.external_sampling_by_infoset)
average_sampling = _run_on_compiled_rules(traversals.average_sampling)
average_sampling_with_probes = _run_on_compiled_rules(traversals.average_sampling_with_probes)
outcome_sampling = _run_on_compiled_rules(episodes.outcome_sampling)
lazy_outcome_sampling = _run_on_compiled_rules(episodes.lazy_outcome_sampling)
probing = _run_on_compiled_rules(episodes.probing)
online_sampling = _run_on_compiled_rules(episodes.online_sampling)
