"""OpenSpiel's NFSP and QPG in PyTorch beside ours, in one process, on Leduc poker.

    pip install open_spiel torch
    python benchmarks/gradients/against_openspiel.py --seconds 60

OpenSpiel's agents run with the settings of its own Leduc example (NFSP) or its defaults but for
faster rates and more entropy (QPG, of which the last policy is all there is), for so many seconds
of one processor each, and are judged ten times on the way. Ours, with its defaults, then runs until
the same policy of it is at most as exploitable as theirs was at its best. Seconds are those of the
process; judging counts in neither, compilation in ours, and again without it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

CHUNK = 20  # iterations of ours between two judgements
JUDGED = 10


def played(agents: list[Any], environment: Any, judge: Callable[[], float], limit: float) -> Any:
    """The least exploitability, the seconds until then, and episodes per second."""
    found, episodes, spent = [], 0, 0.0
    for part in range(1, JUDGED + 1):
        began = time.process_time()
        while spent + time.process_time() - began < limit * part / JUDGED:
            step = environment.reset()
            while not step.last():
                acting = agents[step.observations["current_player"]].step(step)
                step = environment.step([acting.action])
            for agent in agents:
                agent.step(step)
            episodes += 1
        spent += time.process_time() - began
        found.append((judge(), spent))
    return *min(found), episodes / spent


def theirs(name: str, limit: float) -> tuple[float, float, float]:
    """What they come to."""
    import numpy as np
    import torch
    from open_spiel.python import policy, rl_environment
    from open_spiel.python.algorithms import exploitability
    from open_spiel.python.pytorch import nfsp, policy_gradient

    torch.set_num_threads(1)
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 - what OpenSpiel draws from
    environment = rl_environment.Environment("leduc_poker")
    environment.seed(0)
    size = environment.observation_spec()["info_state"][0]
    actions = environment.action_spec()["num_actions"]
    agents: list[Any] = []
    for player in range(2):
        if name == "qpg":
            rates = {"critic_learning_rate": 0.01, "pi_learning_rate": 0.01, "entropy_cost": 0.1}
            agents.append(
                policy_gradient.PolicyGradient(player, size, actions, loss_str="qpg", **rates)
            )
            continue
        buffers = {"replay_buffer_capacity": 200_000, "reservoir_buffer_capacity": 2_000_000}
        agents.append(
            nfsp.NFSP(
                player,
                size,
                actions,
                [128],
                anticipatory_param=0.1,
                seed=player,
                update_target_network_every=19_200,
                epsilon_decay_duration=20_000_000,
                epsilon_start=0.06,
                epsilon_end=0.001,
                **buffers,
            )
        )

    def probabilities(state: Any) -> dict[int, float]:
        player, legal = state.current_player(), state.legal_actions()
        seen: dict[str, Any] = {"info_state": [None, None], "legal_actions": [None, None]}
        seen["info_state"][player] = state.information_state_tensor(player)
        seen["legal_actions"][player], seen["current_player"] = legal, player
        step = rl_environment.TimeStep(seen, None, None, rl_environment.StepType.MID)
        if name == "qpg":
            said = agents[player].step(step, is_evaluation=True).probs
        else:
            with agents[player].temp_mode_as(nfsp.MODE.AVERAGE_POLICY):
                said = agents[player].step(step, is_evaluation=True).probs
        return {action: float(said[action]) for action in legal}

    game = environment.game

    def judge() -> float:
        table = policy.tabular_policy_from_callable(game, probabilities)
        return exploitability.nash_conv(game, table) / 2.0

    return played(agents, environment, judge, limit)


def ours(name: str, wanted: float) -> tuple[float, float, float, float]:
    """Exploitability, seconds with and without compilation, episodes per second."""
    import jax

    import counterplay as cp

    tree, algorithm = cp.build_tree("leduc_poker"), cp.load_algorithm(name)
    policy = "network" if name == "nfsp" else "current"
    began = time.process_time()
    memory = algorithm.step(tree, algorithm.init(tree, seed=1), CHUNK)
    algorithm.policies(tree, memory)
    compiling, spent = time.process_time() - began, 0.0
    memory = algorithm.init(tree)
    while True:
        began = time.process_time()
        memory = algorithm.step(tree, memory, CHUNK)
        jax.block_until_ready(memory.state)
        spent += time.process_time() - began
        found = cp.exploitability(tree, algorithm.policies(tree, memory)[policy])
        if found <= wanted:
            rate = memory.iteration * algorithm.num_episodes / spent
            return found, compiling + spent, spent, rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    for name in ("nfsp", "qpg"):
        first, long, pace = theirs(name, given.seconds)
        print(
            f"{name} of OpenSpiel: {first:.3f} in {long:.0f} s, {pace:,.0f} episodes/s", flush=True
        )
        second, whole, short, rate = ours(name, first)
        print(f"{name} of ours: {second:.3f} in {short:.2f} s, {whole:.1f} s with compilation")
        print(f"{long / short:,.0f} ({long / whole:.0f}) times fewer seconds", flush=True)
        print(f"{rate / pace:,.0f} times as many episodes per second", flush=True)


if __name__ == "__main__":
    main()
