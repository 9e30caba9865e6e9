"""Match an agent that another program has trained, a plain function, and bound how much it loses.

    python examples/ppo.py --game leduc_poker --save ppo.npz
    python examples/agent_from_elsewhere.py ppo.npz --game leduc_poker

The function takes an observation and the mask of legal actions, and returns probabilities. Here it
is the network of `ppo.py` in NumPy; nothing of the training program is needed. The match and the
lower bound of its exploitability use episodes only, so they work on games of any size; on a small
game the exact numbers follow.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import counterplay as cp

AgentFunction = Callable[[int, np.ndarray, np.ndarray], np.ndarray]


def load_function(path: str) -> AgentFunction:
    """Return the policy of the networks in a file of weights, one network per seat."""
    with np.load(path) as file:
        weights = dict(file)

    def policy(player: int, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        hidden = observation
        for layer in ("1", "2"):
            hidden = np.tanh(
                hidden @ weights[f"{player}_w_{layer}"] + weights[f"{player}_b_{layer}"]
            )
        logits = hidden @ weights[f"{player}_w_policy"] + weights[f"{player}_b_policy"]
        shares = np.exp(logits - logits[mask > 0].max()) * (mask > 0)
        return shares / shares.sum()

    return policy


class FunctionAgent:
    """An agent of a game from a function of player, observation and mask."""

    def __init__(self, game: Any, function: AgentFunction, num_actions: int):
        self.game, self.function, self.num_actions = game, function, num_actions

    def action_probabilities(self, state: Any, player: int) -> list[float]:
        """Return the probabilities of `game.actions(state)`, in that order."""
        legal = list(self.game.actions(state))
        mask = np.zeros(self.num_actions, np.int8)
        mask[legal] = 1
        observation = np.asarray(self.game.observation(state, player), np.float32)
        shares = np.asarray(self.function(player, observation, mask), float)[legal]
        return [float(share) for share in shares / shares.sum()]


class Report(NamedTuple):
    """The numbers of an agent."""

    match: Any  # mean utility against the solution, with its interval
    exact_match: float
    bound: Any  # lower bound of NashConv, with its interval
    nash_conv: float


def main(arguments: Sequence[str] | None = None) -> Report:
    """Match and bound the agent; print and return the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", help="an .npz file that examples/ppo.py has written")
    parser.add_argument("--game", default="leduc_poker")
    parser.add_argument("--episodes", type=int, default=2000)
    options = parser.parse_args(arguments)
    tree = cp.build_tree(options.game)
    num_actions = int(tree.sequence_action.max()) + 1
    agent = FunctionAgent(tree.game, load_function(options.weights), num_actions)
    solution = cp.solve(tree, "cfr_plus").policy

    match = cp.head_to_head(tree.game, agent, solution, max_episodes=options.episodes).scores[0]
    bound = cp.local_best_response(tree.game, agent, num_episodes=options.episodes // 4)
    policy = tabulate(tree, agent)
    exact_match = cp.head_to_head(tree, policy, solution).scores[0].mean
    nash_conv = cp.nash_conv(tree, policy)

    print(f"against the solution  {match.mean:.3f} ({match.low:.3f} to {match.high:.3f})")
    print(f"  exactly             {exact_match:.3f}")
    print(f"NashConv at least     {bound.nash_conv.low:.3f} (estimate {bound.nash_conv.mean:.3f})")
    print(f"  exactly             {nash_conv:.3f}")
    return Report(match, exact_match, bound.nash_conv, nash_conv)


def tabulate(tree: cp.TreeArena, agent: FunctionAgent) -> cp.Policy:
    """Return the agent's policy at all infosets of a small game."""
    from counterplay.arenas.tree.replay import first_infoset_states

    states = zip(first_infoset_states(tree), tree.infoset_player.tolist(), strict=True)
    rows = [agent.action_probabilities(state, player) for state, player in states]
    return cp.Policy(tree, np.concatenate(rows))


if __name__ == "__main__":
    main()
