"""Test whether a Ray cluster demands a token of its clients, by calling it without one.

    python -m counterplay.distributed.ray_probe HOST:PORT

The environment of the client determines what the client sends, not what the cluster demands. Ray
reads it once per process, so `check_protected` starts a separate process for this call.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from typing import Any

from counterplay.errors import ConfigError

PROBE_SECONDS = 20
STARTUP_SECONDS = 60  # for importing Ray on a busy machine
PROTECTED, OPEN, UNKNOWN = 0, 3, 4  # exit codes of the probe
WITHOUT_TOKEN = {
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_gcs_rpc_server_connect_timeout_s": str(PROBE_SECONDS),
}


def check_protected(address: str) -> None:
    """Raise `ConfigError` unless the cluster at `host:port` refuses a client without a token."""
    environment = {key: value for key, value in os.environ.items() if "RAY_AUTH" not in key}
    command = [sys.executable, "-m", "counterplay.distributed.ray_probe", address]
    try:
        process = subprocess.run(
            command,
            env=environment | WITHOUT_TOKEN,
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS + STARTUP_SECONDS,
        )
        code, problem = process.returncode, process.stdout.strip()
    except subprocess.TimeoutExpired:
        code, problem = UNKNOWN, "it does not answer"
    if code == OPEN:
        raise ConfigError(
            f"the cluster at {address} demands no token, so any computer on its network can run "
            "code there: start it again with RAY_AUTH_MODE=token and RAY_AUTH_TOKEN on all machines"
        )
    if code != PROTECTED:
        raise ConfigError(
            f"cannot find out whether the cluster at {address} demands a token: "
            f"{problem[:300] or 'the probe has failed'}"
        )


def probe(address: str) -> tuple[int, str]:
    """Call a cluster without a token, and return the exit code and the problem if `UNKNOWN`."""
    gcs_client: Any = importlib.import_module("ray._raylet").GcsClient
    refusal: Any = importlib.import_module("ray.exceptions").AuthenticationError
    try:
        gcs_client(address=address).get_all_node_info(timeout=PROBE_SECONDS)
    except refusal:
        return PROTECTED, ""
    except Exception as error:  # Ray raises errors of many types
        return UNKNOWN, " ".join(str(error).split())
    return OPEN, ""


if __name__ == "__main__":
    exit_code, reason = probe(sys.argv[1])
    sys.stdout.write(reason)
    sys.stdout.flush()
    os._exit(exit_code)  # without the output of Ray's shutdown
