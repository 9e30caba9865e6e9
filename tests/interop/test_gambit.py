"""Gambit's files: read, written, and compared with OpenSpiel's reading of the same text."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterplay as cp
from counterplay.core.game import CHANCE
from counterplay.interop.explicit import (
    ExplicitGame,
    ExplicitInfoset,
    ExplicitOutcome,
    make_distinct,
)
from counterplay.interop.explicit_export import (
    simplest_fraction,
    to_explicit_game,
    to_strategic_game,
)
from counterplay.interop.gambit import efg_from_game, game_from_efg, game_from_nfg, nfg_from_game
from counterplay.interop.game_files import load_game_file, save_game
from counterplay.interop.json_game import game_from_json, json_from_game
from tests.conftest import game_tree
from tests.random_games import random_games

# every part of the format: rational and decimal chance, names left out the second time, an outcome
# at an inner node, quotes in labels, payoffs with and without commas, blanks of every kind
STAGES = r"""EFG 2 R "An \"entry\" game" { "Ann" "Bob" "Cy" }
"A comment
on two lines"
c "deal" 7 "coin" { "high" 1/4 "low" .75 } 0
p "" 1 1 "(1,1)" { "in" "out" } 5 "entry fee" { -1.5, 0, 1/3 }
	p "x" 2 3 "Bob's" { "fight" "yield" } 0 t "" 1 "won" { 10 2 0 } t "" 2 "lost" {0,-4e-1,1}
