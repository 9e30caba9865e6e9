"""Ray: refused without a token; two nodes, and the same bits as here."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import counterplay as cp
from counterplay.cli.main import main
from counterplay.distributed.ray_cluster import RayExecutor
from counterplay.distributed.ray_probe import check_protected
from tests.distributed.test_sweeps import TINY, all_results
from tests.distributed.toy_units import InProcessExecutor

whole = pytest.mark.slow  # a minute or two; `make cluster` runs them
ALONE = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


def find_obstacle():
    """Return the reason why no cluster can run here, or ""."""
    if find_spec("ray") is None:
        return "ray is not installed"
    if not (shutil.which("unshare") and shutil.which("ip")):
        return "there is no unshare or no ip here"
    done = subprocess.run([*ALONE, "ip", "link", "set", "lo", "up"], capture_output=True, text=True)
    return f"namespaces are forbidden here: {done.stderr.strip()}" if done.returncode else ""


def listening():
    """The sockets that listen outside of the namespace."""
    found = set()
    for name in ("tcp", "tcp6"):
        path = Path("/proc/net") / name
        lines = path.read_text().splitlines()[1:] if path.exists() else []
        found |= {line.split()[1].rpartition(":")[2] for line in lines if line.split()[3] == "0A"}
    return found


def run_scenario(folder, how):
    """Results of the scenario, run in a separate network."""
    if problem := find_obstacle():
        pytest.skip(problem)
    before = listening()
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [*sys.path, os.getcwd()]))}
    command = [*ALONE, sys.executable, "-m", "tests.distributed.cluster_scenario", str(folder), how]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    ours = {f"{6379:04X}"}
    assert not (listening() - before) & ours
    return folder, json.loads((folder / "found.json").read_text())


@pytest.fixture(scope="module")
def whole_scenario(tmp_path_factory):
    return run_scenario(
        tmp_path_factory.mktemp("c"), "whole"
    )  # short: Ray's sockets have long names


@pytest.fixture(scope="module")
def quick_scenario(tmp_path_factory):
    return run_scenario(tmp_path_factory.mktemp("q"), "quick")


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The study in this process."""
    return cp.sweep(TINY, InProcessExecutor(), runs_folder=tmp_path_factory.mktemp("here"))


def test_same_bits_here_on_one_node_and_on_two(quick_scenario, here):
    folder, found = quick_scenario
    expected = all_results(here.folder)
    assert found["cores"] == 2
    for place in ("one", "two"):
        assert all_results(folder / place / "tiny") == expected, place
        assert (
            cp.distributed.load_study_ranking(folder / place / "tiny").proposals == here.proposals
        )


@whole
def test_a_killed_worker_and_a_killed_node_cost_nothing(whole_scenario, here):
    folder, found = whole_scenario
    assert found["killed"] == ["worker", "node"]
    assert all_results(folder / "killed" / "tiny") == all_results(here.folder)


@whole
def test_walks_have_the_same_bits(whole_scenario):
    assert whole_scenario[1]["walks"] == [True] * 4  # regret, policy, policy_sum, nodes_touched
    assert whole_scenario[1]["deep walks"]


@whole
def test_a_wrong_token_is_refused(whole_scenario):
    code, text = whole_scenario[1]["refused"]
    assert code == 2 and text.count("\n") == 1
    assert text.startswith("error: cannot join the cluster at 127.0.0.1:6379")


@whole
def test_a_cluster_that_asks_for_no_token_is_not_joined(whole_scenario):
    """The client's variables are as they should be; the cluster's are not."""
    code, text = whole_scenario[1]["open"]
    assert code == 2 and text.count("\n") == 1
    assert text.startswith("error: the cluster at 127.0.0.1:6379 demands no token")


RAYLET = """
class GcsClient:
    def __init__(self, address):
        import os
        from ray.exceptions import AuthenticationError
        assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
        assert "RAY_AUTH_TOKEN" not in os.environ and os.environ["RAY_AUTH_MODE"] == "disabled"
        {then}
    def get_all_node_info(self, timeout):
        return {{}}
"""


@pytest.mark.parametrize(
    ("then", "problem"),
    [
        ("raise AuthenticationError('InvalidAuthToken')", None),
        ("pass", "demands no token"),
        ("raise RuntimeError('Timed out')", "cannot find out whether .* demands a token: Timed"),
    ],
)
def test_the_cluster_itself_is_asked_without_a_token(tmp_path, monkeypatch, then, problem):
    package = tmp_path / "ray"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "exceptions.py").write_text("class AuthenticationError(Exception): pass")
    (package / "_raylet.py").write_text(RAYLET.format(then=then))
    paths = [str(tmp_path), *filter(None, sys.path)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 32)
    if problem is None:
        check_protected("127.0.0.1:1")
        return
    with pytest.raises(cp.ConfigError, match=problem):
        check_protected("127.0.0.1:1")


def test_a_cluster_without_token_is_not_used(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    study = tmp_path / "grid.json"
    study.write_text(json.dumps(TINY))
    assert main(["sweep", str(study), "--on", "auto", "--runs", str(tmp_path / "runs")]) == 2
    assert "set RAY_AUTH_MODE=token" in capsys.readouterr().err
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH", raising=False)
    with pytest.raises(cp.ConfigError, match="RAY_AUTH_TOKEN is not set"):
        RayExecutor("auto")


def test_a_cluster_that_is_not_there(tmp_path, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 32)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(cp.ConfigError, match=f"cannot reach a cluster at 127.0.0.1:{port}: "):
        cp.sweep(TINY, f"127.0.0.1:{port}", runs_folder=tmp_path)
    assert not any(tmp_path.iterdir())


def test_ray_that_is_not_installed(monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 32)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(cp.ConfigError, match=r"pip install 'counterplay\[scale\]'"):
        RayExecutor("auto")
