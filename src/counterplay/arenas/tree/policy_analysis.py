"""A policy of a tree with its values, computed when first read and then kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.node_values import NodeValues, compute_node_values
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
    """A policy of a tree, with what is computed from it when first asked for."""

    tree: TreeArena
    policy: Policy
    source: str
    step: int | None = None  # of the checkpoint it is from
    policy_names: tuple[str, ...] = ()  # of all policies there
    locked_infosets: tuple[int, ...] = ()  # infosets that play as somebody said

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
    def infoset_reach(self) -> Any:
        """The probability [I] that play passes an infoset."""
        tree = self.tree
        acts = tree.infoset >= 0
        return np.bincount(tree.infoset[acts], self.node_values.reach[acts], tree.num_infosets)
