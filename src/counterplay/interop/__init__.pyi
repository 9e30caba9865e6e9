"""The public names of this package, written by tools/exports.py; do not edit."""

from counterplay.interop.gymnasium_env import BestResponseEnv as BestResponseEnv
from counterplay.interop.gymnasium_env import judge_agent as judge_agent
from counterplay.interop.gymnasium_registration import (
    register_environments as register_environments,
)
from counterplay.interop.onnx_policy import write_onnx_policy as write_onnx_policy
from counterplay.interop.openspiel_game import to_openspiel as to_openspiel
from counterplay.interop.openspiel_policy import from_openspiel_policy as from_openspiel_policy
from counterplay.interop.openspiel_policy import to_pyspiel_policy as to_pyspiel_policy
from counterplay.interop.openspiel_policy import to_python_policy as to_python_policy
from counterplay.interop.pettingzoo_env import CounterplayAEC as CounterplayAEC
from counterplay.interop.portable_policy import write_portable_policy as write_portable_policy
from counterplay.interop.portable_policy import write_runtime_module as write_runtime_module
from counterplay.interop.vector_env import BestResponseVectorEnv as BestResponseVectorEnv

__all__ = [
    "BestResponseEnv",
    "BestResponseVectorEnv",
    "CounterplayAEC",
    "from_openspiel_policy",
    "judge_agent",
    "register_environments",
    "to_openspiel",
    "to_pyspiel_policy",
    "to_python_policy",
    "write_onnx_policy",
    "write_portable_policy",
    "write_runtime_module",
]
