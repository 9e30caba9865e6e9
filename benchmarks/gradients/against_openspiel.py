"""OpenSpiel's NFSP in JAX and ours, one after the other in one process, on Leduc poker.

    pip install open_spiel flax chex orbax-checkpoint
    python benchmarks/gradients/against_openspiel.py --seconds 120

OpenSpiel's runs with the settings of its own Leduc example for so many seconds of one processor,
its exploitability is taken, and ours runs until its average network is at most as exploitable.
Compilation counts in both, judging in neither.
"""

from __future__ import annotations

import argparse
import time

CHUNK = 100  # iterations of ours between two judgements


def theirs(limit: float) -> tuple[float, float, int]:
    """Exploitability, seconds and episodes."""
    import jax
    from open_spiel.python import policy, rl_environment
    from open_spiel.python.algorithms import exploitability
    from open_spiel.python.jax import nfsp

    environment = rl_environment.Environment("leduc_poker")
    size, actions = (
        environment.observation_spec()["info_state"][0],
        environment.action_spec()["num_actions"],
    )
    began, episodes = time.process_time(), 0
    agents = [
        nfsp.NFSP(
            player,
            size,
            actions,
            (128,),
            reservoir_buffer_capacity=2_000_000,
            anticipatory_param=0.1,
            replay_buffer_capacity=200_000,
            epsilon_decay_duration=3_000_000,
            epsilon_start=0.06,
            epsilon_end=0.001,
            allow_checkpointing=False,
        )
        for player in range(2)
    ]
    while time.process_time() - began < limit:
        step = environment.reset()
        while not step.last():
            acting = agents[step.observations["current_player"]].step(step)
            step = environment.step([acting.action])
        for agent in agents:
            agent.step(step)
        episodes += 1
    seconds = time.process_time() - began

    class Average(policy.Policy):
        def action_probabilities(self, state, player_id=None):
            player = state.current_player()
            legal = state.legal_actions()
            seen = {"info_state": [None, None], "legal_actions": [None, None]}
            seen["info_state"][player] = state.information_state_tensor(player)
            seen["legal_actions"][player] = legal
            seen["current_player"] = player
            step = rl_environment.TimeStep(seen, None, None, None)
            with agents[player].temp_mode_as(nfsp.MODE.AVERAGE_POLICY):
                found = agents[player].step(step, is_evaluation=True).probs
            return {action: float(found[action]) for action in legal}

    game = environment.game
    table = policy.tabular_policy_from_callable(game, Average(game, [0, 1]).action_probabilities)
    jax.clear_caches()
    return exploitability.nash_conv(game, table) / 2.0, seconds, episodes


def ours(wanted: float) -> tuple[float, float, int]:
    import jax

    import counterplay as cp

    tree, algorithm = cp.build_tree("leduc_poker"), cp.NFSP()
    began, judging = time.process_time(), 0.0
    memory = algorithm.init(tree)
    while True:
        memory = algorithm.step(tree, memory, CHUNK)
        jax.block_until_ready(memory.state)
        paused = time.process_time()
        found = cp.exploitability(tree, algorithm.policies(tree, memory)["network"])
        judging += time.process_time() - paused
        if found <= wanted:
            seconds = time.process_time() - began - judging
            return found, seconds, memory.iteration * algorithm.episodes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    given = parser.parse_args()
    first, long, episodes = theirs(given.seconds)
    print(f"OpenSpiel: {first:.3f} after {long:.1f} s, {episodes:,} episodes", flush=True)
    second, short, more = ours(first)
    print(f"Counterplay: {second:.3f} after {short:.1f} s, {more:,} episodes")
    rate = more / short / (episodes / long)
    print(f"{long / short:.0f} times the seconds; ours {rate:,.0f} times the episodes per second")


if __name__ == "__main__":
    main()
