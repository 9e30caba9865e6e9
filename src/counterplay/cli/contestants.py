"""Contestants by what a person calls them: `uniform`, a searcher, an algorithm, a policy file."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from counterplay.cli.progress import Bar, build
from counterplay.errors import ConfigError, suggestion
from counterplay.game import Game
from counterplay.registry import ALGORITHMS, SEARCHERS, load_algorithm, load_searcher, spec_of

if TYPE_CHECKING:
    from counterplay.playing import Contestant
    from counterplay.search.searching import SearchPolicy
    from counterplay.tree import Tree

UNIFORM = "uniform"
PATIENCE = 2.0  # seconds that alpha-beta without limits may think
MOST_STATES = 3_000_000  # that a searcher which looks at everything may look at


class Contestants:
    """Makes contestants for a game; its tree is built once, when the first of them needs it.

    `sampled` does without it where it can: policy files are read as they are.
    """

    def __init__(self, game: Game, iterations: int | None = None, sampled: bool = False):
        self.game, self.iterations, self.sampled = game, iterations, sampled

    @cached_property
    def tree(self) -> Tree:
        return build(self.game)

    def named(self, *specs: str) -> list[Contestant]:
        """The contestants of those names, once all of them and --iterations make sense."""
        kinds = [self._kind(spec) for spec in specs]
        if self.iterations and ALGORITHMS not in kinds:
            raise ConfigError(
                f"{' and '.join(specs)} cannot use iterations; leave out --iterations"
            )
        return [self._make(spec, kind) for spec, kind in zip(specs, kinds, strict=True)]

    def _kind(self, spec: str) -> Any:
        name = _name(spec)
        for kind in (SEARCHERS, ALGORITHMS):
            if name in kind:
                return kind
        from counterplay.experiment.stored import split_source

        if spec == UNIFORM or split_source(spec)[0].exists():
            return None
        near, known = suggestion(name, [UNIFORM, *SEARCHERS, *ALGORITHMS]), ", ".join(SEARCHERS)
        more = "counterplay algorithms lists more"
        raise ConfigError(f"unknown opponent {name!r}{near} (no file; searchers: {known}; {more})")

    def _make(self, spec: str, kind: Any) -> Contestant:
        from counterplay.sampled import SampledPolicy

        if kind is SEARCHERS:
            return self._searcher(load_searcher(spec))
        if kind is ALGORITHMS:
            return self._solved(load_algorithm(spec))
        return SampledPolicy(self.game) if spec == UNIFORM else self.stored(spec)

    def stored(self, source: str) -> Contestant:
        """The policy of a file or of a run."""
        from counterplay.experiment.stored import (
            input_file,
            load_policies,
            split_source,
            stored_spec,
        )
        from counterplay.policy_files import read_rows
        from counterplay.sampled import load_sampled_policy

        place, mine = split_source(source)[0], spec_of(self.game)
        if place.is_dir():
            if stored_spec(source) != mine:
                raise ConfigError(f"{source} is a run of {stored_spec(source)}, not of {mine}")
            return next(iter(load_policies(source, build=lambda game: self.tree).values()))
        with input_file():
            read_rows(place)  # complains about a bad file before the tree is built
        if self.sampled:
            return load_sampled_policy(place, self.game)
        return next(iter(load_policies(place, mine, build=lambda game: self.tree).values()))

    def _solved(self, method: Any) -> Contestant:
        from counterplay.solving import solve

        iterations = self.iterations or 1000
        with Bar("solving", "it", total=iterations) as bar:
            result = solve(self.tree, method, iterations=iterations, tick=bar.update)
        print(f"The opponent's exploitability is {result.exploitability:.2e}.", file=sys.stderr)
        return result.policy

    def _searcher(self, searcher: Any) -> SearchPolicy:
        """The searcher as a person wants to meet it: quick, and not blind."""
        from counterplay.search.alpha_beta import AlphaBeta
        from counterplay.search.evaluation import suited
        from counterplay.search.expectiminimax import Expectiminimax
        from counterplay.search.minimax import Minimax
        from counterplay.search.searching import SearchPolicy
        from counterplay.tree.estimating import estimate_size

        found = SearchPolicy(self.game, suited(self.game, searcher))
        if isinstance(searcher, (Minimax, Expectiminimax)) and not searcher.depth:
            states = estimate_size(self.game, seconds=0.2).num_nodes
            if states > MOST_STATES:
                name = spec_of(searcher)
                raise ConfigError(
                    f"{name} would look at about {states:.0e} states; give it a depth, as in "
                    f"'{name}(depth=4)', or take alpha_beta"
                )
        if isinstance(searcher, AlphaBeta) and not searcher.depth and not searcher.seconds:
            found = replace(found, searcher=replace(found.searcher, seconds=PATIENCE))
        return found


def searches(spec: str) -> bool:
    """Whether the name is that of a searcher."""
    return _name(spec) in SEARCHERS


def _name(spec: str) -> str:
    return spec.split("(")[0].strip()
