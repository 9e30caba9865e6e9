"""Gaps of correlated play: the gains of deviating from a distribution over joint policies.

A device draws a joint policy and recommends to each player the actions of its part. The gap of a
concept is the sum over players of the best gain of one player alone, and concepts differ in what
the deviating player knows and may still do:

    CCE    decides before the game, and hears nothing
    CE     hears its whole policy before the game
    EFCCE  at an infoset decides to leave the device before it hears the action; hears no more then
    EFCE   at an infoset hears the action before it decides to leave the device
    AFCCE  as EFCCE, but deviates at one infoset only and follows the device again afterwards
    AFCE   as EFCE, but deviates at one infoset only and follows the device again afterwards

(von Stengel and Forges, 2008; Farina, Bianchi and Sandholm, 2020; Morrill and others, 2021.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats
from counterplay.core.evaluation import check_same_game
from counterplay.core.policy import Policy, as_arena
from counterplay.errors import ConfigError
from counterplay.kernels.sequence_form import sweeps

PROBABILITY_TOLERANCE = 1e-9  # by which the sum of probabilities may differ from 1


@dataclass(frozen=True)
class JointDistribution:
    """A distribution over K joint policies of a tree, deterministic or behavioural.

    With a behavioural policy the device draws each recommended action from it, independently at
    each infoset.

    Args:
        tree: the tree.
        probabilities: [K], with sum 1.
        policies: the K joint policies.

    Raises:
        ConfigError: the probabilities are not a distribution, or a policy is for another game.
    """

    tree: TreeArena
    probabilities: Floats
    policies: tuple[Policy, ...]

    def __post_init__(self) -> None:
        weights = np.asarray(self.probabilities, float)
        if len(weights) != len(self.policies) or not len(weights):
            raise ConfigError(
                f"a joint distribution needs one probability per policy: {len(weights)} "
                f"probabilities for {len(self.policies)} policies"
            )
        if weights.min() < 0.0 or abs(weights.sum() - 1.0) > PROBABILITY_TOLERANCE:
            raise ConfigError(
                f"the probabilities of joint policies sum to {weights.sum():g}, not 1"
            )
        for policy in self.policies:
            check_same_game(self.tree, policy)
        object.__setattr__(self, "probabilities", weights)

    @classmethod
    def from_pairs(cls, game: Any, pairs: Iterable[tuple[float, Policy]]) -> JointDistribution:
        """Return the distribution of (probability, joint policy) pairs.

        Args:
            game: the tree, the game or its name.
            pairs: the pairs.
        """
        listed = list(pairs)
        probabilities = np.array([probability for probability, _ in listed])
        return cls(as_arena(game), probabilities, tuple(policy for _, policy in listed))


@dataclass(frozen=True)
class CorrelationGaps:
    """The gain of the best deviation of each player [P], by concept, and the values [P].

    `gaps.total("efce")` is the sum over players, 0 exactly if the distribution is an EFCE.
    """

    values: Floats  # [P] expected utilities if all follow the device
    cce: Floats
    ce: Floats
    efcce: Floats
    efce: Floats
    afcce: Floats
    afce: Floats

    def total(self, concept: str) -> float:
        """Return the sum of the gains of all players for a concept, such as "efce"."""
        names = [field.name for field in fields(self) if field.name != "values"]
        if concept not in names:
            raise ConfigError(f"unknown concept {concept!r}; known: {', '.join(names)}")
        return float(getattr(self, concept).sum())


def correlation_gaps(
    game: Any, distribution: JointDistribution | Policy | Iterable[tuple[float, Policy]]
) -> CorrelationGaps:
    """Return the gains of deviating from correlated play, for six concepts of correlation.

    Args:
        game: the tree, the game or its name; any number of players, with perfect recall.
        distribution: a `JointDistribution`, (probability, joint policy) pairs, or one policy.

    Raises:
        ConfigError: a player forgets, or the distribution does not fit the game.

    Example:
        >>> import counterplay as cp
        >>> tree = cp.build_tree("chicken")
        >>> pairs = [
        ...     (0.5, cp.Policy(tree, [0, 1, 0, 1])),
        ...     (0.25, cp.Policy(tree, [0, 1, 1, 0])),
        ...     (0.25, cp.Policy(tree, [1, 0, 0, 1])),
        ... ]
        >>> gaps = cp.concepts.correlation_gaps(tree, pairs)
        >>> gaps.total("ce"), gaps.values.tolist()
        (0.0, [5.25, 5.25])
    """
    tree: TreeArena = as_arena(game)
    if not tree.has_perfect_recall:
        raise ConfigError(
            f"gaps of correlated play need perfect recall; a player of {tree.spec} forgets: judge "
            "the tree `tree.perfect_recall_tree` instead"
        )
    if isinstance(distribution, Policy):
        distribution = [(1.0, distribution)]
    if not isinstance(distribution, JointDistribution):
        distribution = JointDistribution.from_pairs(tree, distribution)
    rows = [_player_gains(tree, distribution, p) for p in range(tree.num_players)]
    columns = np.array(rows).T
    return CorrelationGaps(columns[0], *np.maximum(columns[1:], 0.0))


def _player_gains(tree: TreeArena, mixture: JointDistribution, player: int) -> list[float]:
    """Return the value of a player, and its gains in the order of `CorrelationGaps`."""
    device = _Device(tree, mixture, player)
    rounding = 1e-14 * device.scale
    gains = [device.coarse_value(), device.correlated_value()]
    gains += [
        device.extensive_form_value(informed, agent_form)
        for agent_form in (False, True)
        for informed in (False, True)
    ]
    differences = [gain - device.value for gain in gains]
    return [device.value, *(gain if gain > rounding else 0.0 for gain in differences)]


class _Device:
    """One player's view of a joint distribution, in the sequence form.

    With `reach[k]` the player's reach under joint policy k, and `gradient[k]` the values of its
    sequences against the others' part of k, a player that heard the recommendations of sequence s
    and followed them weighs k by probability[k] * reach[k, s].
    """

    def __init__(self, tree: TreeArena, mixture: JointDistribution, player: int):
        form, size = tree.form, tree.num_sequences + 1
        self.tree, self.form, self.weights = tree, form, mixture.probabilities
        self.infosets = range(
            int(form.player_infoset[player]), int(form.player_infoset[player + 1])
        )
        count = len(mixture.policies)
        self.policy, self.reach = np.ones((2, count, size))
        self.gradient = np.zeros((count, size))
        for k, policy in enumerate(mixture.policies):
            self.policy[k, :-1] = policy.probabilities
            reach = np.ones(size)
            sweeps.forward(form, 0, form.parent.size, self.policy[k], reach)
            tree.gradient(player, reach, self.gradient[k])
            own = slice(*self._sequences())
            self.reach[k, own] = reach[own]
        self.scale = float(np.abs(tree.utility[:, player]).max(initial=0.0))
        own = slice(*self._sequences())
        followed = (self.reach[:, own] * self.gradient[:, own]).sum(axis=1)
        self.value = float(self.weights @ (followed + self.gradient[:, -1]))

    def _sequences(self) -> tuple[int, int]:
        offset = self.form.offset
        return int(offset[self.infosets.start]), int(offset[self.infosets.stop])

    def best_values(self, weights: Floats) -> Floats:
        """Return counterfactual values [S + 1] against joint policies by weight, with best play.

        The last entry is the value of the best response.
        """
        values, response = weights @ self.gradient, np.zeros(self.gradient.shape[1])
        sweeps.backward_best(
            self.form,
            self.infosets.start,
            self.infosets.stop,
            self.tree.value_tolerance,
            values,
            response,
        )
        return values

    def coarse_value(self) -> float:
        """Return the value of the best policy chosen without the device."""
        return float(self.best_values(self.weights)[-1])

    def correlated_value(self) -> float:
        """Return the value of best responses, one for each policy that the player may hear."""
        groups: dict[bytes, Floats] = {}
        first, last = self._sequences()
        for k, row in enumerate(self.policy[:, first:last]):
            group = groups.setdefault(row.tobytes(), np.zeros(self.weights.size))
            group[k] = self.weights[k]
        return sum(float(self.best_values(group)[-1]) for group in groups.values())

    def values_after_following(self) -> Floats:
        """Return the values [K, S + 1] of sequences if the player follows policy k afterwards."""
        values = self.gradient.copy()
        for infoset in reversed(self.infosets):
            first, last = self.form.offset[infoset : infoset + 2]
            mean = (self.policy[:, first:last] * values[:, first:last]).sum(axis=1)
            values[:, self.form.parent[infoset]] += mean
        return values

    def extensive_form_value(self, informed: bool, agent_form: bool) -> float:
        """Return the value of the best deviation at infosets.

        Args:
            informed: whether the player hears the action of an infoset before it decides.
            agent_form: whether the player follows the device again after a deviation.
        """
        resumed = self.values_after_following() if agent_form else None

        def deviation_values(sequence: int) -> Floats:
            """Return values [S + 1] after a deviation by a player that followed a sequence."""
            weights = self.weights * self.reach[:, sequence]
            return self.best_values(weights) if resumed is None else weights @ resumed

        # the value of following up to each sequence, with the best deviations afterwards
        value = self.weights @ (self.reach * self.gradient)
        for infoset in reversed(self.infosets):
            first, last = map(int, self.form.offset[infoset : infoset + 2])
            parent = int(self.form.parent[infoset])
            if informed:
                best = 0.0
                for sequence in range(first, last):
                    options = deviation_values(sequence)[first:last]
                    options[sequence - first] = value[sequence]
                    best += float(options.max())
            else:
                follow = float(value[first:last].sum())
                best = max(follow, float(deviation_values(parent)[first:last].max()))
            value[parent] += best
        return float(value[-1])
