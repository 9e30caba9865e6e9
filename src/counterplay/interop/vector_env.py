"""Many episodes of one seat at a time, as a Gymnasium vector environment on arrays of a tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterplay.core.arena import Floats, Ints
from counterplay.core.evaluation import check_same_game
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.policy import Policy, require_tree
from counterplay.errors import ConfigError
from counterplay.interop.env_arrays import ActionMask, EnvArrays, Observation, missing_extra_error

try:
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ModuleNotFoundError as error:
    raise missing_extra_error("rl", "Gymnasium") from error

Info = dict[str, Any]  # as Gymnasium declares it
Flags = NDArray[np.bool_]


class BestResponseVectorEnv(VectorEnv[Observation, Ints, Any]):
    """`BestResponseEnv` for many episodes at once: one seat against a policy in all other seats.

    Observations, masks, rewards and illegal actions are those of `BestResponseEnv`. An episode that
    ends is followed by the next one in the same step: the observation is the new episode's first,
    and `infos["final_obs"]` has zeros, which is the observation of an episode that is over.

    Args:
        opponents: the policy of all other seats, on a tree.
        player: the seat of the learner.
        num_envs: episodes played at the same time.
        arrays: observations of the tree, if they exist already.

    Raises:
        ConfigError: there is no such player, or fewer than one environment.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self, opponents: Policy, player: int, num_envs: int, arrays: EnvArrays | None = None
    ):
        tree = require_tree(opponents)
        if not 0 <= player < tree.num_players:
            raise ConfigError(f"player is {player}, must be from 0 to {tree.num_players - 1}")
        if num_envs < 1:
            raise ConfigError(f"num_envs is {num_envs}, must be at least 1")
        self.arrays = arrays or EnvArrays(tree)
        check_same_game(self.arrays.tree, opponents)
        self.player, self.num_envs = player, num_envs
        self.single_observation_space = self.arrays.observation_space()
        self.single_action_space = spaces.Discrete(self.arrays.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.min_utility = float(tree.utility[:, player].min())
        self._tree_player, self._infoset = tree.player, tree.infoset
        self._first_child = tree.child_offset[:-1]
        self._child_keys = _child_keys(tree, opponents)
        self._utility = np.zeros(tree.num_nodes)
        self._utility[tree.terminals] = tree.utility[:, player]
        self._position = _action_positions(self.arrays)
        # a last row for episodes in which the player never acts
        zeros = np.zeros((1, self.arrays.observations.shape[1]), np.float32)
        self._observations = np.concatenate([self.arrays.observations, zeros])
        ones = np.ones((1, self.arrays.num_actions), np.int8)
        self._masks = np.concatenate([self.arrays.legal_mask, ones])
        self._rng = np.random.default_rng()
        self._nodes: Ints | None = None

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: Info | None = None
    ) -> tuple[Observation, Info]:
        """Start all episodes and return their first observations; one seed serves all of them."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)  # type: ignore[arg-type]
        self._nodes = np.zeros(self.num_envs, np.int64)
        self._advance(np.arange(self.num_envs))
        return self._observation(), {"action_mask": self.action_masks()}

    def step(self, actions: Any) -> tuple[Observation, Floats, Flags, Flags, Info]:
        """Take an action in every episode; return observations, rewards, ends and masks."""
        if self._nodes is None:
            raise ConfigError("call reset before step")
        nodes, actions = self._nodes, np.asarray(actions)
        infosets = self._infoset[nodes]
        position = self._position[infosets, actions]  # row -1 is for episodes without a decision
        is_acting = infosets >= 0
        is_illegal = is_acting & (position < 0)
        moving = np.flatnonzero(is_acting & ~is_illegal)
        nodes[moving] = self._first_child[nodes[moving]] + position[moving]
        self._advance(moving)
        done = is_illegal | (self._infoset[nodes] < 0)
        rewards = np.where(done, np.where(is_illegal, self.min_utility, self._utility[nodes]), 0.0)
        ended = np.flatnonzero(done)
        nodes[ended] = 0
        self._advance(ended)
        infos: Info = {"action_mask": self.action_masks()}
        if ended.size:
            zeros = np.zeros((self.num_envs, self._observations.shape[1]), np.float32)
            infos |= {"final_obs": zeros, "_final_obs": done, "illegal": is_illegal}
        return self._observation(), rewards, done, np.zeros(self.num_envs, bool), infos

    def action_masks(self) -> ActionMask:
        """Return the masks [B, A] of legal actions."""
        return self._masks[self._infoset[self._nodes]]

    def _observation(self) -> Observation:
        return self._observations[self._infoset[self._nodes]]

    def _advance(self, episodes: Ints) -> None:
        """Let chance and the opponents act until the player is to act or the episode is over."""
        assert self._nodes is not None
        nodes = self._nodes
        while episodes.size:
            acting = self._tree_player[nodes[episodes]]
            episodes = episodes[(acting != self.player) & (acting != TERMINAL)]
            draws = nodes[episodes] + self._rng.random(episodes.size)
            nodes[episodes] = 1 + np.searchsorted(self._child_keys, draws, side="right")


def _child_keys(tree: Any, opponents: Policy) -> Floats:
    """Return keys [N - 1] of all nodes but the root: parent + cumulative action probability.

    Children of a node are consecutive, and nodes are sorted by their parents, so the keys are
    sorted: the child that parent + u draws is found by bisection.
    """
    children = np.arange(1, tree.num_nodes)
    parents = tree.parent[1:]
    is_chance = tree.player[parents] == CHANCE
    sequences = np.maximum(tree.incoming_sequence[1:], 0)
    weights = np.where(is_chance, tree.chance[1:], opponents.probabilities[sequences])
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    first = tree.child_offset[parents] - 1  # index of the first sibling in these arrays
    shares = sums[1:] - sums[first]
    is_last = children == tree.child_offset[parents + 1] - 1
    total = sums[tree.child_offset[parents + 1] - 1] - sums[first]
    keys: Floats = parents + np.where(is_last, 1.0, np.minimum(shares / total, 1.0))
    return keys


def _action_positions(arrays: EnvArrays) -> Ints:
    """Return the index [I + 1, A] of each action among the legal ones; -1 if it is illegal."""
    tree = arrays.tree
    positions = np.full((tree.num_infosets + 1, arrays.num_actions), -1, np.int32)
    rows = np.repeat(np.arange(tree.num_infosets), tree.num_actions)
    index = np.arange(tree.num_sequences) - np.repeat(tree.offset[:-1], tree.num_actions)
    positions[rows, tree.sequence_action] = index
    return positions
