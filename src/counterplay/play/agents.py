"""Agents by name: `uniform`, a searcher, a search agent, an algorithm, a policy file or a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from counterplay.core.game import Game, full_game
from counterplay.errors import ConfigError, suggestion
from counterplay.registry import (
    ALGORITHMS,
    SEARCH_AGENTS,
    SEARCHERS,
    get_spec,
    load_algorithm,
    load_search_agent,
    load_searcher,
)

if TYPE_CHECKING:
    from counterplay.arenas.tree.arena import TreeArena
    from counterplay.core.solve import AnyAlgorithm, Result
    from counterplay.play.episodes import Agent
    from counterplay.search.searcher import SearchAgent, Searcher

UNIFORM_NAME = "uniform"
ALPHA_BETA_SECONDS = 2.0  # limit per action of an alpha-beta searcher without limits
MAX_SEARCH_STATES = 3_000_000  # of a searcher that visits the whole game


class AgentLoader:
    """Loads agents for a game; the tree is built once, when the first agent needs it.

    Args:
        game: the rules; of a game with an abstraction, the full game is played.
        iterations: iterations of algorithms that solve the game; by default as in `solve`.
        rules_only: whether policy files are read without building the tree.
        build: builds the tree, for example with a progress bar.
        solve: runs an algorithm for some iterations, for example with a progress bar.
    """

    def __init__(
        self,
        game: Game,
        iterations: int | None = None,
        rules_only: bool = False,
        build: Callable[[Game], TreeArena] | None = None,
        solve: Callable[[TreeArena, AnyAlgorithm, int], Result] | None = None,
    ):
        self.game, self.iterations, self.rules_only = full_game(game), iterations, rules_only
        self._build, self._solve = build or _build, solve or _solve

    @cached_property
    def tree(self) -> TreeArena:
        return self._build(self.game)

    def load_agents(self, *specs: str) -> list[Agent]:
        """Return the agents of these names, after all names and `iterations` are checked.

        Raises:
            ConfigError: a name is unknown, or `iterations` is set and no agent is an algorithm.
        """
        registries = [self._find_registry(spec) for spec in specs]
        if self.iterations and ALGORITHMS not in registries:
            raise ConfigError(
                f"{' and '.join(specs)} cannot use iterations; leave out --iterations"
            )
        return [
            self._build_agent(spec, registry)
            for spec, registry in zip(specs, registries, strict=True)
        ]

    def _find_registry(self, spec: str) -> dict[str, str] | None:
        """Return the registry that has the name; None for `uniform` and for files."""
        name = _base_name(spec)
        for registry in (SEARCHERS, SEARCH_AGENTS, ALGORITHMS):
            if name in registry:
                return registry
        from counterplay.experiment.saved_policies import split_source

        if spec == UNIFORM_NAME or split_source(spec)[0].exists():
            return None
        near = suggestion(name, [UNIFORM_NAME, *SEARCHERS, *SEARCH_AGENTS, *ALGORITHMS])
        known = ", ".join((*SEARCHERS, *SEARCH_AGENTS))
        more = "counterplay algorithms lists more"
        raise ConfigError(f"unknown agent {name!r}{near} (no file; searchers: {known}; {more})")

    def _build_agent(self, spec: str, registry: dict[str, str] | None) -> Agent:
        from counterplay.arenas.rules import TabularPolicy

        if registry is SEARCHERS:
            return self._build_searcher(load_searcher(spec))
        if registry is SEARCH_AGENTS:
            return self._build_search_agent(load_search_agent(spec))
        if registry is ALGORITHMS:
            return self._solve_agent(load_algorithm(spec))
        return TabularPolicy(self.game) if spec == UNIFORM_NAME else self.load_saved_policy(spec)

    def load_saved_policy(self, source: str) -> Agent:
        """Return the policy of a file or of a run, such as `run_folder:average`."""
        from counterplay.abstraction.betting_policy import (
            BETTING_POLICY_FORMAT,
            load_betting_policy,
        )
        from counterplay.arenas.rules import load_tabular_policy
        from counterplay.core.archive import read_format_name
        from counterplay.core.policy_io import read_policy_rows
        from counterplay.experiment.saved_policies import (
            game_spec_from_source,
            input_file,
            load_policies,
            split_source,
        )

        path, spec = split_source(source)[0], get_spec(self.game)
        if path.is_dir():
            run_spec = game_spec_from_source(source)
            if run_spec != spec:
                raise ConfigError(f"{source} is a run of {run_spec}, not of {spec}")
            return next(iter(load_policies(source, build=lambda game: self.tree).values()))
        if read_format_name(path) == BETTING_POLICY_FORMAT:
            game: Any = self.game
            return load_betting_policy(path, game)
        with input_file():
            read_policy_rows(path)  # reports a damaged file before the tree is built
        if self.rules_only:
            return load_tabular_policy(path, self.game)
        return next(iter(load_policies(path, spec, build=lambda game: self.tree).values()))

    def _solve_agent(self, algorithm: AnyAlgorithm) -> Agent:
        from counterplay.core.solve import default_iterations

        iterations = self.iterations or default_iterations(algorithm)
        policy: Agent = self._solve(self.tree, algorithm, iterations).policy
        return policy

    def _build_search_agent(self, settings: Any) -> Agent:
        """Return an agent for hidden information, with its blueprint if it needs one."""
        if settings.needs == "rules":
            agent: Agent = settings.make_agent(self.game)
            return agent
        if settings.needs == "value network":
            return self._build_belief_search(settings)
        name = settings.blueprint
        if hasattr(settings, "make_holdem_agent") and is_large_holdem(self.game):
            return self._build_holdem_search(settings)
        if hasattr(settings, "check_tree"):
            settings.check_tree(self.tree)
        if _base_name(name) in ALGORITHMS:
            algorithm = load_algorithm(name)
            blueprint = self._solve(self.tree, algorithm, settings.blueprint_iterations).policy
        elif name == UNIFORM_NAME:
            from counterplay.core.policy import uniform_policy

            blueprint = uniform_policy(self.tree)
        else:
            from counterplay.experiment.saved_policies import load_policies

            check_blueprint_exists(name)
            policies = load_policies(name, get_spec(self.game), build=lambda game: self.tree)
            blueprint = next(iter(policies.values()))
            if not hasattr(blueprint, "probabilities"):
                blueprint = blueprint.tabulate(self.tree)
        made: Agent = settings.make_agent(self.tree, blueprint)
        return made

    def _build_holdem_search(self, settings: Any) -> Agent:
        """Return an agent that solves subgames of a hold'em game as vectors over hands."""
        import numpy as np

        from counterplay.arenas.holdem.base import HoldemPolicy
        from counterplay.arenas.holdem.game_arena import HoldemGameArena, load_holdem_policy
        from counterplay.experiment.saved_policies import input_file

        settings.check_holdem()
        name = settings.blueprint
        game: Any = self.game
        arena: Any
        blueprint: Any
        if _base_name(name) in ALGORITHMS:
            algorithm, arena = load_algorithm(name), HoldemGameArena(game)
            blueprint = self._solve(arena, algorithm, settings.blueprint_iterations).policy
        elif name == UNIFORM_NAME:
            arena = HoldemGameArena(game)
            blueprint = HoldemPolicy(arena, np.zeros(arena.num_sequences), np.zeros(0))
        else:
            check_blueprint_exists(name)
            with input_file():
                blueprint = load_holdem_policy(name)
            if blueprint.arena.spec != get_spec(game):
                raise ConfigError(
                    f"{name} is a policy of {blueprint.arena.spec}, not {get_spec(game)}"
                )
        made: Agent = settings.make_holdem_agent(blueprint.arena, blueprint)
        return made

    def _build_belief_search(self, settings: Any) -> Agent:
        """Return an agent with a value network, trained now or by a run."""
        algorithm: Any
        if _base_name(settings.network) in ALGORITHMS:
            algorithm = load_algorithm(settings.network)
            self._check_value_network(algorithm, settings.network)
            iterations = settings.network_iterations
            memory = self._solve(self.tree, algorithm, iterations).memory
        else:
            from counterplay.experiment.runner import open_run
            from counterplay.experiment.saved_policies import game_spec_from_source, split_source

            folder, spec = split_source(settings.network)[0], get_spec(self.game)
            if not folder.is_dir():
                advice = "a run of rebel, or rebel itself"
                raise ConfigError(f"network is {settings.network!r}, must be {advice}")
            if (run_spec := game_spec_from_source(settings.network)) != spec:
                raise ConfigError(f"{settings.network} is a run of {run_spec}, not of {spec}")
            run = open_run(folder, build=lambda game: self.tree)
            algorithm, memory = run.config.algorithm, run.session.memory
            self._check_value_network(algorithm, settings.network)
        network = algorithm.value_network(self.tree, memory)
        made: Agent = settings.make_agent(self.tree, network, algorithm.depth, algorithm.end_size)
        return made

    def _check_value_network(self, algorithm: Any, source: str) -> None:
        if not hasattr(algorithm, "value_network"):
            raise ConfigError(
                f"network is {source!r}, which trains no value network; take rebel or a run of it"
            )

    def _build_searcher(self, searcher: Searcher) -> SearchAgent:
        """Return an agent that searches with the game's evaluation and within bounded time."""
        from counterplay.arenas.tree.size_estimate import estimate_size
        from counterplay.search.alpha_beta import AlphaBeta
        from counterplay.search.evaluation_functions import adapt_searcher
        from counterplay.search.expectiminimax import Expectiminimax
        from counterplay.search.minimax import Minimax
        from counterplay.search.searcher import SearchAgent

        agent = SearchAgent(self.game, adapt_searcher(self.game, searcher))
        if isinstance(searcher, (Minimax, Expectiminimax)) and not searcher.max_depth:
            states = estimate_size(self.game, seconds=0.2).num_nodes
            if states > MAX_SEARCH_STATES:
                name = get_spec(searcher)
                raise ConfigError(
                    f"{name} would visit about {states:.0e} states; give it a depth, as in "
                    f"'{name}(max_depth=4)', or take alpha_beta"
                )
        if isinstance(searcher, AlphaBeta) and not searcher.max_depth and not searcher.max_seconds:
            agent = replace(agent, searcher=replace(agent.searcher, max_seconds=ALPHA_BETA_SECONDS))
        return agent


