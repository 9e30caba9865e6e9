"""Data files never run code: every loader and every command, over every kind of file.

Each file names a game in Python code that leaves a mark when it is imported. Opening the file must
leave no mark, and either work without the rules or end with one line that says what to do. With
consent the same call works.
"""

from __future__ import annotations

import ast
import dataclasses
import io
import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import counterplay as cp
from counterplay.abstraction.betting_policy import BETTING_POLICY_FORMAT, load_betting_policy
from counterplay.arenas.holdem.flop_report import ReportSettings
from counterplay.arenas.holdem.solution import SOLUTION_FORMAT
from counterplay.cli.main import app, main
from counterplay.core import trust
from counterplay.core.archive import read_archive, read_format_name, write_archive
from counterplay.core.policy_io import POLICY_FORMAT
from counterplay.distributed import mccfr
from counterplay.distributed.remote_calls import make_call_mapper
from counterplay.experiment.population import load_population
from tests.conftest import game_tree
from tests.distributed.toy_units import InProcessExecutor

SOURCE = Path(cp.__file__).parent
CODE = """
from pathlib import Path
Path({marker!r}).touch()
from dataclasses import dataclass
from counterplay.games.kuhn_poker import KuhnPoker

@dataclass(frozen=True)
class Game(KuhnPoker):
    pass
"""
SPECS = (
    "evil.py:Game",
    "./evil.py:Game(players=2)",
    " evil.py:Game ",
    "{folder}/evil.py:Game",
    "evil_module:Game",
    "evil_package.inner:Game",
    "evil.py",
)
BASE = {"name": "small", "algorithm": "cfr_plus", "game": "kuhn_poker"}
SPEC = {"max_steps": 4, "evaluate_every": 2, "checkpoint_every": 2}
STUDY = {"vary": {"gamma": {"grid": [1.0, 2.0]}}, "seeds": 1, "judge": 0}


HAND = """variant = "NT"
antes = [0, 0]
blinds_or_straddles = [1, 2]
min_bet = 2
starting_stacks = [50, 100]
actions = ["d dh p1 AcAd", "d dh p2 ????", "p2 f"]
"""


class Attack:
    """A folder of planted files, and the code that they name."""

    def __init__(self, folder: Path, spec: str):
        self.folder, self.spec = folder, spec.format(folder=folder)
        self.marker = folder / "marker"
        text = CODE.format(marker=str(self.marker))
        (folder / "evil_package").mkdir()
        for name in ("evil.py", "evil_module.py", "evil_package/__init__.py"):
            (folder / name).write_text(text)
        (folder / "evil_package" / "inner.py").write_text(text)

    def plant_policies(self):
        tree = dataclasses.replace(game_tree("kuhn_poker"), spec=self.spec, source_game=None)
        policy = cp.uniform_policy(tree)
        policy.save("evil.policy")
        policy.to_json("evil_policy.json")
        tree.save("evil.tree")
        Path("hand.phh").write_text(HAND)
        stored = read_archive("evil.policy", POLICY_FORMAT)
        write_archive("partial.policy", POLICY_FORMAT, stored | {"partial": True})
        numbers = {"spec": self.spec, "numbered": True, "probabilities": np.ones(4)}
        write_archive("numbered.policy", POLICY_FORMAT, numbers)

    def plant_configs(self):
        whole = BASE | {"spec": SPEC}
        write("short.json", whole | {"game": self.spec})
        write("long.json", whole | {"game": {"name": self.spec, "params": {}}})
        study = STUDY | {"base": whole | {"game": self.spec, "algorithm": "dcfr"}}
        write("study.json", study)
        write("by_path.json", STUDY | {"base": "short.json"})
        vary = {"game": {"choices": ["kuhn_poker", self.spec]}}
        write("vary.json", STUDY | {"base": whole, "vary": vary})
        vary = {"game.name": {"choices": [self.spec]}}
        write("vary_name.json", STUDY | {"base": whole, "vary": vary})
        shutil.copytree("study_runs", "evil_study")
        kept = json.loads(Path("evil_study/study.json").read_text())
        write("evil_study/study.json", kept | {"base": kept["base"] | {"game": self.spec}})

    def plant_runs(self):
        for name in ("solo", "pools"):
            shutil.copytree(name, f"evil_{name}")
            path = Path(f"evil_{name}/config.json")
            config = json.loads(path.read_text())
            write(path, config | {"game": {"name": self.spec, "params": {}}})
        for path in Path("evil_pools/pool").glob("*.policy"):
            write_archive(
                path, POLICY_FORMAT, read_archive(path, POLICY_FORMAT) | {"spec": self.spec}
            )

    def check(self, error: str | None) -> None:
        """Assert that no code was imported and that the message is one line."""
        assert not self.marker.exists()
        if error is not None:
            assert error.count("\n") <= 1 and "Traceback" not in error


