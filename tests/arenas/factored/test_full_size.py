"""Games of 6 to 27 million infosets, which take minutes and gigabytes."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.large_games.factored_arenas import compare_opening
from pytest import approx

import counterplay as cp
from counterplay.core.policy import policy_from_weights

pytestmark = [pytest.mark.slow, pytest.mark.large]

UNIFORM = [  # infosets, value and best responses of uniform play
    ("dark_hex", 6_072_917, 1 / 3, 1.0, 787 / 945),
    ("phantom_tic_tac_toe", 5_990_669, 187 / 630, 61 / 64, 118 / 189),
    ("dark_hex(gameversion=adh)", 27_325_277, 0.266925705467, 0.908030202822, 0.617179232804),
    (
        "phantom_tic_tac_toe(gameversion=abrupt)",
        23_310_269,
        0.316274827832,
        0.847139550265,
        0.391528880071,
    ),
    (
        "liars_dice(numdice=2,dice_sides=5)",
        15_728_640,
        -0.014,
        0.894314218741,
        0.886881042917,
    ),
]


@pytest.mark.parametrize(("spec", "infosets", "value", "first", "second"), UNIFORM)
def test_uniform_play(spec, infosets, value, first, second):
    arena = cp.build_arena(cp.load_game(spec))
    assert arena.num_infosets == infosets
    judged = cp.judge(arena, cp.uniform_policy(arena))
    assert judged.values.tolist() == approx([value, -value], abs=1e-9)
    assert judged.best_values.tolist() == approx([first, second], abs=1e-9)


def test_an_opening_walked_plainly():
    arena = cp.build_arena(cp.load_game("dark_hex"))
    count, _, error, size = compare_opening(arena)
    assert count > 200_000_000
    assert size > 1_000_000
    assert error <= 1e-12


def test_a_value_between_its_bounds():
    arena = cp.build_arena(cp.load_game("dark_hex"))
    algorithm = cp.algorithms.PCFRPlus()
    memory, newer = algorithm.init(arena), np.zeros(arena.num_sequences)
    for t in range(1, 21):
        memory = algorithm.step(arena, memory)
        newer += t**2 * memory.reach[:-1]  # the policies of all players after iteration t
    average = algorithm.policies(arena, memory)["average"]
    judged = cp.judge(arena, average)
    first, second = judged.best_values
    assert -second <= 1.0 <= first + 1e-9
    assert judged.exploitability == approx(0.00079, abs=1e-5)  # as docs/generated.md has it
    # the same with the first player's policies that the second one has learned against
    shifted = average.probabilities.copy()
    end = int(arena.offset[arena.form.player_infoset[1]])
    shifted[:end] = policy_from_weights(arena, newer).probabilities[:end]
    assert cp.exploitability(arena, cp.Policy(arena, shifted)) == approx(0.000118, abs=1e-6)
