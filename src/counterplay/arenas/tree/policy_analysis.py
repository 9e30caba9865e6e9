"""A policy of a tree with its values, computed on first access and cached."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.node_values import NodeValues, compute_node_values
from counterplay.core.arena import Floats
from counterplay.core.evaluation import (
    InfosetValues,
    Judgement,
    Mistakes,
    infoset_values,
    judge,
    mistakes,
)
from counterplay.core.policy import Policy


@dataclass(frozen=True, eq=False)
class PolicyAnalysis:
    """A policy of a tree, and values computed from it on first access."""

    tree: TreeArena
    policy: Policy
    source: str
    step: int | None = None  # of the checkpoint that it comes from
    policy_names: tuple[str, ...] = ()  # of all policies in the source
    locked_infosets: tuple[int, ...] = ()  # infosets whose policy the user has fixed

    @cached_property
    def node_values(self) -> NodeValues:
        return compute_node_values(self.tree, self.policy.probabilities)

    @cached_property
    def infoset_values(self) -> InfosetValues:
        return infoset_values(self.tree, self.policy)

    @cached_property
    def mistakes(self) -> Mistakes:
        return mistakes(self.tree, self.policy)

    @cached_property
    def judgement(self) -> Judgement:
        return judge(self.tree, self.policy)

    @cached_property
    def infoset_reach(self) -> Floats:
        """The probability [I] that an episode visits an infoset."""
        tree = self.tree
        acts = tree.infoset >= 0
        reach = np.bincount(tree.infoset[acts], self.node_values.reach[acts], tree.num_infosets)
        return reach.astype(np.float64)