def write(path, value):
    Path(path).write_text(json.dumps(value))


@pytest.fixture(scope="module")
def honest_folder(tmp_path_factory):
    """Honest runs and a study, to be changed by attackers."""
    folder = tmp_path_factory.mktemp("honest")
    cp.run(BASE | {"spec": SPEC}, folder / "solo")
    cp.run(BASE | {"algorithm": "psro", "spec": SPEC}, folder / "pools")
    study = STUDY | {"name": "study_runs", "base": BASE | {"algorithm": "dcfr", "spec": SPEC}}
    cp.sweep(study, InProcessExecutor(), runs_folder=folder)
    return folder


@pytest.fixture
def attack(request, tmp_path, honest_folder, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("solo", "pools", "study_runs"):
        shutil.copytree(honest_folder / name, name)
    made = Attack(tmp_path, request.param)
    made.plant_policies()
    made.plant_configs()
    made.plant_runs()
    yield made
    for name in [name for name in sys.modules if name.startswith("evil_")]:
        del sys.modules[name]


def load_partial_policy():
    return cp.load_tabular_policy("partial.policy", cp.load_game("kuhn_poker"))


PUBLIC = {  # every public function that opens a file, and what it is called with
    "load_config": [lambda f: cp.load_config("short.json"), lambda f: cp.load_config("long.json")],
    "load_policies": [
        lambda f: cp.load_policies("evil.policy"),
        lambda f: cp.load_policies("evil_policy.json"),
        lambda f: cp.load_policies("partial.policy"),
        lambda f: cp.load_policies("numbered.policy"),
        lambda f: cp.load_policies("evil_solo"),
        lambda f: cp.load_policies("evil_solo@average"),
        lambda f: cp.load_policies("evil_solo", "kuhn_poker"),
        lambda f: cp.load_policies("evil.policy", "kuhn_poker"),
        lambda f: cp.load_policies("evil_pools/pool/000.policy"),
    ],
    "load_policy": [lambda f: cp.load_policy("evil.policy", game_tree("kuhn_poker"))],
    "load_tabular_policy": [lambda f: load_partial_policy()],
    "load_tree": [
        lambda f: cp.load_tree("evil.tree").game,
        lambda f: cp.draw_tree(cp.load_tree("evil.tree")),
        lambda f: cp.load_tree("evil.tree")._repr_html_(),
        lambda f: cp.judge(cp.load_tree("evil.tree"), cp.uniform_policy(cp.load_tree("evil.tree"))),
        lambda f: cp.head_to_head(
            cp.load_tree("evil.tree"), *[cp.uniform_policy(cp.load_tree("evil.tree"))] * 2
        ),
    ],
    "load_run": [lambda f: cp.load_run("evil_solo"), lambda f: cp.load_run("evil_pools")],
    "open_run": [lambda f: cp.experiment.open_run("evil_solo")],
    "resume": [lambda f: cp.resume("evil_solo", max_steps=8)],
    "new_run": [lambda f: cp.experiment.new_run("short.json", "new")],
    "run": [lambda f: cp.run("long.json", "new")],
    "load_metrics": [lambda f: cp.load_metrics("evil_solo")],
    "metrics_table": [lambda f: cp.experiment.metrics_table(["evil_solo"])],
    "load_study": [
        lambda f: cp.distributed.load_study("study.json"),
        lambda f: cp.distributed.load_study("by_path.json"),
        lambda f: cp.distributed.load_study("vary.json"),
        lambda f: cp.distributed.load_study("vary_name.json"),
        lambda f: cp.distributed.load_study({**STUDY, "base": "short.json"}),
    ],
    "standings": [lambda f: cp.distributed.load_study_ranking("evil_study")],
    "sweep": [lambda f: cp.sweep("vary.json", num_processes=1, runs_folder="sweeps")],
    "load_solution": [lambda f: cp.holdem.load_solution("evil.policy")],
    "load_holdem_policy": [lambda f: cp.holdem.load_holdem_policy("evil.policy")],
}
TYPED = {"load_abstraction", "load_algorithm", "load_game", "load_learner", "load_searcher"}
COMMANDS = {  # every command that opens a file
    "evaluate": ["evil.policy", "evil_policy.json", "partial.policy", "evil_solo", "evil_pools"],
    "show": ["evil.policy", "evil.policy --tree 2", "evil.policy --grid", "evil_solo@current"],
    "export": ["evil.policy out.csv", "evil_solo out.json"],
    "draw": ["kuhn_poker -o a.svg --policy evil.policy", "kuhn_poker -o a.svg --policy evil_solo"],
    "match": [
        "evil.policy uniform kuhn_poker",
        "uniform evil_solo kuhn_poker",
        "evil_pools/pool/000.policy uniform kuhn_poker --sampled",
    ],
    "bounds": ["evil.policy kuhn_poker --episodes 2 --playouts 1"],
    "concepts": ["kuhn_poker --policy evil.policy", "kuhn_poker --policy evil_solo"],
    "play": ["kuhn_poker --policy evil.policy --episodes 1", "kuhn_poker --opponent evil_solo"],
    "run": ["short.json", "long.json", "short.json --set epsilon=1", "study.json"],
    "resume": ["evil_solo --steps 8", "evil_solo", "evil_pools"],
    "sweep": ["study.json --processes 1", "by_path.json", "vary.json", "vary_name.json"],
    "compare": ["evil_solo", "evil_study", "evil_solo evil_pools"],
    "review": ["hand.phh --agent evil.policy", "hand.phh --agent evil_solo"],
    "plot": ["evil_solo -o a.svg", "evil_study -o b.svg", "evil_pools --payoffs -o c.svg"],
}
ELSEWHERE = {"studio": "tests/studio/server/test_queue_entries.py"}
NO_FILES = {"games", "algorithms", "inspect", "solve", "matrix", "convert"}  # the user names a game
NO_FILES |= {"grid", "configs", "check", "trace", "upi"}


def parametrize_attacks(names):
    """Every name with the plainest spec, and with one of the others in turn."""
    turns = [(name, SPECS[1 + number % (len(SPECS) - 1)]) for number, name in enumerate(names)]
    cases = [(name, SPECS[0]) for name in names] + turns
    return pytest.mark.parametrize(("name", "attack"), cases, indirect=["attack"])


@parametrize_attacks(PUBLIC)
def test_no_loader_runs_code(name, attack, monkeypatch):
    for call in PUBLIC[name]:
        try:
            call(attack.folder)
            error = None
        except cp.CounterplayError as problem:
            error = str(problem)
        attack.check(error)


@parametrize_attacks(COMMANDS)
def test_no_command_runs_code(name, attack, capsys, monkeypatch):
    for line in COMMANDS[name]:
        monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
        code = main([name, *line.split()])
        error = capsys.readouterr().err
        if code:
            assert error.startswith("error: ") and error.count("\n") == 1, (line, error)
        attack.check(None)


@pytest.mark.parametrize("attack", SPECS[:1], indirect=True)
def test_no_spot_and_no_solution_runs_code(attack, capsys):
    """They name no game; a planted name is refused or ignored, wherever it stands."""
    sizes = {"river": [{"bet": attack.spec, "raise": "a"}] * 2}
    spot = {"board": "2s3h4d6c7c", "ranges": ["AsAh,QsQh", "KsKh"], "pot": 20, "stacks": [10, 10]}
    solution = {"isomorphism": True, "exploitability": 0.0, "values": [0.0, 0.0], "iterations": 1}
    for planted in ({"game": attack.spec}, {"sizes": sizes}, {"board": attack.spec}):
        write("spot.json", spot | planted)
        content = solution | {"spot": spot | planted, "locks": [], "game": attack.spec}
        write_archive("spot.solution", SOLUTION_FORMAT, content)
        for command in ("estimate spot.json", "estimate spot.solution", "show spot.solution"):
            code = main(["spot", *command.split()])
            error = capsys.readouterr().err
            assert not code or (error.startswith("error: ") and error.count("\n") == 1), error
            attack.check(None)


@pytest.mark.parametrize("attack", SPECS, indirect=True)
def test_no_blueprint_runs_code(attack):
    spec = f"{attack.spec} with by_equity"
    write_archive("evil.blueprint", BETTING_POLICY_FORMAT, {"game": spec, "weights": np.zeros(1)})
    with pytest.raises(cp.TrustError, match=r"evil\.blueprint wants to"):
        load_betting_policy("evil.blueprint")
    attack.check(None)


def test_no_report_over_flops_runs_code(tmp_path, monkeypatch):
    """The algorithm that solves its flops is one of the registry."""
    monkeypatch.chdir(tmp_path)
    Path("evil.py").write_text(EVIL)
    spot = cp.holdem.Spot("2s3h4d", ("AA", "KK"), 20, (10, 10))
    settings = ReportSettings(target=1.0, algorithm="evil.py:Evil")
    with pytest.raises(cp.ConfigError, match="unknown algorithm"):
        cp.holdem.solve_flop_report(spot, "2s3h4d", settings)
    assert not Path("ran").exists()


def test_every_public_loader_and_every_command_is_attacked():
    loaders = {name for name in cp.__all__ if name.startswith("load_")}
    assert loaders <= PUBLIC.keys() | TYPED
    commands = {str(one.callback.__name__) for one in app.registered_commands}
    assert commands == COMMANDS.keys() | ELSEWHERE.keys() | NO_FILES


@pytest.mark.parametrize("attack", SPECS[:-1], indirect=True)
def test_the_error_names_the_file_and_the_code_and_the_remedy(attack, capsys):
    assert main(["evaluate", "evil.policy"]) == 2
    text = capsys.readouterr().err
    assert text.startswith("error: evil.policy wants to run the code of ")
    assert "evil" in text.split("--trust ")[1].split(",")[0]
    with pytest.raises(cp.TrustError, match=r"evil_solo/config\.json wants to run the code of"):
        cp.load_run("evil_solo")


TRUSTED = [
    ["evaluate", "evil.policy"],
    ["show", "evil_policy.json"],
    ["export", "evil_solo", "out.csv"],
    ["run", "long.json"],
    ["resume", "evil_solo", "--steps", "8"],
    ["sweep", "by_path.json", "--processes", "1"],
]


@pytest.mark.parametrize("attack", SPECS[:1], indirect=True)
def test_with_consent_it_works_until_the_code_changes(attack, capsys):
    Path("by_path.json").write_text(json.dumps(STUDY | {"base": "short.json"} | GRID_OF_DELAY))
    checkpoints_of("evil_solo", attack.spec)
    for command in TRUSTED:
        assert main([*command, "--trust", "evil.py"]) == 0, capsys.readouterr().err
        assert attack.marker.exists()
    assert main(["evaluate", "evil.policy"]) == 0  # it is remembered
    assert cp.load_tree("evil.tree").game.num_players == 2
    store = trust.state_folder() / trust.STORE
    assert store.stat().st_mode & 0o077 == 0
    attack.marker.unlink()
    with open("evil.py", "a") as file:
        file.write("\n# changed\n")
    capsys.readouterr()
    assert main(["evaluate", "evil.policy"]) == 2
    assert "which has changed since you allowed it" in capsys.readouterr().err
    attack.check(None)
    cp.trust("evil.py")
    assert list(cp.load_policies("evil.policy"))
    assert attack.marker.exists()


GRID_OF_DELAY = {"vary": {"delay": {"grid": [0, 1]}}}


def checkpoints_of(folder, after):
    """Give the checkpoints of a run another game, as if it had always been that one."""
    for path in Path(folder).glob("checkpoint*.npz"):
        name = read_format_name(path)
        values = read_archive(path, name)
        values["identity"] = values["identity"] | {"game": after}
        write_archive(path, name, values)


@pytest.mark.parametrize("attack", SPECS[4:6], indirect=True)
def test_modules_are_trusted_by_name(attack):
    with pytest.raises(cp.TrustError):
        cp.load_policies("evil.policy")
    attack.check(None)
    cp.trust(attack.spec.partition(":")[0])
    assert list(cp.load_policies("evil.policy")) == ["policy"]
    assert attack.marker.exists()


@pytest.mark.parametrize("attack", SPECS[:1], indirect=True)
def test_a_game_that_the_user_names_needs_no_further_consent(attack, capsys):
    """Typed once, in a command or in Python; policies and runs of it can be opened then."""
    assert main(["solve", "evil.py:Game", "--iterations", "2", "--save", "own.policy"]) == 0
    assert main(["evaluate", "own.policy"]) == 0
    trust._grants.clear()  # as in a later process
    assert main(["show", "own.policy"]) == 0
    folder = cp.run(BASE | {"game": attack.spec, "spec": SPEC}, "own").folder
    trust._grants.clear()
    assert main(["resume", str(folder), "--steps", "6"]) == 0
    assert main(["run", "short.json"]) == 0


@pytest.mark.parametrize("attack", SPECS[:1], indirect=True)
def test_an_override_of_the_game_is_the_users_own(attack):
    write("plain.json", BASE | {"spec": SPEC})
    assert main(["run", "plain.json", "--set", "game=evil.py:Game"]) == 0
    assert attack.marker.exists()


@pytest.mark.parametrize("attack", SPECS[:1], indirect=True)
def test_consent_to_read_a_file_is_not_consent_to_run_it(attack):
    cp.trust("evil.py:Game")
    trust._grants.clear()
    (trust.state_folder() / trust.STORE).unlink()
    path = str(Path("evil.py").resolve())
    trust.remember([trust.Reference(trust.FILE, "evil.py", path, "")])
    with pytest.raises(cp.TrustError):
        cp.load_policies("evil.policy")
    attack.check(None)


@pytest.mark.parametrize("attack", SPECS[:1], indirect=True)
def test_cached_bytecode_does_not_stand_in_for_the_source(attack):
    """A .pyc beside the file, with its time and size, may hold other code than was allowed."""
    import importlib.util
    import py_compile

    text = Path("evil.py").read_text() + "#"
    other = text.replace(str(attack.marker), str(attack.folder / "plant"))
    other += "#" * (len(text) - len(other))
    assert len(other) == len(text)
    Path("evil.py").write_text(text)
    Path("other.py").write_text(other)
    os.utime("other.py", (1, 1))
    os.utime("evil.py", (1, 1))
    cached = Path(importlib.util.cache_from_source("evil.py"))
    cached.parent.mkdir(exist_ok=True)
    py_compile.compile("other.py", cfile=str(cached), dfile="evil.py")
    cp.load_game("evil.py:Game")
    assert attack.marker.exists() and not (attack.folder / "plant").exists()


def test_a_store_that_others_can_write_counts_for_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "game.py").write_text("")
    monkeypatch.chdir(tmp_path)
    cp.trust("game.py")
    trust._grants.clear()
    assert trust._find_code("game.py").is_allowed
    (tmp_path / "state" / "counterplay" / trust.STORE).chmod(0o666)
    assert not trust._find_code("game.py").is_allowed


