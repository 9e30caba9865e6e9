"""Steps per second of the vector environment, beside the single one.

python -m benchmarks.speed.vector_env
"""

from __future__ import annotations

import time

import numpy as np

import counterplay as cp
from counterplay.interop import BestResponseEnv, BestResponseVectorEnv

SECONDS = 2.0


def vector_rate(policy: cp.Policy, num_envs: int) -> float:
    """Return the steps a second of a learner that plays uniformly, its sampling included."""
    env = BestResponseVectorEnv(policy, 0, num_envs)
    rng = np.random.default_rng(0)
    _, infos = env.reset(seed=0)
    steps, began = 0, time.process_time()
    while time.process_time() - began < SECONDS:
        scores = rng.random(infos["action_mask"].shape) * infos["action_mask"]
        infos = env.step(scores.argmax(axis=1))[4]
        steps += num_envs
    return steps / (time.process_time() - began)


def single_rate(policy: cp.Policy) -> float:
    """Return the steps a second of the single environment."""
    env = BestResponseEnv(policy, 0)
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=0)
    steps, began = 0, time.process_time()
    while time.process_time() - began < SECONDS:
        mask = info["action_mask"]
        _, _, done, _, info = env.step((rng.random(mask.shape) * mask).argmax())
        if done:
            _, info = env.reset()
        steps += 1
    return steps / (time.process_time() - began)


def main() -> None:
    for spec in ("kuhn_poker", "leduc_poker", "liars_dice", "goofspiel(num_cards=4)"):
        policy = cp.uniform_policy(spec)
        rates = ", ".join(f"{n:,}: {vector_rate(policy, n):,.0f}" for n in (64, 512, 4096))
        print(f"{spec:24} steps/s  single {single_rate(policy):,.0f}  vector {rates}")


if __name__ == "__main__":
    main()
