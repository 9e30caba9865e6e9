"""Expectimax: the value of a Markov decision problem, by full-width search."""

from __future__ import annotations

from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.core.rewards import step_rewards
from counterplay.core.settings import NonNegativeInt, settings
from counterplay.errors import ConfigError
from counterplay.registry import get_spec
from counterplay.search.searcher import (
    OptionalEvaluation,
    SearchResult,
    catch_recursion_error,
    zero_evaluation,
)

UNLIMITED_DEPTH = 2**62


@settings()
class Expectimax:
    """Expectimax for one player and chance, with rewards on the way (`core.rewards.RewardGame`):

        V(s) = u(s) at the end,   max over a of R(s, a) + V(s') where the player acts,
               sum over a of probability(a) * (R(s, a) + V(s')) where chance does

    With `max_depth`, states that many actions ahead, those of chance included, have the value of
    `evaluate`; problems without an end need it. A state that is reached on several paths with the
    same depth left is searched once, so that a problem with S states and depth D takes S * D steps.
    The player sees the state, as in a Markov decision problem: infosets are not used.
    """

    max_depth: NonNegativeInt = 0  # actions to search ahead; 0: to the end
    evaluate: OptionalEvaluation = None  # of states at the depth limit; 0 by default

    @catch_recursion_error
    def search(self, game: Game, state: State | None = None) -> SearchResult:
        if game.num_players != 1:
            raise ConfigError(
                f"expectimax needs one player; {get_spec(game)} has {game.num_players}: use "
                "expectiminimax for two"
            )
        root = game.initial_state() if state is None else state
        if game.player(root) == TERMINAL:
            name = get_spec(game)
            raise ConfigError(f"there is nothing to search: this episode of {name} is over")
        evaluate = self.evaluate or zero_evaluation
        values: dict[tuple[State, int], float] = {}
        num_evaluations = 0

        def value(state: State, depth_left: int) -> float:
            nonlocal num_evaluations
            key = (state, depth_left)
            if key in values:
                return values[key]
            if game.player(state) == TERMINAL:
                result = float(game.utilities(state)[0])
            elif depth_left == 0:
                num_evaluations += 1
                result = evaluate(game, state)
            elif game.player(state) == CHANCE:
                result = sum(
                    p * action_value(state, a, depth_left) for a, p in game.chance_outcomes(state)
                )
            else:
                result = max(action_value(state, a, depth_left) for a in game.actions(state))
            values[key] = result
            return result

        def action_value(state: State, action: int, depth_left: int) -> float:
            left = depth_left if depth_left == UNLIMITED_DEPTH else depth_left - 1
            reward = step_rewards(game, state, action)[0]
            return reward + value(game.next_state(state, action), left)

        depth = self.max_depth or UNLIMITED_DEPTH
        root_value = value(root, depth)
        action_values = {}
        if game.player(root) != CHANCE:
            action_values = {a: action_value(root, a, depth) for a in game.actions(root)}
        best = next((a for a in action_values if action_values[a] == root_value), None)
        is_exact = num_evaluations == 0
        return SearchResult(best, root_value, is_exact, len(values), action_values, self.max_depth)