t "" 2
p "" 1 2 "(1,2)" { "in" "out" } 0
p "" 2 3 0
t "" 1
t "" 2 "lost" { 0, -0.4, 1 }
t "" 0
"""
DUEL = 'NFG 1 R "Duel" { "Row" "Column" } { 3 2 } 1 1 0 2 0 2 1 1 0 3 2 0'
OUTCOMES = """NFG 1 D "Two by two" { "Row" "Column" }
{ { "up" "down" } { "left" "right" } }
"with a comment"
{ { "both" 1/3, -1/3 } { "" 0.5 .25 } }
1 2 0 1
"""


def test_efg_means_what_it_says():
    game = game_from_efg(STAGES)
    assert game.title == 'An "entry" game'
    assert game.players == ("Ann", "Bob", "Cy")
    assert game.comment == "A comment\non two lines"
    assert game.infosets[0] == ExplicitInfoset(
        CHANCE, 7, "coin", ("high", "low"), (Fraction(1, 4), Fraction(3, 4))
    )
    assert game.outcomes[0] == ExplicitOutcome(
        5, "entry fee", (Fraction(-3, 2), Fraction(0), Fraction(1, 3))
    )
    tree = cp.build_tree(game)
    assert (tree.num_nodes, tree.num_terminals, tree.num_infosets) == (11, 6, 3)
    # utilities in level order: outcomes on the way add up
    ways = {tuple(row) for row in np.round(tree.utility, 12).tolist()}
    third = round(1 / 3, 12)
    assert ways == {
        *[(-1.5, -0.4, round(4 / 3, 12)), (8.5, 2.0, third)],
        *[(10.0, 2.0, 0.0), (0.0, -0.4, 1.0), (0.0, 0.0, 0.0)],
    }
    values = cp.expected_values(tree, cp.uniform_policy(tree))
    high = np.array([-1.5, 0, 1 / 3]) + (np.array([10, 2, 0]) + 3 * np.array([0, -0.4, 1])) / 4
    low = (np.array([10, 2, 0]) + np.array([0, -0.4, 1])) / 4
    assert values == pytest.approx(high / 4 + 3 * low / 4, abs=1e-12)


def test_nfg_counts_the_first_player_fastest():
    game = game_from_nfg(DUEL)
    tree = cp.build_tree(game)
    assert game.utilities((1, 0)) == (0.0, 2.0)
    assert game.utilities((2, 1)) == (2.0, 0.0)
    assert game.utilities((1, 1)) == (0.0, 3.0)
    assert tree.infoset_keys == ("Row", "Column")
    assert tree.sequence_names == ("1", "2", "3", "1", "2")
    outcome = game_from_nfg(OUTCOMES)
    assert outcome.exact_utilities((0, 0)) == (Fraction(1, 3), Fraction(-1, 3))
    assert outcome.exact_utilities((1, 0)) == (Fraction(1, 2), Fraction(1, 4))
    assert outcome.exact_utilities((0, 1)) == (0, 0)
    assert outcome.comment == "with a comment"


@pytest.mark.parametrize("text", [STAGES, DUEL, OUTCOMES])
def test_written_and_read_again(text):
    read, write = (
        (game_from_efg, efg_from_game) if text.startswith("EFG") else (game_from_nfg, nfg_from_game)
    )
    game = read(text)
    assert read(write(game)) == game
    assert game_from_json(json_from_game(game)) == game
    assert write(game_from_json(json_from_game(game))) == write(game)


LABELS = st.text(max_size=6).filter(lambda text: not text.endswith("\\"))


@given(random_games(), st.lists(LABELS, min_size=5, max_size=5))
def test_random_games_survive_every_format(game, labels):
    explicit = to_explicit_game(game)
    renamed = ExplicitGame(
        labels[0],
        tuple(labels[1] for _ in explicit.players),
        labels[2],
        tuple(infoset._replace(name=infoset.name + labels[3]) for infoset in explicit.infosets),
        tuple(outcome._replace(name=labels[4]) for outcome in explicit.outcomes),
        explicit.nodes,
    )
    assert game_from_efg(efg_from_game(renamed)) == renamed
    assert game_from_json(json_from_game(renamed)) == renamed
    ours, theirs = cp.build_tree(game), cp.build_tree(game_from_efg(efg_from_game(explicit)))
    assert theirs.infoset_keys == ours.infoset_keys
    assert theirs.sequence_names == ours.sequence_names
    assert np.array_equal(theirs.utility, ours.utility)  # floats come back to the last bit
    assert theirs.chance == pytest.approx(ours.chance, abs=1e-15)
    policy = cp.random_policy(ours, seed=1)
    again = cp.Policy(theirs, policy.probabilities)
    assert cp.nash_conv(theirs, again) == pytest.approx(cp.nash_conv(ours, policy), abs=1e-12)


def test_numbers_become_the_simplest_fractions():
    assert [str(simplest_fraction(x)) for x in (1 / 3, 0.1, -2.5, 4.0)] == [
        "1/3",
        "1/10",
        "-5/2",
        "4",
    ]
    odd = 0.1234567890123456
    assert float(simplest_fraction(odd)) == odd


def test_labels_that_are_missing_or_repeated():
    assert make_distinct(["a", "", "a", "a#2", "a"]) == ("a", "2", "a#3", "a#2", "a#4")
    many = make_distinct(["a"] * 200_000)  # in linear time
    assert (many[0], many[1], many[-1], len(set(many))) == ("a", "a#2", "a#200000", 200_000)
    game = game_from_efg(
        'EFG 2 R "" { "" "" } p "" 1 1 "" { "" "" } 0 p "" 1 2 "" { "x" "x" } 0 '
        't "" 0 t "" 0 t "" 0'
    )
    tree = cp.build_tree(game)
    assert tree.infoset_keys == ("1", "2")
    assert tree.sequence_names == ("1", "2", "x", "x#2")


def test_a_label_the_format_cannot_hold():
    game = game_from_efg('EFG 2 R "t" { "a" } t "" 0')
    with pytest.raises(cp.GameError, match="ends in a backslash"):
        efg_from_game(replace(game, title="t\\"))


def test_table_of_kuhn():
    """27 x 64 reduced plans (Kuhn, 1950), with the game's value."""
    table = to_strategic_game(to_explicit_game(cp.load_game("kuhn_poker")))
    assert [len(names) for names in table.strategies] == [27, 64]
    tree = cp.build_tree(table)
    assert cp.algorithms.solve_sequence_form_lp(tree).value == pytest.approx(-1 / 18, abs=1e-12)
    assert table.exact_utilities((0, 0))[0].denominator <= 6
    assert game_from_nfg(nfg_from_game(table)) == table


