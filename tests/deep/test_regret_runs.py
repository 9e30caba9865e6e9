"""Runs of regret networks that are interrupted: what follows is as if they had not been."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")

from counterplay.experiment import resume, run  # noqa: E402
from tests.experiment.conftest import config, final, untimed  # noqa: E402

SMALL = {"regret_units": [4], "traversals": 3, "steps": 2, "past_networks": 2}
AVERAGE = {"average_units": [4], "average_steps": 2}
CRITIC = {"critic_units": [4], "critic_rounds": 2, "critic_steps": 2, "critic_batch": 4}
RESERVOIR = {"reservoir_size": 20, "batch": 4, "warm": False, "growth": 0.5}
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
    """Reservoirs, critics, averages and the optimisers' memories among them."""
    every = {"max_steps": 6, "evaluate_every": 2, "checkpoint_every": 3}
    chosen = SMALL | METHODS[name]
    units = {key: chosen.pop(key) for key in list(chosen) if key.endswith("_units")}
    whole = config(name, **every, **chosen) | {"networks": units}
    run(whole, tmp_path / "whole")
    answers = iter([False, True])
    folder = run(whole, tmp_path / "run", stop=lambda: next(answers, True)).folder
    assert 0 < final(folder)[0] < 6
    while resume(folder, stop=lambda: True).stopped:
        pass
    assert final(folder) == final(tmp_path / "whole")
    assert untimed(folder) == untimed(tmp_path / "whole")
    assert any("replay.0.regret" in path for path in final(folder)[2])
