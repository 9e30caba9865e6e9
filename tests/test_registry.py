"""Games and algorithms by name."""

from __future__ import annotations

import ast

import pytest

import counterplay as cp
from counterplay.registry import REGISTRIES, get_spec, import_registered, load_game, parse_spec

NAMESPACES = {
    "game": "games",
    "algorithm": "algorithms",
    "abstraction": "abstraction",
    "learner": "matrix",
    "searcher": "search",
    "search agent": "search",
}


@pytest.mark.parametrize("kind", REGISTRIES)
def test_name_is_file_name(kind):
    registry, namespace = REGISTRIES[kind], getattr(cp, NAMESPACES[kind])
    for name, where in registry.items():
        assert where.split(":")[0].endswith(f".{name}")
        cls = import_registered(registry, name)
        assert cls.__doc__
        assert cls.__dataclass_params__.frozen
        assert getattr(namespace, cls.__name__) is cls


@pytest.mark.parametrize(
    "spec",
    [
        "kuhn_poker",
        "kuhn_poker(players=3)",
        "leduc_poker(suit_isomorphism=True)",
        "goofspiel(num_cards=3,points_order='descending',imp_info=True)",
        "grid_duel(green=(1, 2, 3),blocked_moves_stay=False)",
        "matrix_game(payoffs=(((1.0, 0.0), (0.0, 1.0)), ((0.0, 1.0), (1.0, 0.0))))",
    ],
)
def test_spec_loads_an_equal_game(spec):
    game = load_game(spec)
    assert get_spec(game) == spec
    assert load_game(get_spec(game)) == game


def test_ways_to_write_parameters():
    wanted = cp.games.Goofspiel(num_cards=3, points_order="descending", imp_info=True)
    assert load_game("goofspiel(num_cards=3, points_order=descending, imp_info=true)") == wanted
    assert load_game("goofspiel", num_cards=3, points_order="descending", imp_info=True) == wanted
    assert load_game("goofspiel(num_cards=5)", num_cards=3).num_cards == 3


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "kuhn",
            r"unknown game 'kuhn'; did you mean 'kuhn_poker'\? \(counterplay games lists all\)",
        ),
        ("zzz", r"unknown game 'zzz' \("),
        ("kuhn_poker(player=3)", "no parameter 'player'; did you mean 'players'"),
        ("rock_paper_scissors(x=1)", "has no parameter 'x'"),
        ("kuhn_poker(players=three)", "players is 'three', must be of type int"),
        ("kuhn_poker(players=true)", "players is True, must be of type int"),
        ("kuhn_poker(players=1)", "must be from 2 to 10"),
        ("matrix_game", "needs the parameter 'payoffs'"),
        ("kuhn_poker(players=", "cannot read game"),
        ("kuhn_poker(players=3", "cannot read game"),
        ("kuhn_poker(players=3+)", "cannot read the parameters"),
        ("kuhn_poker(players=-x)", "cannot read the parameters"),
        ("kuhn_poker(players=2)(num_cards=4)", "cannot read the parameters"),
        ("kuhn_poker(players=2,players=3)", "cannot read the parameters"),
        ("", "cannot read game"),
    ],
)
def test_bad_specs(spec, message):
    with pytest.raises(cp.ConfigError, match=message):
        load_game(spec)


def test_a_game_of_ones_own():
    """The spec of an unregistered game is its class name: good enough to tell files apart."""

    class Coin:
        num_players = 1

    assert get_spec(Coin()) == "Coin"
    with pytest.raises(cp.GameError, match="Coin lacks initial_state"):
        cp.check_game(Coin())


def test_a_spec_stays_short_where_a_field_holds_no_literal(kuhn):
    algorithm = cp.algorithms.OnlineOutcomeSampling(opponents=cp.uniform_policy(kuhn))
    assert cp.registry.get_spec(algorithm) == "online_outcome_sampling(opponents=<Policy>)"


def test_parsing_goes_on_where_another_thread_disturbs_it(monkeypatch):
    """CPython 3.11 raises a SystemError if two threads parse at the same time."""
    whole, calls = ast.parse, []

    def fail_twice(*arguments, **options):
        calls.append(arguments)
        if len(calls) < 3:
            raise SystemError("AST constructor recursion depth mismatch")
        return whole(*arguments, **options)

    monkeypatch.setattr(ast, "parse", fail_twice)
    assert parse_spec("game", "kuhn_poker(players=3)") == ("kuhn_poker", {"players": 3})
    assert len(calls) == 3
