"""An agent that solves the subgame in front of it, again at each of its decisions."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from counterplay.arenas.public_states import own_reach, public_states
from counterplay.arenas.subgame import METHODS, Leaves, Subgame, build_subgame
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, Ints
from counterplay.core.evaluation import check_same_game, infoset_values
from counterplay.core.game import State
from counterplay.core.policy import Policy
from counterplay.core.settings import NonNegative, NonNegativeInt, PositiveInt, settings
from counterplay.errors import ConfigError, SearchWarning, TimeLimitWarning
from counterplay.registry import load_registered_algorithm
from counterplay.search.depth_limited import continuation_leaves, leaf_states
from counterplay.search.public_ranges import range_from_reach
from counterplay.search.search_report import SearchReport

MAX_CACHED_PROBABILITIES = 10_000_000  # of all policies of an agent, 80 MB


@settings()
class Resolving:
    """Nested subgame solving, from a blueprint policy.

    At a decision the agent solves the subgame of its public state by `method` (see
    `arenas.subgame`), with the ranges and the opponent's alternative values of the policy that it
    has followed so far: its own earlier solutions on the way here, and the blueprint elsewhere.
    With `resolve`, `max_margin` or `reach_max_margin`, and to the end of the game, it is at most as
    exploitable as the blueprint, up to the errors of the solutions.

    If a time limit ends before the first iteration, the policy so far is kept.

    Hold'em games from the first card that are too large for a tree are played as vectors over
    hands; see `HoldemResolvingAgent`. There is no `depth` there.

    With a `depth` the subgame is cut that many public states below. There the opponent chooses
    among the blueprint and variants of it that are biased to each action.
    """

    blueprint: str = "cfr_plus"  # an algorithm, a policy file or "uniform"
    blueprint_iterations: PositiveInt = 100  # of the algorithm
    method: str = "resolve"
    algorithm: str = "cfr_plus"  # for subgames
    iterations: PositiveInt = 500  # per subgame
    seconds: NonNegative = 0.0  # per subgame, in place of iterations; 0: no limit
    depth: NonNegativeInt = 0  # public states ahead; 0: to the end
    needs: ClassVar[str] = "tree"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            known = ", ".join(METHODS)
            raise ConfigError(f"resolving: method is {self.method!r}, must be one of {known}")

    def check_tree(self, tree: TreeArena) -> None:
        """Raise ConfigError if the agent cannot play a game; called before solving a blueprint."""
        if tree.num_players != 2 or not tree.is_constant_sum:
            raise ConfigError(f"resolving needs a two-player zero-sum game, unlike {tree.spec}")
        load_registered_algorithm(self.algorithm)

    def check_holdem(self) -> None:
        """Raise ConfigError if the settings do not fit a hold'em game too large for a tree."""
        from counterplay.search.holdem_resolving import check_settings

        check_settings(self)

    def make_holdem_agent(self, arena: Any, blueprint: Any) -> Any:
        """Return the agent for a hold'em game from the first card; see `HoldemResolvingAgent`."""
        from counterplay.search.holdem_resolving import HoldemResolvingAgent

        return HoldemResolvingAgent(arena, blueprint, self)

    def make_agent(self, tree: TreeArena, blueprint: Policy) -> ResolvingAgent:
        """Return the agent for a two-player zero-sum tree and a blueprint of it."""
        return ResolvingAgent(tree, blueprint, self)


@dataclass(frozen=True, eq=False)
class ResolvingReport:
    """The last subgame that an agent has solved."""

    state: int  # public state
    player: int
    own_range: Floats  # [views of the state's entries] own reach, in order of the views
    opponent_range: Floats
    alternatives: Floats  # [views] of the opponent
    is_uniform: bool  # whether ranges are uniform because the policy never comes here
    sequences: Ints  # the player's sequences in the subgame
    action_values: Floats  # value of each in the solution
    num_leaves: int  # public states at which the subgame is cut
    is_in_time: bool  # False if the time limit ended before the first iteration


def warn_time_limit(settings: Resolving) -> None:
    """Warn that a time limit ended before the first iteration of a subgame's algorithm."""
    warnings.warn(
        f"a time limit of {settings.seconds:g} s is too short for one iteration of "
        f"{settings.algorithm}; resolving keeps its earlier policy there",
        TimeLimitWarning,
        stacklevel=5,
    )


