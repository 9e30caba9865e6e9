"""Parameters of the wrong type, given from Python: one sentence when the object is made."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import pytest

import counterplay as cp
from counterplay.algorithms.population.learned_oracles import LEARNED_ORACLES
from counterplay.registry import REGISTRIES, import_registered

WRONG = {bool: "yes", int: 1.5, float: "x", str: 3, tuple: 7}
CLASSES = [
    (name, registry) for registry in (*REGISTRIES.values(), LEARNED_ORACLES) for name in registry
]


@pytest.mark.parametrize(("name", "registry"), CLASSES, ids=[name for name, _ in CLASSES])
def test_every_parameter_is_checked_by_type(name, registry):
    if "deep" in registry[name]:
        pytest.importorskip("jax")
    cls = import_registered(registry, name)
    assert is_dataclass(cls)
    needed = {"payoffs": (((1.0,),), ((1.0,),))}
    names = {field.name for field in fields(cls)}
    given = {key: value for key, value in needed.items() if key in names}
    for field in fields(cls):
        if type(field.default) not in WRONG:
            continue
        wrong = WRONG[type(field.default)]
        with pytest.raises(cp.ConfigError, match=f"{field.name} is .*, must be of type") as caught:
            cls(**given | {field.name: wrong})
        assert "\n" not in str(caught.value)
        if type(field.default) in (int, float, str):
            with pytest.raises(cp.ConfigError, match=f"{field.name} is None, must be of type"):
                cls(**given | {field.name: None})
