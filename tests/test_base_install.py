"""The base install without extras: everything is listed, and errors name the extra."""

from __future__ import annotations

import subprocess
import sys

EXTRAS = (
    *("jax", "jaxlib", "optax", "matplotlib", "pyspiel", "open_spiel", "gymnasium", "pettingzoo"),
    *("tensorboardX", "hypothesis", "cvxpy", "nashpy", "pandas", "IPython", "ray", "optuna"),
)
BLOCK = f"""
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", BLOCK + code], capture_output=True, text=True)


def test_algorithms_are_all_listed():
    code = "from counterplay.cli.main import main; raise SystemExit(main(['algorithms']))"
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert "pip install 'counterplay[deep]'" in " ".join(done.stdout.split())
    assert "hidden_sizes=(48, 48, 32)" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert run(code.replace("'algorithms'", "'algorithms', '--json'")).returncode == 0


def test_star_import_and_help():
    done = run(
        "from counterplay import *\n"
        "import counterplay as cp, pydoc\n"
        "assert solve is cp.solve\n"
        "assert 'build_tree' in pydoc.plain(pydoc.render_doc(cp))\n"
        "assert 'CFRPlus' in pydoc.plain(pydoc.render_doc(cp.algorithms))\n"
        "tree = build_tree(load_game('kuhn_poker'))\n"
        "print(solve(tree, algorithms.CFRPlus(), iterations=10).exploitability < 0.1)\n"
    )
    assert done.stdout == "True\n", done.stderr


def test_what_needs_an_extra_says_so_when_it_is_used():
    done = run(
        "import counterplay as cp\n"
        "names = ('CounterplayAEC', 'BestResponseEnv', 'to_openspiel')\n"
        "for space, name in [('algorithms', 'DeepHedge'), *(('interop', n) for n in names)]:\n"
        "    try:\n"
        "        getattr(getattr(cp, space), name)(None)\n"
        "    except cp.ConfigError as error:\n"
        "        print(error)\n"
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 4, done.stdout + done.stderr
    assert lines[0] == "DeepHedge needs the package jax: pip install 'counterplay[deep]'"
    assert all("pip install 'counterplay[" in line for line in lines)
    options = "['solve', 'kuhn_poker', '--algorithm', 'deep_hedge']"
    command = run(f"from counterplay.cli.main import main; main({options})")
    assert "needs the package jax: pip install 'counterplay[deep]'" in command.stderr