class ResolvingAgent:
    """See `Resolving`. The answer at a state does not depend on earlier questions.

    Policies of public states are cached and otherwise solved again along the path to them, so that
    an agent can be asked at any state in any order.
    """

    def __init__(self, tree: TreeArena, blueprint: Policy, settings: Resolving):
        settings.check_tree(tree)
        check_same_game(tree, blueprint)
        self.tree, self.blueprint, self.settings = tree, blueprint, settings
        self.states = public_states(tree)
        if len(self.states) == 1:
            warnings.warn(
                f"{tree.spec} has one public state: its players never know anything in common "
                "beyond the rules, so that each decision solves the whole game",
                SearchWarning,
                stacklevel=3,
            )
        self.algorithm: Any = load_registered_algorithm(settings.algorithm)
        self.report: ResolvingReport | None = None
        self._policies: OrderedDict[tuple[int, int], Floats] = OrderedDict()
        self._reports: dict[tuple[int, int], ResolvingReport] = {}  # of the policies
        self._leaf_values: dict[int, Floats] = {}

    @property
    def game(self) -> Any:
        return self.tree.game

    def action_probabilities(self, state: State, player: int) -> list[float]:
        """Return the probabilities of the player's actions at a state."""
        infoset = self.tree.find_infoset(self.tree.game.infoset_key(state, player), player)
        first, last = self.tree.offset[infoset : infoset + 2]
        policy = self.policy_at(int(self.states.infoset_state[infoset]), player)
        return [float(p) for p in policy[first:last]]

    def policy_at(self, state: int, player: int) -> Floats:
        """Return the player's policy [S] after it has solved the subgame of a public state."""
        probabilities = self._policies.get((state, player))
        if probabilities is None:
            before = [k for k in self.states.path(state)[:-1] if self.states.acting[k, player]]
            base = self.policy_at(before[-1], player) if before else self.blueprint.probabilities
            probabilities = self._solve(state, player, Policy(self.tree, base))
            self._policies[state, player] = probabilities
            if len(self._policies) > max(16, MAX_CACHED_PROBABILITIES // self.tree.num_sequences):
                oldest, _ = self._policies.popitem(last=False)
                self._reports.pop(oldest, None)
        return probabilities

    def _solve(self, state: int, player: int, base: Policy) -> Floats:
        """Return the base policy with the solution of one subgame in it."""
        settings = self.settings
        reach = own_reach(self.states, base.probabilities)[self.states.entry_rows(state)]
        mass = self.states.chance_reach[self.states.entry_rows(state)] * reach[:, player]
        if settings.method == "unsafe":
            mass = mass * reach[:, 1 - player]
        is_uniform = not mass.sum() > 0.0
        if is_uniform:
            warnings.warn(
                f"the blueprint never reaches public state {state} of {self.tree.spec}; "
                "its ranges are taken to be uniform there",
                SearchWarning,
                stacklevel=4,
            )
        cut = leaf_states(self.states, state, settings.depth) if settings.depth else ()
        leaves = None
        if cut:
            if player not in self._leaf_values:
                continued = continuation_leaves(self.tree, self.blueprint, 1 - player, cut)
                self._leaf_values[player] = continued.values
            leaves = Leaves(cut, self._leaf_values[player])
        subgame = build_subgame(
            self.tree,
            base,
            state,
            player,
            settings.method,
            leaves=leaves,
            uniform_range=is_uniform,
        )
        probabilities, is_in_time = base.probabilities.copy(), True
        if settings.seconds:
            solution, is_in_time = subgame.solve_within(self.algorithm, settings.seconds)
        else:
            solution = subgame.solve(self.algorithm, settings.iterations)
        if is_in_time:
            subgame.write_policy(solution, probabilities)
        else:
            warn_time_limit(settings)
        self.report = self._reports[state, player] = ResolvingReport(
            state,
            player,
            self._range(state, player, reach),
            self._range(state, 1 - player, reach),
            subgame.alternatives,
            is_uniform,
            *_action_values(subgame, solution),
            len(cut),
            is_in_time,
        )
        return probabilities

    def search_report(self, state: State, player: int) -> SearchReport:
        """Return the ranges and values of the subgame of a decision."""
        infoset = self.tree.find_infoset(self.tree.game.infoset_key(state, player), player)
        first, last = self.tree.offset[infoset : infoset + 2]
        public_state = int(self.states.infoset_state[infoset])
        self.policy_at(public_state, player)  # solved before, unless other policies displaced it
        report = self._reports[public_state, player]
        facts = {"public state": str(public_state), "method": self.settings.method}
        if report.num_leaves:
            facts["leaves"] = f"{report.num_leaves:,}"
        if not report.is_in_time:
            facts["time limit"] = "too short for one iteration: the earlier policy is kept"
        if report.is_uniform:
            facts["ranges"] = "uniform: the blueprint never comes here"
        is_margin = "margin" in self.settings.method and report.alternatives.size > 0
        name = "margin over the alternatives" if is_margin else "value in the subgame"
        alternatives = report.alternatives if report.alternatives.size else None
        ranges = [
            range_from_reach(self.states, public_state, player, report.own_range),
            range_from_reach(
                self.states,
                public_state,
                1 - player,
                report.opponent_range,
                alternatives,
                "alternative value",
            ),
        ]
        rows = np.searchsorted(report.sequences, np.arange(first, last))
        values = report.action_values[rows].tolist()
        return SearchReport(facts, {name: values}, [r for r in ranges if r is not None])

    def _range(self, state: int, player: int, reach: Floats) -> Floats:
        """Return a player's own reach at each of its views of a public state."""
        view = self.states.view[self.states.entry_rows(state), player]
        _, first = np.unique(view, return_index=True)
        return reach[first, player]


def _action_values(subgame: Subgame, solution: Policy) -> tuple[Ints, Floats]:
    """Return the player's sequences in a subgame, and the value of each in a solution."""
    values = infoset_values(subgame.tree, solution).action_value
    owner = np.repeat(subgame.tree.infoset_player, subgame.tree.num_actions)
    inside = (subgame.sequence >= 0) & (owner == subgame.player)
    order = np.argsort(subgame.sequence[inside])
    return subgame.sequence[inside][order], values[inside][order]
