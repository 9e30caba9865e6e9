"""Contestants by what a person calls them: `uniform`, a searcher, an algorithm, a policy file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from counterplay.core.game import Game
from counterplay.errors import ConfigError, suggestion
from counterplay.registry import ALGORITHMS, SEARCHERS, get_spec, load_algorithm, load_searcher

if TYPE_CHECKING:
    from counterplay.arenas.tree.arena import TreeArena
    from counterplay.core.solve import Algorithm, Result
    from counterplay.play.match import Agent
    from counterplay.search.searcher import SearchAgent

UNIFORM_NAME = "uniform"
ALPHA_BETA_SECONDS = 2.0  # seconds that alpha-beta without limits may think
MAX_SEARCH_STATES = 3_000_000  # that a searcher which looks at everything may look at


class AgentLoader:
    """Makes contestants for a game; its tree is built once, when the first of them needs it.

    Args:
        iterations: for which algorithms solve the game; by default 1000.
        rules_only: do without the tree where that is possible: policy files are read as they are.
        build: makes the tree, for example with a progress bar.
        solve: runs an algorithm for some iterations, for example with a progress bar.
    """

    def __init__(
        self,
        game: Game,
        iterations: int | None = None,
        rules_only: bool = False,
        build: Callable[[Game], TreeArena] | None = None,
        solve: Callable[[TreeArena, Algorithm, int], Result] | None = None,
    ):
        self.game, self.iterations, self.rules_only = game, iterations, rules_only
        self._build, self._solve = build or _build, solve or _solve

    @cached_property
    def tree(self) -> TreeArena:
        return self._build(self.game)

    def load_agents(self, *specs: str) -> list[Agent]:
        """The contestants of those names, once all of them and --iterations make sense."""
        kinds = [self._find_registry(spec) for spec in specs]
        if self.iterations and ALGORITHMS not in kinds:
            raise ConfigError(
                f"{' and '.join(specs)} cannot use iterations; leave out --iterations"
            )
        return [self._build_agent(spec, kind) for spec, kind in zip(specs, kinds, strict=True)]

    def _find_registry(self, spec: str) -> Any:
        name = _base_name(spec)
        for kind in (SEARCHERS, ALGORITHMS):
            if name in kind:
                return kind
        from counterplay.experiment.saved_policies import split_source

        if spec == UNIFORM_NAME or split_source(spec)[0].exists():
            return None
        near, known = (
            suggestion(name, [UNIFORM_NAME, *SEARCHERS, *ALGORITHMS]),
            ", ".join(SEARCHERS),
        )
        more = "counterplay algorithms lists more"
        raise ConfigError(f"unknown opponent {name!r}{near} (no file; searchers: {known}; {more})")

    def _build_agent(self, spec: str, registry: Any) -> Agent:
        from counterplay.arenas.rules import TabularPolicy

        if registry is SEARCHERS:
            return self._build_searcher(load_searcher(spec))
        if registry is ALGORITHMS:
            return self._solve_agent(load_algorithm(spec))
        return TabularPolicy(self.game) if spec == UNIFORM_NAME else self.load_saved_policy(spec)

    def load_saved_policy(self, source: str) -> Agent:
        """The policy of a file or of a run."""
        from counterplay.arenas.rules import load_tabular_policy
        from counterplay.core.policy_io import read_policy_rows
        from counterplay.experiment.saved_policies import (
            game_spec_from_source,
            input_file,
            load_policies,
            split_source,
        )

        place, mine = split_source(source)[0], get_spec(self.game)
        if place.is_dir():
            if game_spec_from_source(source) != mine:
                raise ConfigError(
                    f"{source} is a run of {game_spec_from_source(source)}, not of {mine}"
                )
            return next(iter(load_policies(source, build=lambda game: self.tree).values()))
        with input_file():
            read_policy_rows(place)  # complains about a bad file before the tree is built
        if self.rules_only:
            return load_tabular_policy(place, self.game)
        return next(iter(load_policies(place, mine, build=lambda game: self.tree).values()))

    def _solve_agent(self, algorithm: Any) -> Agent:
        return self._solve(self.tree, algorithm, self.iterations or 1000).policy

    def _build_searcher(self, searcher: Any) -> SearchAgent:
        """The searcher as a person wants to meet it: quick, and not blind."""
        from counterplay.arenas.tree.size_estimate import estimate_size
        from counterplay.search.alpha_beta import AlphaBeta
        from counterplay.search.evaluation_functions import adapt_searcher
        from counterplay.search.expectiminimax import Expectiminimax
        from counterplay.search.minimax import Minimax
        from counterplay.search.searcher import SearchAgent

        found = SearchAgent(self.game, adapt_searcher(self.game, searcher))
        if isinstance(searcher, (Minimax, Expectiminimax)) and not searcher.max_depth:
            states = estimate_size(self.game, seconds=0.2).num_nodes
            if states > MAX_SEARCH_STATES:
                name = get_spec(searcher)
                raise ConfigError(
                    f"{name} would look at about {states:.0e} states; give it a depth, as in "
                    f"'{name}(max_depth=4)', or take alpha_beta"
                )
        if isinstance(searcher, AlphaBeta) and not searcher.max_depth and not searcher.max_seconds:
            found = replace(found, searcher=replace(found.searcher, max_seconds=ALPHA_BETA_SECONDS))
        return found


def is_searcher(spec: str) -> bool:
    """Whether the name is that of a searcher."""
    return _base_name(spec) in SEARCHERS


def _build(game: Game) -> TreeArena:
    from counterplay.arenas.tree.build import build_tree

    return build_tree(game)


def _solve(tree: TreeArena, algorithm: Algorithm, iterations: int) -> Result:
    from counterplay.core.solve import solve

    return solve(tree, algorithm, iterations=iterations)


def _base_name(spec: str) -> str:
    return spec.split("(")[0].strip()
