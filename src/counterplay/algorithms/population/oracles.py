"""Oracles: who answers the others' play with a policy for the pool.

A learned responder is one more class with `respond`; everything it may want is in the arguments.
"""

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
    """What the others do with this probability; one is drawn for each episode.

    The policy is everybody's; the responder's own part of it is not looked at.
    """

    weight: float
    policy: Any


class Response(NamedTuple):
    """What an oracle found: a policy, of which the responder's part counts, and its worth."""

    policy: Any
    value: float  # of the response: exact, or what the oracle believes


class Oracle(Protocol):
    """How a player responds."""

    @property
    def runs_on(self) -> tuple[str, ...]:
        """What it asks of an arena."""
        ...

    def respond(
        self,
        arena: Any,
        player: int,
        opponents: Sequence[WeightedPolicy],
        seed: int = 0,
        previous: Any = None,
    ) -> Response:
        """A policy for `player` that does well against the opponents.

        Args:
            opponents: their policies with probabilities that sum to 1.
            seed: of all randomness; the same seed gives the same response.
            start: a policy to learn from, or None to start afresh.
        """
        ...


@dataclass(frozen=True)
class ExactResponse:
    """The best response, computed. Ties, up to rounding errors, go to the first action."""

    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)

    def respond(
        self,
        arena: SequenceArena,
        player: int,
        opponents: Sequence[WeightedPolicy],
        seed: int = 0,
        previous: Any = None,
    ) -> Response:
        reaches = [
            (part.weight, reach_from_probabilities(arena, part.policy.probabilities))
            for part in opponents
        ]
        value, response = best_response_plan(arena, player, reaches)
        chosen = opponents[0].policy.probabilities.copy()
        chosen[player_sequences(arena, player)] = response
        return Response(Policy(arena, chosen), value)


def best_response_plan(
    arena: SequenceArena, player: int, reaches: Sequence[tuple[float, Floats]]
) -> tuple[float, Floats]:
    """The value of a best response to weighted reaches [S + 1], and its probabilities [S_i]."""
    cf_value, part = np.zeros(arena.num_sequences + 1), np.zeros(arena.num_sequences + 1)
    for weight, reach in reaches:
        arena.gradient(player, reach, part)
        cf_value += weight * part
    response = np.zeros(cf_value.size)
    first, last = arena.form.player_infoset[player : player + 2].tolist()
    sweeps.backward_best(arena.form, first, last, arena.value_tolerance, cf_value, response)
    return float(cf_value[-1]), response[player_sequences(arena, player)]
