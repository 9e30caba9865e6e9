"""Perfect-information Monte Carlo: solve samples as if nothing were hidden."""

from __future__ import annotations

import random
from typing import Any, ClassVar

from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.core.settings import NonNegative, NonNegativeInt, PositiveInt, settings
from counterplay.search.hidden_agent import HiddenSearchAgent, SearchRequest, repeat_search

MAX_SOLVED_STATES = 200_000  # whose values are remembered during an episode


@settings()
class PIMC:
    """Perfect-information Monte Carlo search, or determinisation (Levy, 1989).

    Draws states that fit the player's infoset, computes the value of each action in each of them as
    if all players saw everything, and takes the action with the largest mean; equal ones share the
    probability. Players maximise their own utilities. Such a search cannot bluff, and it expects to
    learn what it will not see (strategy fusion; Frank and Basin, 1998).
    """

    num_states: PositiveInt = 30
    seconds: NonNegative = 0.0  # per decision, in place of a number of states; 0: no limit
    max_depth: NonNegativeInt = 0  # actions ahead, then a random episode; 0: to the end
    needs: ClassVar[str] = "rules"

    def make_agent(self, game: Game, seed: int = 0) -> HiddenSearchAgent:
        """Return the agent for a game."""
        return HiddenSearchAgent(game, self.search, self, seed)

    def search(self, request: SearchRequest) -> list[float]:
        """Return the probabilities of the actions at a decision."""
        game, totals = request.game, [0.0] * len(request.actions)
        depth = self.max_depth - 1 if self.max_depth else -1

        def add_values() -> None:
            state = request.draw().state
            for k, action in enumerate(request.actions):
                child = game.next_state(state, action)
                values = _values(game, child, depth, request.rng, request.memory)
                totals[k] += values[request.player]

        count = repeat_search(add_values, self.num_states, self.seconds)
        request.facts["determinisations"] = f"{count:,}"
        request.by_action["mean value"] = [total / count for total in totals]
        largest = max(totals)
        tolerance = 1e-9 * max(1.0, max(map(abs, totals)))
        best = [total >= largest - tolerance for total in totals]
        return [is_best / sum(best) for is_best in best]


def _values(
    game: Game, state: State, depth: int, rng: random.Random, solved: dict[Any, Any]
) -> tuple[float, ...]:
    """Return all players' values of a state with perfect information; depth -1: no limit."""
    player = game.player(state)
    if player == TERMINAL:
        return tuple(game.utilities(state))
    if depth == 0:
        return _play_out(game, state, rng)
    key = (state, depth)
    if key in solved:
        values: tuple[float, ...] = solved[key]
        return values
    if player == CHANCE:
        parts = [
            (p, _values(game, game.next_state(state, action), depth - (depth > 0), rng, solved))
            for action, p in game.chance_outcomes(state)
        ]
        values = tuple(sum(p * part[k] for p, part in parts) for k in range(game.num_players))
    else:
        children = [game.next_state(state, action) for action in game.actions(state)]
        rows = [_values(game, child, depth - (depth > 0), rng, solved) for child in children]
        values = max(rows, key=lambda row: row[player])
    if depth < 0 and len(solved) < MAX_SOLVED_STATES:
        solved[key] = values
    return values


def _play_out(game: Game, state: State, rng: random.Random) -> tuple[float, ...]:
    """Return the utilities of a random episode from a state."""
    while (player := game.player(state)) != TERMINAL:
        if player == CHANCE:
            outcomes, weights = zip(*game.chance_outcomes(state), strict=True)
            (action,) = rng.choices(outcomes, weights)
        else:
            action = rng.choice(game.actions(state))
        state = game.next_state(state, action)
    return tuple(game.utilities(state))