def test_no_state_folder_means_consent_for_this_process(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    (tmp_path / "game.py").write_text("")
    cp.trust(tmp_path / "game.py")
    assert trust._find_code(str(tmp_path / "game.py")).is_allowed


def test_what_cannot_be_trusted():
    for path in ("nothing.py", "nothing.py:Game", "no.such.module", "a b", "../x", ""):
        with pytest.raises(cp.ConfigError, match="there is no such file or module"):
            cp.trust(path)
    assert main(["evaluate", "x.policy", "--trust", "nothing.py"]) == 2


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A folder with data in it, beside a game file that is not in that folder."""
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    game = cp.load_game("kuhn_poker")
    for path in ("secret.efg", "data/beside.efg"):
        cp.save_game(game, path)
    yield tmp_path
    trust._grants.clear()


def plant(path, spec):
    tree = dataclasses.replace(game_tree("kuhn_poker"), spec=spec, source_game=None)
    cp.uniform_policy(tree).to_json(path)


@pytest.mark.parametrize(
    "spec",
    [
        "secret.efg",
        "data/../secret.efg",
        "{folder}/secret.efg",
        "data/link.efg",
        "openspiel:efg_game(filename=secret.efg)",
        "openspiel:efg_game(filename={folder}/secret.efg)",
        "openspiel:turn_based_simultaneous_game(game=efg_game(filename=secret.efg))",
        "openspiel:bargaining(instances_file=secret.efg)",
    ],
)
def test_files_outside_of_the_folder_are_not_opened(outside, spec):
    if spec.startswith("openspiel"):
        pytest.importorskip("pyspiel")
    (outside / "data" / "link.efg").symlink_to(outside / "secret.efg")
    spec = spec.format(folder=outside)
    plant("data/p.json", spec)
    write("data/config.json", BASE | {"game": spec, "spec": SPEC})
    for load, path in ((cp.load_policies, "data/p.json"), (cp.load_config, "data/config.json")):
        with pytest.raises(cp.TrustError, match=r"names the file .* not in its folder; to allow"):
            load(path)


def test_files_in_the_folder_are_opened_and_so_are_those_that_the_user_named(outside):
    plant("data/p.json", "data/beside.efg")
    assert cp.load_policies("data/p.json")
    plant("data/p.json", "secret.efg")
    cp.load_game("secret.efg")
    trust._grants.clear()
    assert cp.load_policies("data/p.json")
    plant("data/p.json", "missing.efg")
    with pytest.raises(cp.RunError, match=r"there is no file missing\.efg"):
        cp.load_policies("data/p.json")


def test_a_study_opens_only_json_as_its_base(outside):
    write("base.json", BASE | {"algorithm": "dcfr", "spec": SPEC})
    write("data/study.json", STUDY | {"base": "../base.json"})
    assert cp.distributed.load_study("data/study.json").base.game_name == "kuhn_poker"
    for base in (str(outside / "base.json"), "../secret.efg"):
        write("data/study.json", STUDY | {"base": base})
        with pytest.raises(cp.TrustError, match="names the file"):
            cp.distributed.load_study("data/study.json")


def test_every_openspiel_parameter_that_names_a_file_is_known():
    pyspiel = pytest.importorskip("pyspiel")
    named = {
        (game.short_name, key)
        for game in pyspiel.registered_games()
        for key, value in game.parameter_specification.items()
        if isinstance(value, str) and trust.FILE_PARAMETER.search(key)
    }
    assert ("efg_game", "filename") in named
    unknown = {
        (game.short_name, key)
        for game in pyspiel.registered_games()
        for key, value in game.parameter_specification.items()
        if isinstance(value, str) and ("file" in key or "path" in key or "root" in key)
    }
    assert unknown <= named


@pytest.mark.parametrize("attack", SPECS[:1], indirect=True)
def test_proposals_in_a_folder_are_data(attack):
    """The user trusts the study; the proposals in its folder stay data."""
    vary = {"game": {"choices": ["kuhn_poker", "kuhn_poker(players=2)"]}}
    study = STUDY | {"name": "own", "base": BASE | {"spec": SPEC}, "vary": vary}
    cp.sweep(study, InProcessExecutor(), runs_folder="sweeps")
    write("sweeps/own/proposals.json", [{"game": attack.spec}, {"game": attack.spec}])
    shutil.rmtree("sweeps/own/search")
    with pytest.raises(cp.RunError, match="not the proposals of this study"):
        cp.sweep(study, InProcessExecutor(), runs_folder="sweeps")
    attack.check(None)


@pytest.mark.parametrize("attack", SPECS[:1], indirect=True)
def test_workers_are_sent_no_game_that_was_not_allowed(attack, monkeypatch):
    monkeypatch.setattr(mccfr, "MIN_DISTRIBUTED_ITERATIONS", 0)
    tree = cp.load_tree("evil.tree")
    spread = mccfr.DistributedMCCFR(
        cp.algorithms.ExternalSampling(num_workers=2), InProcessExecutor()
    )
    with pytest.raises(cp.TrustError):
        spread.step(tree, spread.init(tree), 4)
    with pytest.raises(cp.TrustError):
        make_call_mapper(InProcessExecutor())(len, [(tree,)])
    attack.check(None)


def test_pools_need_no_rules(honest_folder):
    assert load_population(honest_folder / "pools").payoffs.size


MAY_LOAD = {  # modules that take specs from the user, or pass on what was checked
    "load_game": {"registry.py", "arenas/tree/build.py", "experiment/saved_policies.py"}
    | {"experiment/config.py", "core/policy.py", "arenas/rules.py", "matrix/analysis.py"}
    | {f"cli/{name}.py" for name in ("options", "solve", "inspect", "draw")}
    | {f"cli/{name}.py" for name in ("concepts", "evaluate")}
    | {f"cli/{name}.py" for name in ("play", "convert", "spot", "trace")}
    | {"experiment/algorithm_checks.py", "interop/gymnasium_registration.py"}
    | {"matrix/normal_form.py", "play/poker/range_match.py"},
    "load_game_unchecked": {"registry.py", "core/trust.py"}
    | {f"distributed/{name}.py" for name in ("remote_calls", "mccfr")},
    "load_algorithm": {"registry.py", "experiment/config.py", "core/solve.py", "play/agents.py"}
    | {f"cli/{name}.py" for name in ("check", "solve", "spot", "trace")},
    "load_algorithm_unchecked": {"registry.py", "distributed/remote_calls.py"}
    | {"experiment/config.py"},
    "exec": {"interop/user_classes.py"},
    "eval": set(),
    "spec_from_file_location": {"interop/user_classes.py"},
    "run_path": set(),
    "run_module": set(),
    "__import__": set(),
}


def test_code_is_loaded_in_few_places():
    """A module that is new here must use `load_game_from_file`, unless its spec is the user's."""
    result = {name: set() for name in MAY_LOAD}
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        if not any(name in text for name in MAY_LOAD):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", getattr(node.func, "attr", ""))
                owner = getattr(getattr(node.func, "value", None), "id", "")
                if called in result and owner != "pyspiel":
                    result[called].add(path.relative_to(SOURCE).as_posix())
    assert all(result[name] <= MAY_LOAD[name] for name in MAY_LOAD), result


EVIL = (
    "from counterplay.algorithms import CFRPlus\nopen('ran', 'w').close()\nclass Evil(CFRPlus): ..."
)


@pytest.fixture
def evil_algorithm(tmp_path, monkeypatch):
    """A file with an algorithm that leaves a mark when its code runs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    Path("evil.py").write_text(EVIL)
    return tmp_path / "ran"


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": "evil.py:Evil"},
        {"algorithm": "evil.py:Evil(delay=1)"},
        {"algorithm": "xdo", "spec": SPEC | {"solver": "evil.py:Evil"}},
        {"algorithm": "nxdo", "spec": SPEC | {"solver": "evil.py:Evil"}},
        {"algorithm": "xdo(solver='evil.py:Evil')"},
    ],
)
def test_configs_cannot_run_code_of_algorithms(evil_algorithm, changes):
    write("config.json", BASE | {"spec": SPEC} | changes)
    for options in ((), ("--set", "game=leduc_poker")):
        assert main(["run", "config.json", *options]) == 2
    study = STUDY | {"name": "own", "base": BASE | {"spec": SPEC}}
    write("vary.json", study | {"vary": {"algorithm": {"grid": [changes["algorithm"], "cfr"]}}})
    if "evil" in changes["algorithm"]:
        assert main(["sweep", "vary.json"]) == 2
    assert not evil_algorithm.exists()


def test_runs_cannot_run_code_of_algorithms(evil_algorithm, honest_folder):
    shutil.copytree(honest_folder / "solo", "solo")
    config = json.loads(Path("solo/config.json").read_text())
    write("solo/config.json", config | {"algorithm": str(Path("evil.py").resolve()) + ":Evil"})
    for command in ("resume solo --steps 9", "evaluate solo", "show solo", "compare solo"):
        main(command.split())
    with pytest.raises(cp.CounterplayError):
        cp.load_policies("solo")
    assert not evil_algorithm.exists()
