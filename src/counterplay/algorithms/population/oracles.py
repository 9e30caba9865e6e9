"""Oracles: best responses, exact or learned, to the policies of the other players."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from counterplay.algorithms.population.population import player_sequences, reach_from_probabilities
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.policy import Policy
from counterplay.kernels.sequence_form import sweeps


class WeightedPolicy(NamedTuple):
    """A policy of the opponents and its probability; one is sampled for each episode.

    The policy covers all players; the responder's own part is ignored.
    """

    weight: float
    policy: Any


class Response(Protocol):
    """The result of an oracle."""

    @property
    def policy(self) -> Any:
        """A policy, of which the responder's part is the response."""
        ...

    @property
    def value(self) -> float:
        """The value of the response, exact or estimated."""
        ...


class PolicyWithValue(NamedTuple):
    """A response as a plain pair."""

    policy: Any
    value: float


class Oracle(Protocol):
    """An algorithm that responds to the policies of the others."""

    @property
    def runs_on(self) -> tuple[str, ...]:
        """Capabilities of which an arena must have one."""
        ...

    def respond(
        self,
        arena: Any,
        player: int,
        opponents: Sequence[WeightedPolicy],
        seed: int = 0,
        previous: Any = None,
    ) -> Response:
        """Return a policy for `player` that does well against the opponents.

        Args:
            opponents: their policies, with probabilities that sum to 1.
            seed: seed of all random numbers; the same seed gives the same response.
            previous: the policy of an earlier response to continue from, or None.
        """
        ...


@dataclass(frozen=True)
class ExactResponse:
    """The exact best response. Ties, up to rounding errors, go to the first action."""

    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)

    def respond(
        self,
        arena: SequenceArena,
        player: int,
        opponents: Sequence[WeightedPolicy],
        seed: int = 0,
        previous: object = None,
    ) -> PolicyWithValue:
        reaches = [
            (part.weight, reach_from_probabilities(arena, part.policy.probabilities))
            for part in opponents
        ]
        value, response = best_response_probabilities(arena, player, reaches)
        probabilities = opponents[0].policy.probabilities.copy()
        probabilities[player_sequences(arena, player)] = response
        return PolicyWithValue(Policy(arena, probabilities), value)


def best_response_probabilities(
    arena: SequenceArena, player: int, reaches: Sequence[tuple[float, Floats]]
) -> tuple[float, Floats]:
    """Return the value and probabilities [S_i] of a best response to weighted reaches [S + 1]."""
    cf_value, part = np.zeros(arena.num_sequences + 1), np.zeros(arena.num_sequences + 1)
    for weight, reach in reaches:
        arena.gradient(player, reach, part)
        cf_value += weight * part
    response = np.zeros(cf_value.size)
    first, last = arena.form.player_infoset[player : player + 2].tolist()
    sweeps.backward_best(arena.form, first, last, arena.value_tolerance, cf_value, response)
    return float(cf_value[-1]), response[player_sequences(arena, player)]