@given(random_games(max_players=3, max_depth=3))
def test_table_has_the_value_of_the_tree(game):
    """Uniform play over unreduced plans is uniform play; here, one plan against one plan."""
    explicit = to_explicit_game(game)
    table = to_strategic_game(explicit)
    tree = cp.build_tree(explicit)
    rng = random.Random(0)
    choice = tuple(rng.randrange(len(names)) for names in table.strategies)
    weights = np.zeros(tree.num_sequences)
    for player, names in enumerate(table.strategies):
        mine = [i for i, s in enumerate(explicit.infosets) if s.player == player]
        digits = iter(names[choice[player]])
        for infoset in mine:
            digit = next(digits, "*")
            first = tree.offset[tree.find_infoset(explicit.infoset_keys[infoset], player)]
            weights[first + (int(digit) - 1 if digit != "*" else 0)] = 1.0
    values = cp.expected_values(tree, cp.Policy(tree, weights))
    assert table.utilities(choice) == pytest.approx(tuple(values), abs=1e-12)


def test_games_are_saved_and_loaded(tmp_path):
    path = tmp_path / "kuhn.efg"
    save_game(cp.load_game("kuhn_poker"), path)
    tree = cp.build_tree(cp.load_game(str(path)))
    assert tree.spec == str(path)
    assert tree.infoset_keys == game_tree("kuhn_poker").infoset_keys
    result = cp.solve(tree, cp.algorithms.CFRPlus(), iterations=1000)
    assert cp.expected_values(tree, result.policy)[0] == pytest.approx(-1 / 18, abs=1e-3)
    result.policy.save(tmp_path / "kuhn.policy")
    assert cp.load_policy(tmp_path / "kuhn.policy", game_tree("kuhn_poker"))["0pb"]["pass"] > 0.999
    (tmp_path / "bom.nfg").write_bytes(b"\xef\xbb\xbf" + DUEL.encode())
    assert load_game_file(str(tmp_path / "bom.nfg")) == game_from_nfg(DUEL)


def test_what_is_too_large_is_refused_at_once(tmp_path):
    with pytest.raises(cp.RunError, match=r"has about [\d.e+]+ nodes; 3,000,000 is the limit"):
        save_game(cp.load_game("goofspiel(num_cards=13)"), tmp_path / "goofspiel.efg")


def test_bad_files(tmp_path):
    with pytest.raises(cp.RunError, match=r"there is no file nowhere\.efg"):
        cp.load_game("nowhere.efg")
    with pytest.raises(cp.ConfigError, match="has no parameter 'players'"):
        cp.load_game("nowhere.efg", players=3)
    with pytest.raises(cp.ConfigError, match=r"must end in .efg, .nfg, .json"):
        save_game(cp.load_game("kuhn_poker"), tmp_path / "kuhn.txt")
    (tmp_path / "latin.efg").write_bytes(b'EFG 2 R "caf\xe9" { "a" }\nt "" 0')
    with pytest.raises(cp.GameError, match="line 1, column 13: not UTF-8 text"):
        cp.load_game(str(tmp_path / "latin.efg"))


