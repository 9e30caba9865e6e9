"""Compare NFSP and QPG with OpenSpiel's in PyTorch, in one process on Leduc poker.

    pip install open_spiel torch
    python -m benchmarks.deep.openspiel_nfsp_qpg --seconds 60

OpenSpiel's agents use the settings of its own Leduc example (NFSP), or its defaults with higher
rates and more entropy (QPG, which has only a current policy). They run for a number of processor
seconds and are evaluated ten times on the way. Ours, with its defaults, runs until the same policy
is at most as exploitable as OpenSpiel's best. Evaluation counts in neither time; compilation counts
in one of our two times.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.timing import Stopwatch, first_paragraph

ITERATIONS_PER_EVALUATION = 20  # of ours
NUM_EVALUATIONS = 10  # of OpenSpiel's agents


class OpenSpielResult(NamedTuple):
    """The best policy of OpenSpiel's agents."""

    exploitability: float
    seconds: float  # until it was found
    episodes_per_second: float


class CounterplayResult(NamedTuple):
    """Our policy at OpenSpiel's exploitability."""

    exploitability: float
    seconds: float
    seconds_with_compilation: float
    episodes_per_second: float


def train_agents(
    agents: list[Any], environment: Any, evaluate: Callable[[], float], max_seconds: float
) -> OpenSpielResult:
    """Play episodes for a time; return the best of the evaluations."""
    evaluations, num_episodes, seconds = [], 0, 0.0
    for part in range(1, NUM_EVALUATIONS + 1):
        start = time.process_time()
        while seconds + time.process_time() - start < max_seconds * part / NUM_EVALUATIONS:
            step = environment.reset()
            while not step.last():
                output = agents[step.observations["current_player"]].step(step)
                step = environment.step([output.action])
            for agent in agents:
                agent.step(step)
            num_episodes += 1
        seconds += time.process_time() - start
        evaluations.append((evaluate(), seconds))
    return OpenSpielResult(*min(evaluations), num_episodes / seconds)


def new_agents(name: str, info_state_size: int, num_actions: int) -> list[Any]:
    """Return one agent per player."""
    from open_spiel.python.pytorch import nfsp, policy_gradient

    if name == "qpg":
        rates = {"critic_learning_rate": 0.01, "pi_learning_rate": 0.01, "entropy_cost": 0.1}
        return [
            policy_gradient.PolicyGradient(
                player, info_state_size, num_actions, loss_str="qpg", **rates
            )
            for player in range(2)
        ]
    return [
        nfsp.NFSP(
            player,
            info_state_size,
            num_actions,
            [128],
            anticipatory_param=0.1,
            seed=player,
            update_target_network_every=19_200,
            epsilon_decay_duration=20_000_000,
            epsilon_start=0.06,
            epsilon_end=0.001,
            replay_buffer_capacity=200_000,
            reservoir_buffer_capacity=2_000_000,
        )
        for player in range(2)
    ]


def measure_openspiel(name: str, max_seconds: float) -> OpenSpielResult:
    """Train OpenSpiel's agents and return their best policy."""
    import numpy as np
    import torch
    from open_spiel.python import policy, rl_environment
    from open_spiel.python.algorithms import exploitability
    from open_spiel.python.pytorch import nfsp

    torch.set_num_threads(1)
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 - OpenSpiel uses the global generator
    environment = rl_environment.Environment("leduc_poker")
    environment.seed(0)
    info_state_size = environment.observation_spec()["info_state"][0]
    agents = new_agents(name, info_state_size, environment.action_spec()["num_actions"])

    def action_probs(state: Any) -> dict[int, float]:
        player, legal = state.current_player(), state.legal_actions()
        observations: dict[str, Any] = {"info_state": [None, None], "legal_actions": [None, None]}
        observations["info_state"][player] = state.information_state_tensor(player)
        observations["legal_actions"][player] = legal
        observations["current_player"] = player
        step = rl_environment.TimeStep(observations, None, None, rl_environment.StepType.MID)
        if name == "qpg":
            probs = agents[player].step(step, is_evaluation=True).probs
        else:
            with agents[player].temp_mode_as(nfsp.MODE.AVERAGE_POLICY):
                probs = agents[player].step(step, is_evaluation=True).probs
        return {action: float(probs[action]) for action in legal}

    game = environment.game

    def evaluate() -> float:
        table = policy.tabular_policy_from_callable(game, action_probs)
        return exploitability.nash_conv(game, table) / 2.0

    return train_agents(agents, environment, evaluate, max_seconds)


def measure_counterplay(name: str, target: float) -> CounterplayResult:
    """Run our algorithm until it is at most as exploitable as the target."""
    import jax

    import counterplay as cp

    tree, algorithm = cp.build_tree("leduc_poker"), cp.load_algorithm(name)
    policy_name = "network" if name == "nfsp" else "current"
    with Stopwatch() as compilation:
        memory = algorithm.init(tree, seed=1)
        memory = algorithm.step(tree, memory, ITERATIONS_PER_EVALUATION)
        algorithm.policies(tree, memory)
    memory, watch, value = algorithm.init(tree), Stopwatch(), float("inf")
    while value > target:
        with watch:
            memory = algorithm.step(tree, memory, ITERATIONS_PER_EVALUATION)
            jax.block_until_ready(memory.state)
        value = cp.exploitability(tree, algorithm.policies(tree, memory)[policy_name])
    seconds = watch.cpu_seconds
    rate = memory.iteration * algorithm.num_episodes / seconds
    return CounterplayResult(value, seconds, compilation.cpu_seconds + seconds, rate)


def main() -> None:
    """Print the comparison of both methods."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--seconds", type=float, default=60.0, help="for each OpenSpiel method")
    args = parser.parse_args()
    for name in ("nfsp", "qpg"):
        theirs = measure_openspiel(name, args.seconds)
        print(
            f"{name}, OpenSpiel: {theirs.exploitability:.3f} in {theirs.seconds:.0f} s, "
            f"{theirs.episodes_per_second:,.0f} episodes/s",
            flush=True,
        )
        ours = measure_counterplay(name, theirs.exploitability)
        print(
            f"{name}, Counterplay: {ours.exploitability:.3f} in {ours.seconds:.2f} s, "
            f"{ours.seconds_with_compilation:.1f} s with compilation"
        )
        ratio = theirs.seconds / ours.seconds
        with_compilation = theirs.seconds / ours.seconds_with_compilation
        rate = ours.episodes_per_second / theirs.episodes_per_second
        print(f"ratio of seconds: {ratio:,.0f} ({with_compilation:.0f} with compilation)")
        print(f"ratio of episodes per second: {rate:,.0f}", flush=True)


if __name__ == "__main__":
    main()