def check_blueprint_exists(source: str) -> None:
    """Raise ConfigError if a blueprint is neither a known name nor a file."""
    from counterplay.experiment.saved_policies import split_source

    if not split_source(source)[0].exists():
        advice = "an algorithm, a file of a policy, a run, or uniform"
        raise ConfigError(f"blueprint is {source!r}, must be {advice}")


def is_large_holdem(game: Any) -> bool:
    """Return True if a game is heads-up hold'em with more infosets than trees get by default."""
    from counterplay.arenas.build import MIN_INFOSETS_FOR_FACTORED
    from counterplay.arenas.holdem.game_arena import HOLDEM_GAME_FACTORY
    from counterplay.games.holdem_base import HoldemBase

    if not isinstance(game, HoldemBase) or game.num_players != 2:
        return False
    return HOLDEM_GAME_FACTORY.num_infosets(game) >= MIN_INFOSETS_FOR_FACTORED


def is_searcher(spec: str) -> bool:
    """Return True if a spec such as `mcts(max_seconds=2)` names a searcher or search agent."""
    return _base_name(spec) in SEARCHERS | SEARCH_AGENTS


def _build(game: Game) -> TreeArena:
    from counterplay.arenas.tree.build import build_tree

    return build_tree(game)


def _solve(tree: TreeArena, algorithm: AnyAlgorithm, iterations: int) -> Result:
    from counterplay.core.solve import solve

    return solve(tree, algorithm, iterations=iterations)


def _base_name(spec: str) -> str:
    return spec.split("(")[0].strip()
