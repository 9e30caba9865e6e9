"""Online outcome sampling: Monte Carlo CFR that aims at the infoset in front of the player."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.core.settings import NonNegative, PositiveInt, Probability, settings
from counterplay.play.episodes import sample_index
from counterplay.search.hidden_agent import HiddenSearchAgent, SearchRequest, repeat_search
from counterplay.search.tree_oos import TreeOOSAgent


class OOSInfoset:
    """Regrets and policy sums of the actions at an infoset."""

    __slots__ = ("policy_sum", "regret")

    def __init__(self, count: int) -> None:
        self.regret = [0.0] * count
        self.policy_sum = [0.0] * count

    def policy(self, gamma: float) -> list[float]:
        """Return regret matching, mixed with a share `gamma` of uniform play."""
        count, positive = len(self.regret), [max(r, 0.0) for r in self.regret]
        total = sum(positive)
        if not total > 0.0:
            return [1.0 / count] * count
        return [gamma / count + (1.0 - gamma) * r / total for r in positive]


@dataclass(frozen=True)
class _Step:
    """One decision of a player in a sampled episode."""

    infoset: OOSInfoset
    player: int
    index: int  # of the action
    policy: list[float]
    own_reach: float  # of the acting player, before the action
    other_reach: float  # of all others and chance
    sample_reach: float  # probability of sampling the history before the action


@settings()
class OOS:
    """Online outcome sampling with information set targeting (Lisy, Lanctot and Bowling, 2015).

    Outcome sampling from the start of the game. With probability delta an episode is targeted: its
    first part follows only actions that lead to a known history of the present infoset, each
    chosen by its usual probability among those. An episode z is weighted by

        1 / (delta * P(z | targeted) + (1 - delta) * P(z | untargeted))

    so that regrets are unbiased for any targeting. The updating player explores with probability
    epsilon, and regret matching is mixed with a share gamma of uniform play. Regrets and averages
    are kept during an episode. More simulations lead to an equilibrium.
    """

    simulations: PositiveInt = 1000
    seconds: NonNegative = 0.0  # per decision, in place of simulations; 0: no limit
    delta: Probability = 0.9
    epsilon: Probability = 0.4
    gamma: Probability = 0.01
    needs: ClassVar[str] = "rules"

    def make_agent(self, game: Game, seed: int = 0) -> HiddenSearchAgent:
        """Return the agent for a game."""
        return HiddenSearchAgent(game, self.search, self, seed)

    def make_tree_agent(self, tree: TreeArena, seed: int = 0) -> TreeOOSAgent:
        """Return the agent on a tree, whose simulations are compiled."""
        return TreeOOSAgent(tree, self, seed)

    def search(self, request: SearchRequest) -> list[float]:
        """Return the average policy at a decision."""
        run = _OOSRun(self, request)
        count = repeat_search(run.simulate, self.simulations, self.seconds)
        infoset = run.infoset(request.player, request.key, len(request.actions))
        total = sum(infoset.policy_sum)
        request.facts |= {"episodes": f"{count:,}", "infosets": f"{len(request.memory):,}"}
        request.by_action["regret"] = list(infoset.regret)
        request.by_action["current policy"] = infoset.policy(self.gamma)
        if not total > 0.0:
            return infoset.policy(self.gamma)
        return [weight / total for weight in infoset.policy_sum]


class _OOSRun:
    """The simulations of one decision; infosets are kept in the agent's memory."""

    def __init__(self, settings: OOS, request: SearchRequest):
        self.settings, self.game, self.rng = settings, request.game, request.rng
        self.infosets: dict[Any, OOSInfoset] = request.memory
        self.iteration = 0
        # the known histories of the target, as nested dicts by action; {} is the target itself
        self.targets: dict[int, Any] = {}
        for history in request.histories():
            node = self.targets
            for action in history.actions:
                node = node.setdefault(action, {})

    def infoset(self, player: int, key: str, count: int) -> OOSInfoset:
        """Return the infoset of a key, a new one if necessary."""
        infoset = self.infosets.get((player, key))
        if infoset is None:
            infoset = self.infosets[player, key] = OOSInfoset(count)
        return infoset

    def simulate(self) -> None:
        """Sample one episode and update the regrets of one player and the averages of others."""
        update_player = self.iteration % self.game.num_players
        self.iteration += 1
        is_targeted = self.rng.random() < self.settings.delta and bool(self.targets)
        delta = self.settings.delta if self.targets else 0.0
        state, target = self.game.initial_state(), self.targets
        has_target = bool(self.targets)  # whether the history still leads to the target
        plain = aimed = 1.0  # probability of the history without and with targeting
        reach = [1.0] * (self.game.num_players + 1)  # by player, chance last
        steps: list[tuple[_Step, int]] = []
        probabilities: list[float] = []  # of all actions under the current policies
        while (player := self.game.player(state)) != TERMINAL:
            actions, policy, sampling, infoset = self._distribution(state, player, update_player)
            allowed = [1.0] * len(actions)
            if has_target and target:
                allowed = [float(action in target) for action in actions]
            mass = sum(s * a for s, a in zip(sampling, allowed, strict=True))
            weights = sampling
            if is_targeted and has_target and mass > 0.0:
                weights = [s * a / mass for s, a in zip(sampling, allowed, strict=True)]
            index = sample_index(weights, self.rng.random())
            before = delta * aimed + (1.0 - delta) * plain
            if infoset is not None:
                other = 1.0
                for p, r in enumerate(reach):
                    other *= 1.0 if p == player else r
                step = _Step(infoset, player, index, policy, reach[player], other, before)
                steps.append((step, len(probabilities)))
            plain *= sampling[index]
            aimed *= sampling[index] * allowed[index] / mass if mass > 0.0 else 0.0
            reach[player] *= policy[index]  # chance, -1, is the last entry
            probabilities.append(policy[index])
            if has_target and target:
                has_target = actions[index] in target
                target = target.get(actions[index], {})
            state = self.game.next_state(state, actions[index])
        sample = delta * aimed + (1.0 - delta) * plain
        self._update(steps, probabilities, self.game.utilities(state), sample, update_player)

    def _distribution(
        self, state: State, player: int, update_player: int
    ) -> tuple[Sequence[int], list[float], list[float], OOSInfoset | None]:
        """Return actions, their probabilities by the policy and in sampling, and the infoset."""
        if player == CHANCE:
            outcomes = self.game.chance_outcomes(state)
            row = [p for _, p in outcomes]
            return [action for action, _ in outcomes], row, row, None
        actions = self.game.actions(state)
        infoset = self.infoset(player, self.game.infoset_key(state, player), len(actions))
        policy = infoset.policy(self.settings.gamma)
        if player != update_player:
            return actions, policy, policy, infoset
        epsilon, count = self.settings.epsilon, len(actions)
        return actions, policy, [epsilon / count + (1.0 - epsilon) * p for p in policy], infoset

    def _update(
        self,
        steps: list[tuple[_Step, int]],
        probabilities: list[float],
        utilities: Sequence[float],
        sample: float,
        update_player: int,
    ) -> None:
        """Add the sampled regrets and policies of an episode to the infosets."""
        tails = [1.0] * (len(probabilities) + 1)  # probability of the episode from each action on
        for k in range(len(probabilities) - 1, -1, -1):
            tails[k] = tails[k + 1] * probabilities[k]
        for step, k in steps:
            if step.player == update_player:
                weight = utilities[update_player] * step.other_reach / sample
                for action in range(len(step.policy)):
                    gain = tails[k + 1] if action == step.index else 0.0
                    step.infoset.regret[action] += weight * (gain - tails[k])
            else:
                weight = step.own_reach / step.sample_reach
                for action, probability in enumerate(step.policy):
                    step.infoset.policy_sum[action] += weight * probability
