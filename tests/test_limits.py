"""Hostile parameters: refused in one line, before they take time or memory."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterplay as cp
from counterplay.errors import CounterplayError
from counterplay.registry import load_game

LIMITED = """
import json, resource, sys
from counterplay.cli.main import main
import counterplay.cli.progress, counterplay.interop.game_files  # before the limit
import counterplay.arenas.tree.build
here = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (here + 200_000_000,) * 2)
for arguments in json.load(sys.stdin):
    used = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
    resource.setrlimit(resource.RLIMIT_CPU, (used + 5, -1))
    print(main(arguments), arguments[-1][:40], file=sys.stderr)
"""


def limited(commands):
    """Output and exit code of each command within 200 MB and a few seconds."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]
    lines = done.stderr.splitlines()
    return list(zip(lines[::2], lines[1::2], strict=True))


TOO_LARGE = [
    "goofspiel(num_cards=10_000)",
    "goofspiel(num_cards=10**3)",
    "goofspiel(num_cards=100)",
    "goofspiel(num_cards=100,players=10,imp_info=true)",
    "liars_dice(numdice=100,dice_sides=100_000)",
    "liars_dice(numdice=100,dice_sides=100)",
    "kuhn_poker(players=1_000_000_000)",
    "kuhn_poker(num_cards=1_000_000_000)",
    "kuhn_poker(players=10,num_cards=1_000)",
    "connect_four(rows=100,columns=36,x_in_row=100)",
    "leduc_poker(ranks=9_000_000_000_000_000_000)",
    f"grid_duel(green=({'1,' * 30_000}))",
    f"kuhn_poker(players={'(' * 150}{')' * 150})",
    f"matrix_game(payoffs={'(' * 150}1{',)' * 150})",
]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("command", ["inspect", "inspect --check", "inspect --episode"])
def test_huge_parameters_are_refused_at_once(command):
    specs = [spec for spec in TOO_LARGE if "episode" not in command or "kuhn" not in spec]
    answers = limited([[*command.split(), spec] for spec in specs])
    assert len(answers) == len(specs)
    for error, code in answers:
        assert code[:2] in ("1 ", "2 ")
        assert error.startswith("error: ")
        assert len(error) < 3_000
        assert "out of memory" not in error


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_tree_that_will_not_fit_is_refused_from_its_estimate():
    """Before compiled rules have walked a tenth of it, with the size that an estimate names."""
    game = cp.load_game("goofspiel(num_cards=6)")
    size = cp.estimate_size(game, seconds=0.1).num_nodes
    [(error, code)] = limited([["solve", "goofspiel(num_cards=6)"]])
    assert code.startswith("1 ")
    named = int(error.partition("has about ")[2].partition(" nodes")[0].replace(",", ""))
    assert named == pytest.approx(size, rel=0.2)
    assert "solve --sampled --algorithm outcome_sampling" in error
    result = cp.solve(cp.RulesArena(game), iterations=2)  # what the error names runs as it is
    assert result.memory.size.num_infosets > 0


def test_openspiel_games_with_too_many_actions_are_refused():
    pytest.importorskip("pyspiel")
    betting = "betting=nolimit,bettingAbstraction=fullgame"
    with pytest.raises(cp.RunError, match=r"has up to [\d,]+ actions at a node, more than"):
        cp.load_game(f"openspiel:universal_poker({betting},stack=1000000000 1000000000)")


class Wide:
    """A game whose one player has more actions than fit into memory, as a range or as chance."""

    num_players = 1

    def __init__(self, acts):
        self.acts = acts

    def initial_state(self):
        return 0

    def player(self, state):
        return cp.TERMINAL if state else self.acts

    def actions(self, state):
        return range(1, 10**12)

    def chance_outcomes(self, state):
        return Lottery()

    def next_state(self, state, action):
        return 1

    def infoset_key(self, state, player):
        return ""


class Lottery:
    def __len__(self):
        return 10**12

    def __getitem__(self, place):
        return place + 1, 1e-12


@pytest.mark.parametrize("acts", [0, cp.CHANCE])
def test_one_node_with_too_many_children(acts):
    with pytest.raises(cp.RunError, match=r"Wide has about 1,000,000,000,00\d nodes"):
        cp.build_tree(Wide(acts))


def test_the_glance_spares_what_fits():
    """Two walks estimate badly; only games that a longer estimate confirms are refused."""
    for seed in range(20):
        game = cp.load_game("liars_dice(dice_sides=4)")  # 8,181 nodes
        found = cp.estimate_size(game, seconds=0.0, seed=seed)
        assert found.num_probes == 2
    assert cp.build_tree(game, memory_limit=8_181 * 400).num_nodes == 8_181


DEEP = 5_000
NESTED = [
    "kuhn_poker(players=" + "(" * DEEP + "1" + ")" * DEEP + ")",
    "kuhn_poker(players=" + "[" * DEEP + "]" * DEEP + ")",
    "kuhn_poker(players=" + "-" * DEEP + "1)",
    "kuhn_poker(players=" + "- " * 900 + "1)",
    "kuhn_poker(players=" + "not " * DEEP + "1)",
    "kuhn_poker(players=" + "1+" * DEEP + "1)",
    "kuhn_poker(players=" + "f(" * DEEP + ")" * DEEP + ")",
    "kuhn_poker(players=x" + ".x" * DEEP + ")",
    "kuhn_poker(players=0x" + "f" * DEEP + ")",
    "kuhn_poker(players=" + "9" * DEEP + ")",
    "grid_duel(green=(1,0x" + "f" * DEEP + "))",
    "kuhn_poker" + " " * 20_000 + "x",
]


@pytest.mark.parametrize("spec", NESTED, ids=lambda spec: spec[:25])
def test_nested_specs(spec):
    with pytest.raises(cp.ConfigError, match=r"cannot read|must be"):
        load_game(spec)


def deep_payoffs(depth):
    table = 1.0
    for _ in range(depth):
        table = [table]
    return [table] * depth


@pytest.mark.parametrize("depth", [100, 500, 2_000, 100_000])
def test_payoffs_nested_too_deeply(depth):
    with pytest.raises(cp.ConfigError, match="matrix_game: payoffs"):
        cp.games.MatrixGame(deep_payoffs(depth))


@given(st.text("kuhn_poker(pls=,)[]{}-+.*:'\"\\0x9ej \n\0ü", max_size=40))
def test_any_text_is_a_game_or_a_line(text):
    for spec in (text, f"kuhn_poker({text})", f"matrix_game(payoffs={text})"):
        with contextlib.suppress(CounterplayError):
            load_game(spec)


FORK = """
import os, signal, sys
import counterplay as cp
tree = cp.build_tree(cp.load_game("kuhn_poker"))
def solve():
    cp.solve(tree, cp.algorithms.OutcomeSampling(num_workers=2), iterations=100)
solve()
child = os.fork()
if child == 0:
    signal.alarm(20)  # a thread that is waited for in vain would be so for ever
    solve()
    os._exit(7)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_workers_after_a_fork():
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=False)
    assert done.returncode == 7, done.stderr
