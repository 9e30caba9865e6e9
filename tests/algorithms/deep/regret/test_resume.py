"""Interrupted runs of regret networks end with the same bits as uninterrupted ones."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("jax")

from counterplay.experiment import resume, run
from counterplay.experiment.config import load_config
from tests.experiment.conftest import config, load_final_state, load_untimed_records

CONFIGS = Path(__file__).parents[4] / "configs" / "deep"
SMALL_NETS = {"hidden_sizes": [4], "num_traversals": 3, "train_steps": 2, "ensemble_size": 2}
AVERAGE = {"average_hidden_sizes": [4], "average_train_steps": 2}
CRITIC = {"critic_hidden_sizes": [4], "critic_target_updates": 2, "critic_train_steps": 2}
CRITIC |= {"critic_batch_size": 4}
RESERVOIR = {"reservoir_size": 20, "batch_size": 4, "warm_start": False, "train_steps_power": 0.5}
METHODS = {
    "sd_cfr": RESERVOIR,
    "deep_cfr": AVERAGE | RESERVOIR,
    "dream": CRITIC | RESERVOIR,
    "escher": AVERAGE | CRITIC | RESERVOIR,
    "vr_deep_dcfr_plus": AVERAGE | CRITIC,
    "vr_deep_pdcfr_plus": AVERAGE | CRITIC,
}


@pytest.mark.parametrize("name", METHODS)
def test_resumed_runs_are_the_same_bits(tmp_path, name):
    """Including reservoirs, critics, averages and the states of optimisers."""
    every = {"max_steps": 6, "evaluate_every": 2, "checkpoint_every": 3}
    chosen = SMALL_NETS | METHODS[name]
    units = {key: chosen.pop(key) for key in list(chosen) if key.endswith("hidden_sizes")}
    whole = config(name, **every, **chosen) | {"networks": units}
    run(whole, tmp_path / "whole")
    answers = iter([False, True])
    folder = run(whole, tmp_path / "run", stop=lambda: next(answers, True)).folder
    assert 0 < load_final_state(folder)[0] < 6
    while resume(folder, stop=lambda: True).stopped:
        pass
    assert load_final_state(folder) == load_final_state(tmp_path / "whole")
    assert load_untimed_records(folder) == load_untimed_records(tmp_path / "whole")
    assert any("regret_samples.0.sample_regret" in path for path in load_final_state(folder)[2])


@pytest.mark.parametrize("name", METHODS)
def test_configs_name_their_method_and_game(name):
    games = {"kuhn", "kuhn3", "leduc", "goofspiel4", "liars_dice5"}
    found = {path.stem: load_config(path) for path in CONFIGS.glob(f"{name}_*.json")}
    missing = {"kuhn3"} if name.startswith("vr_") else set()  # they are for two players
    assert set(found) == {f"{name}_{game}" for game in games - missing}
    assert all((c.name, c.algorithm_name) == (stem, name) for stem, c in found.items())


def test_resumed_runs_on_rules_are_the_same_bits(tmp_path):
    """On a game too large for a tree, including reservoirs and the transitions of the critic."""
    name, game = "escher", "liars_dice(numdice=2,dice_sides=4)"
    chosen = SMALL_NETS | METHODS[name] | {"critic_buffer_size": 90}
    units = {key: chosen.pop(key) for key in list(chosen) if key.endswith("hidden_sizes")}
    every = {"max_steps": 4, "evaluate_every": 4, "checkpoint_every": 2}
    whole = config(name, game="liars_dice", params={"numdice": 2, "dice_sides": 4}, **every)
    whole["spec"] |= chosen
    whole |= {"networks": units, "arena": "rules"}
    run(whole, tmp_path / "whole")
    answers = iter([False, True])
    folder = run(whole, tmp_path / "run", stop=lambda: next(answers, True)).folder
    assert 0 < load_final_state(folder, game)[0] < 4
    while resume(folder, stop=lambda: True).stopped:
        pass
    assert load_final_state(folder, game) == load_final_state(tmp_path / "whole", game)
    assert load_untimed_records(folder) == load_untimed_records(tmp_path / "whole")
    assert load_untimed_records(folder)[-1]["touched"] > 4 * 2 * 3 * 2
    assert any("transitions.observation" in path for path in load_final_state(folder, game)[2])
