"""Decisions per second of the one-file runtime, and the time of its import and of loading.

python -m benchmarks.speed.portable_runtime
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import counterplay as cp
from counterplay.interop.portable_policy import write_portable_policy, write_runtime_module

CHILD = """
import json, sys, time
start = time.perf_counter()
import counterplay_runtime
imported = time.perf_counter()
policy = counterplay_runtime.load(sys.argv[1])
loaded = time.perf_counter()
infosets = json.load(open(sys.argv[2]))
rates = {}
for name in ("sample", "probabilities"):
    ask = getattr(policy, name)
    began = time.process_time()
    for _ in range(max(1, 300_000 // len(infosets))):
        for arguments in infosets:
            ask(*arguments)
    seconds = time.process_time() - began
    rates[name] = max(1, 300_000 // len(infosets)) * len(infosets) / seconds
print(json.dumps([imported - start, loaded - imported, rates]))
"""


def measure(name: str, policy: object, infosets: list[list[object]]) -> None:
    """Print the speed of one exported policy, measured in a process without this package."""
    import json

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        write_portable_policy(policy, path / "policy.npz")  # type: ignore[arg-type]
        write_runtime_module(path)
        (path / "infosets.json").write_text(json.dumps(infosets))
        answer = subprocess.run(
            [sys.executable, "-c", CHILD, "policy.npz", "infosets.json"],
            cwd=path,
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
        )
        size = (path / "policy.npz").stat().st_size
    imported, loaded, rates = json.loads(answer.stdout)
    print(
        f"{name:28} {size / 1000:9,.0f} kB  import {1000 * imported:5.1f} ms  "
        f"load {1000 * loaded:6.1f} ms  sample {rates['sample']:9,.0f}/s  "
        f"probabilities {rates['probabilities']:9,.0f}/s"
    )


def main() -> None:
    for spec in ("kuhn_poker", "leduc_poker", "liars_dice"):
        policy = cp.random_policy(cp.build_tree(cp.load_game(spec)), seed=1)
        measure(spec, policy, [[player, key] for player, key, _ in policy.items()])
    from counterplay.algorithms.deep.common.network_policy import NetworkPolicy
    from counterplay.algorithms.deep.common.networks import new_nets

    game = cp.load_game("leduc_poker")
    deal = game.next_state(game.next_state(game.initial_state(), 0), 1)
    row = list(map(float, game.observation(deal, 0)))
    nets = new_nets(np.random.default_rng(0), 2, (len(row), 64, 64, 64, 3))
    legal = list(game.actions(deal))
    measure("network 3 x 64 on Leduc", NetworkPolicy(game, (nets,)), [[0, row, legal]])
    print(f"measured on {time.strftime('%Y-%m-%d')}")


if __name__ == "__main__":
    main()
