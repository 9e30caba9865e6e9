"""CFR-BR: each player learns against best responders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.kernels import sweeps
from counterplay.policy import Policy
from counterplay.tabular import regret
from counterplay.tabular.regret import RegretMemory
from counterplay.tree import Tree


@dataclass(frozen=True)
class CFRBR:
    """CFR-BR (Johanson, Bard, Burch and Bowling, 2012). At t = 1, 2, ..., at all infosets:

        response   = every player's exact best response to the policy
        policy_sum = policy_sum + reach * policy
        regret     = regret + instant_regret of the policy against the others' responses
        policy     = regret_matching(regret)

    All players are updated at once. An opponent that always knows its best answer makes the
    average's worst case improve steadily, at the price of a slower start.
    """

    def init(self, tree: Tree, seed: int = 0) -> RegretMemory:
        return regret.new_memory(tree)

    def step(self, tree: Tree, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        form, size = tree.form, memory.reach.size
        response, response_reach, scratch = np.zeros(size), np.ones(size), np.ones(size)
        value, best = np.zeros(tree.num_players), np.zeros(tree.num_players)
        rule, weight, tiny = (1.0, 1.0, 0.0, tree.rounding), np.ones(1), tree.form_rounding
        for _ in range(iterations):
            policy = regret.form_policy(tree, memory)
            sweeps.judge(form, tiny, policy, scratch, memory.cf_value, response, value, best)
            sweeps.forward(form, 0, form.parent.size, response, response_reach)
            for player in range(tree.num_players):
                regret.find_regrets(tree, memory, player, response_reach)
                regret.learn(tree, memory, regret.REGRET_MATCHING, player, rule, weight)
            for player in range(tree.num_players):
                regret.settle(tree, memory, regret.REGRET_MATCHING, player)
            memory.iteration += 1
        return memory

    def policy(self, tree: Tree, memory: RegretMemory) -> Policy:
        return self.average_policy(tree, memory)

    def average_policy(self, tree: Tree, memory: RegretMemory) -> Policy:
        """Every iteration counts the same."""
        return regret.average_policy(tree, memory)

    def current_policy(self, tree: Tree, memory: RegretMemory) -> Policy:
        """The last iterate."""
        return regret.current_policy(tree, memory)
