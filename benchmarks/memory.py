"""Peak memory per node while a tree is built: where `estimate.BYTES_PER_NODE` comes from.

python benchmarks/memory.py "goofspiel(num_cards=5)"
"""

from __future__ import annotations

import resource
import sys
import time

import counterplay as cp

spec = sys.argv[1] if len(sys.argv) > 1 else "liars_dice"
game = cp.load_game(spec)
cp.build_tree(cp.load_game("kuhn_poker"))  # imports and compilation first
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
began = time.perf_counter()
tree = cp.build_tree(game)
took = time.perf_counter() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
print(f"{spec}: {tree.num_nodes:,} nodes, {tree.num_infosets:,} infosets in {took:.1f} s")
kept = tree.num_bytes / tree.num_nodes
print(f"peak {peak / tree.num_nodes:.0f} bytes a node, arrays kept {kept:.0f}")
