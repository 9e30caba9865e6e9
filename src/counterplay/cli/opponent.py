"""Opponents: whatever can say what it would do at a state."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from counterplay.errors import ConfigError, suggestion
from counterplay.estimate import estimate_size
from counterplay.game import Game, State
from counterplay.registry import ALGORITHMS, SEARCHERS, load_algorithm, load_searcher, spec_of

if TYPE_CHECKING:
    from counterplay.policy import Policy
    from counterplay.search.searching import Searcher

PATIENCE = 2.0  # seconds that alpha-beta without limits may think
MOST_STATES = 3_000_000  # that a searcher which looks at everything may look at


class Opponent(Protocol):
    """Who has the seats that the person has not, and gives advice for the person's."""

    def odds(self, state: State, player: int) -> dict[int, float]:
        """The probability of each action that the player might take."""
        ...


@dataclass(frozen=True)
class PolicyOpponent:
    """Follows a policy, knowing what its seat knows."""

    game: Game
    policy: Policy

    def odds(self, state: State, player: int) -> dict[int, float]:
        from counterplay.policy import tree_of

        tree = tree_of(self.policy)
        infoset = tree.find(self.game.infoset_key(state, player), player)
        first, last = tree.offset[infoset : infoset + 2]
        actions = tree.sequence_action[first:last].tolist()
        return dict(zip(actions, self.policy.probabilities[first:last].tolist(), strict=True))


@dataclass(frozen=True)
class SearchOpponent:
    """Looks ahead anew at every state."""

    game: Game
    searcher: Searcher

    def odds(self, state: State, player: int) -> dict[int, float]:
        found = self.searcher.search(self.game, state).action
        return {action: float(action == found) for action in self.game.actions(state)}


def stored_opponent(game: Game, file: Path) -> Opponent:
    """The policy that `solve --save` wrote."""
    from counterplay.cli.progress import build
    from counterplay.policy import load_policy, policy_spec

    policy_spec(file)  # complains about a bad file before the tree is built
    return PolicyOpponent(game, load_policy(file, build(game)))


def named_opponent(game: Game, spec: str, iterations: int | None) -> Opponent:
    """A searcher, or the policy that an algorithm finds now."""
    name = spec.split("(")[0].strip()
    if name in SEARCHERS:
        if iterations:
            raise ConfigError(f"{name} searches and has no iterations; leave out --iterations")
        return SearchOpponent(game, _suited(game, load_searcher(spec)))
    if name not in ALGORITHMS:
        near, known = suggestion(name, SEARCHERS | ALGORITHMS), ", ".join(SEARCHERS)
        more = "counterplay algorithms lists more"
        raise ConfigError(f"unknown opponent {name!r}{near} (searchers: {known}; {more})")
    return _solved_opponent(game, spec, iterations or 1000)


def _solved_opponent(game: Game, algorithm: str, iterations: int) -> Opponent:
    from counterplay.cli.progress import Bar, build
    from counterplay.solving import solve

    method = load_algorithm(algorithm)
    tree = build(game)
    with Bar("solving", "it", total=iterations) as bar:
        result = solve(tree, method, iterations=iterations, tick=bar.update)
    print(f"The opponent's exploitability is {result.exploitability:.2e}.", file=sys.stderr)
    return PolicyOpponent(game, result.policy)


def _suited(game: Game, searcher: Any) -> Searcher:
    """The searcher as a person wants to meet it: quick, and not blind on connect four."""
    from counterplay.games.connect_four import ConnectFour
    from counterplay.games.tic_tac_toe import TicTacToe
    from counterplay.search.alpha_beta import AlphaBeta
    from counterplay.search.evaluation import middle_first, open_lines
    from counterplay.search.expectiminimax import Expectiminimax
    from counterplay.search.minimax import Minimax
    from counterplay.search.searching import start

    start(game, None)  # complains about hidden information before the first move
    if isinstance(searcher, (Minimax, Expectiminimax)) and not searcher.depth:
        states = estimate_size(game, seconds=0.2).num_nodes
        if states > MOST_STATES:
            name = spec_of(searcher)
            raise ConfigError(
                f"{name} would look at about {states:.0e} states; give it a depth, as in "
                f"'{name}(depth=4)', or take alpha_beta"
            )
    if isinstance(searcher, AlphaBeta):
        if not searcher.depth and not searcher.seconds:
            searcher = replace(searcher, seconds=PATIENCE)
        if isinstance(game, (ConnectFour, TicTacToe)):
            searcher = replace(searcher, lowest=-1.0, highest=1.0)
        if isinstance(game, ConnectFour) and not searcher.evaluate:
            searcher = replace(searcher, evaluate=open_lines, order=middle_first)
    return searcher
