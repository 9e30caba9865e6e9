"""Games and policies of other libraries; each part is an optional extra.

Public names are imported when they are first used.
"""

from __future__ import annotations

from counterplay.lazy_exports import lazy_exports

_EXPORTS = {
    "gymnasium_env": ["BestResponseEnv", "judge_agent"],
    "gymnasium_registration": ["register_environments"],
    "onnx_policy": ["write_onnx_policy"],
    "openspiel_game": ["to_openspiel"],
    "openspiel_policy": ["from_openspiel_policy", "to_pyspiel_policy", "to_python_policy"],
    "pettingzoo_env": ["CounterplayAEC"],
    "vector_env": ["BestResponseVectorEnv"],
    "portable_policy": ["write_portable_policy", "write_runtime_module"],
}

__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