HEAD = 'EFG 2 R "t" { "a" "b" }\n'
BAD_EFG = [
    ("", "line 1, column 1: expected 'EFG' .*, found the end of the file"),
    ("NFG 1", "line 1, column 1: expected 'EFG'"),
    ("EFG 3 R", "line 1, column 5: expected '2'"),
    ("EFG 2 X", "line 1, column 7: expected 'R'"),
    ("EFG 2 R title", "line 1, column 9: expected the title, in quotes, found 'title'"),
    ('EFG 2 R "title', "line 1, column 9: this quote is never closed"),
    ('EFG 2 R "t" { }', "at least one player"),
    ('EFG 2 R "t" { "a", "b" }', "line 1, column 18: expected '}' after the names"),
    (HEAD, "there are no nodes"),
    (HEAD + "x", "line 2, column 1: expected a node, which begins with c, p or t, found 'x'"),
    (HEAD + 't "" 1', "line 2, column 1: outcome 1 has not been described"),
    (HEAD + 't "" 1 "" { 1 }', "outcome 1 has 1 payoffs for 2 players"),
    (HEAD + 't "" 1 "" { 1 2 3 }', "outcome 1 has 3 payoffs for 2 players"),
    (HEAD + 't "" 0 "" { 1 2 }', "outcome 0 means no outcome"),
    (HEAD + 't "" -1', "outcome -1 must be a positive number"),
    (HEAD + 't "" 1/2', "line 2, column 6: the number of the outcome is 1/2"),
    (HEAD + 't "" 0\nt "" 0', "line 3, column 1: the tree is complete"),
    (HEAD + 't "" 1 "" { 1/0 2 }', "line 2, column 13: 1/0 divides by zero"),
    (HEAD + 't "" 1 "" { 1e999 2 }', "column 13: the number 1e999... is too long"),
    (HEAD + 't "" 1 "" { 1e350 2 }', "column 13: the number 1e350 is too large"),
    (HEAD + 't "" 1 "" { 1.2.3 2 }', "column 13: expected a payoff or '}', found '1.2.3'"),
    (HEAD + 'p "" 3 1 "" { "x" } 0', "line 2, column 1: there is no player 3, only 2"),
    (HEAD + 'p "" 0 1 "" { "x" } 0', "there is no player 0; players count from 1"),
    (HEAD + 'p "" 1 1 0', "infoset 1 of player 1 has not been described"),
    (HEAD + 'p "" 1 1 "" { } 0', "infoset 1 of player 1 has no actions"),
    (HEAD + 'p "" 1 1 "" { "x" } 0', "at least 1 more nodes must follow"),
    (HEAD + 'c "" 1 "" { "x" 1/2 "y" 1/3 } 0', "infoset 1 of chance sum to 5/6, not to 1"),
    (HEAD + 'c "" 1 "" { "x" 3/2 "y" -1/2 } 0', "infoset 1 of chance has a negative"),
    (HEAD + 'c "" 1 "" { "x" "y" } 0', "column 17: expected the probability of the action"),
    (
        HEAD + 'p "" 1 1 "" { "x" } 0\np "" 1 1 "" { "y" } 0',
        "line 3, column 1: infoset 1 of player 1 was described differently",
    ),
    (
        HEAD + 'p "" 1 1 "" { "x" "y" } 0 t "" 1 "" { 1 2 }\nt "" 1 "" { 1 3 }',
        "line 3, column 1: outcome 1 was described differently",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD_EFG)
def test_bad_efg(text, message):
    with pytest.raises(cp.GameError, match=message) as caught:
        game_from_efg(text)
    assert re.match(r"line \d+, column \d+: ", str(caught.value))


BAD_NFG = [
    ('NFG 1 R "" { "a" } { 2 } 1', "column 27: expected one of 2 payoffs, found the end"),
    ('NFG 1 R "" { "a" } { 2 } 1 2 3', "column 30: expected the end of the file, found '3'"),
    ('NFG 1 R "" { "a" } { 2 2 } 1 2', "column 24: expected '}' after the strategies"),
    ('NFG 1 R "" { "a" } { 0 } 1', "every player needs at least one strategy"),
    ('NFG 1 R "" { "a" } { 99999999999999 } 1', "strategies needs 1e\\+14 cells"),
    ('NFG 1 R "" { } { } 1', "at least one player"),
    ('NFG 1 R "" { "a" } { { "x" } } { { "" 1 2 } } 1', "outcome 1 has 2 payoffs for 1 players"),
    ('NFG 1 R "" { "a" } { { "x" } } { { "" 1 } } 2', "there is no outcome 2, only 1"),
]


@pytest.mark.parametrize(("text", "message"), BAD_NFG)
def test_bad_nfg(text, message):
    with pytest.raises(cp.GameError, match=message):
        game_from_nfg(text)


BAD_JSON = [
    ("{", "line 1, column 2: Expecting property name"),
    ("[]", "must be an object"),
    ("{}", "this is None, not a 'counterplay game 1' file"),
    ('"players": ["a", 1]', r"players\[1\]: must be a text"),
    ('"players": ["a"], "nodes": [1]', r"nodes\[0\]: must be an object"),
    (
        '"players": ["a"], "nodes": [{"infoset": 0}]',
        r"nodes\[0\].infoset: 0 is not an index into a list of 0",
    ),
    ('"players": ["a"], "nodes": []', "nodes: there are no nodes"),
    ('"players": []', "players: a game needs at least one player"),
    ('"players": ["a"], "outcomes": [{"number": true}]', r"outcomes\[0\].number: must be a whole"),
    (
        '"players": ["a"], "outcomes": [{"number": 1, "payoffs": ["x"]}]',
        r"outcomes\[0\].payoffs\[0\]: 'x' is not a number",
    ),
    (
        '"players": ["a"], "outcomes": [{"number": 1, "payoffs": [NaN]}]',
        r"outcomes\[0\].payoffs\[0\]: 'nan' is not a number",
    ),
    ('"players": ["a"], "cells": [null], "strategies": []', "strategies: 0 lists for 1 players"),
    ('"players": ["a"], "cells": [null], "strategies": [["x", "y"]]', "needs 2 cells"),
    ('"players": ["a"], "cells": [3], "strategies": [["x"]]', r"\[0\] of cells: 3 is not an index"),
]


@pytest.mark.parametrize(("text", "message"), BAD_JSON)
def test_bad_json(text, message):
    if text.startswith('"'):
        text = f'{{"format": "counterplay game 1", {text}}}'
    with pytest.raises(cp.GameError, match=message):
        game_from_json(text)


PIECES = [*'"{}\\/.,-+ \n0123456789eE', "c", "p", "t", "EFG", '""', "1/0", "9" * 50, "é", "\0"]


def mutate_text(text, rng):
    """The text with one to four characters or pieces lost, repeated, replaced or moved."""
    for _ in range(rng.randint(1, 4)):
        first = rng.randrange(len(text) + 1)
        last = min(len(text), first + rng.choice([0, 1, 1, 2, 5, 30]))
        piece = rng.choice([rng.choice(PIECES), text[first:last] * 2, "", text[last : last + 20]])
        text = text[:first] + piece + text[last:]
    return text


LINE = r"line \d+, column \d+: "


@pytest.mark.parametrize(
    ("read", "text", "position"),
    [
        (game_from_efg, STAGES, LINE),
        (game_from_nfg, OUTCOMES, LINE),
        (game_from_nfg, DUEL, LINE),
        (game_from_json, json_from_game(game_from_efg(STAGES)), rf"{LINE}|\S+: "),
        (game_from_json, json_from_game(game_from_nfg(OUTCOMES)), rf"{LINE}|(\[\d+\] of )?\S+: "),
    ],
    ids=["efg", "outcomes", "payoffs", "json", "json table"],
)
def test_thousands_of_damaged_files(read, text, position):
    """A damaged file is a game or a GameError with a position, never anything else."""
    rng = random.Random(0)
    refused = 0
    for _ in range(3000):
        damaged = mutate_text(text, rng)
        try:
            game = read(damaged)
        except cp.GameError as error:
            located = re.match(position, str(error))
            refused += 1
            if not located:
                pytest.fail(f"{error} in {damaged!r}")
        else:
            cp.build_tree(game)
    assert refused > 1000


def test_deep_and_long_files_do_not_hang():
    node = 'p "" 1 {} "" {{ "x" }} 0\n'
    game = game_from_efg(HEAD + "".join(node.format(i) for i in range(1, 20_001)) + 't "" 0')
    assert len(game.nodes) == 20_001
    with pytest.raises(cp.GameError, match="still not over after"):
        cp.build_tree(game)
    with pytest.raises(cp.GameError, match="never closed"):
        game_from_efg('EFG 2 R "' + '\\"' * 100_000)
    with pytest.raises(cp.GameError, match="is too long"):
        game_from_efg(HEAD + 't "" 1 "" { ' + "9" * 100_000 + " 1 }")
    with pytest.raises(cp.GameError, match="line 1, column 1"):
        game_from_json("[" * 100_000)


def test_the_example_in_the_docs():
    text = (Path(__file__).parents[2] / "docs" / "interop.md").read_text()
    game = game_from_json(re.search(r":caption: guess.json\n(.*?)```", text, re.DOTALL)[1])
    tree = cp.build_tree(game)
    assert (tree.num_nodes, tree.num_infosets) == (7, 1)
    assert cp.best_response(tree, cp.uniform_policy(tree), 0).value == pytest.approx(1 / 6)


pyspiel = pytest.importorskip("pyspiel")


@pytest.mark.parametrize("spec", ["kuhn_poker", "leduc_poker", "liars_dice(dice_sides=3)"])
def test_openspiel_reads_our_efg(spec):
    ours = game_tree(spec)
    theirs = pyspiel.load_efg_game(efg_from_game(to_explicit_game(ours.game)))
    policy = pyspiel.UniformRandomPolicy(theirs)
    uniform = cp.uniform_policy(ours)
    assert pyspiel.nash_conv(theirs, policy) == pytest.approx(cp.nash_conv(ours, uniform), abs=1e-9)
    values = pyspiel.expected_returns(theirs.new_initial_state(), policy, -1, True)
    assert values == pytest.approx(cp.expected_values(ours, uniform).tolist(), abs=1e-9)


def test_we_read_openspiels_files():
    kuhn = cp.build_tree(game_from_efg(pyspiel.get_kuhn_poker_efg_data()))
    assert cp.algorithms.solve_sequence_form_lp(kuhn).value == pytest.approx(-1 / 18, abs=1e-12)
    sample = pyspiel.load_efg_game(pyspiel.get_sample_efg_data())
    tree = cp.build_tree(game_from_efg(pyspiel.get_sample_efg_data()))
    values = pyspiel.expected_returns(
        sample.new_initial_state(), pyspiel.UniformRandomPolicy(sample), -1, True
    )
    ours = cp.expected_values(tree, cp.uniform_policy(tree))
    assert values == pytest.approx(ours.tolist(), abs=1e-9)


@pytest.mark.parametrize("name", ["matrix_pd", "matrix_rps", "matching_pennies_3p", "blotto"])
def test_tables_of_openspiel(name):
    theirs = pyspiel.load_game(name)
    table = game_from_nfg(pyspiel.game_to_nfg_string(theirs))
    # its own reader takes no names
    numbers = tuple(tuple(str(n + 1) for n in range(len(names))) for names in table.strategies)
    again = pyspiel.load_nfg_game(nfg_from_game(replace(table, strategies=numbers)))
    assert again.num_players() == table.num_players
    for cell in [(0,) * table.num_players, (1, *[0] * (table.num_players - 1))]:
        for game in (theirs, again):
            state = game.new_initial_state()
            state.apply_actions(list(cell))
            assert table.utilities(cell) == pytest.approx(tuple(state.returns()), abs=1e-6)
