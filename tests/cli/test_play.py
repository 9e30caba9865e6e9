"""`play`, with a typed conversation."""

from __future__ import annotations

import re

import pytest

import counterplay as cp


@pytest.fixture
def bettor(tmp_path):
    """A file with the policy of Kuhn poker that always bets."""
    tree = cp.build_tree(cp.load_game("kuhn_poker"))
    file = tmp_path / "bettor.policy"
    cp.Policy(tree, [name == "bet" for name in tree.sequence_names]).save(file)
    return file


def test_an_episode_against_a_known_policy(run, bettor):
    answer = run("play", "kuhn_poker", "--policy", bettor, "--episodes", 1, typed="pass\npass\n")
    assert answer.code == 0
    assert answer.lines[0] == "You are player 0 of kuhn_poker. ? shows help, q quits."
    history = next(line for line in answer.lines if "History" in line)
    assert re.fullmatch(
        r"  History: chance: deal \d, chance: deal \d, you: pass, player 1: bet, you: pass", history
    )
    assert "  Utilities: you -1, player 1 +1" in answer.lines
    assert answer.lines[-1] == "  Your score: -1 in 1 episode, -1.000 per episode."


def test_shows_only_what_the_person_knows(run, bettor):
    answer = run("play", "kuhn_poker", "--policy", bettor, "--episodes", 1, typed="c\nf\n")
    known = [line for line in answer.lines if "You hold" in line]
    card = ("Jack", "Queen", "King")[int(re.search(r"chance: deal (\d)", answer.out).group(1))]
    assert known == [
        f"  You hold the {card}. No one has acted yet; the pot is 2.",
        f"  You hold the {card}. You checked, player 1 bet 1; the pot is 3.",
    ]
    assert "  [c]heck or [b]et 1? " in answer.out
    assert "  [f]old or [c]all 1? " in answer.out


@pytest.mark.parametrize("typed", ["bet 1", "bet", "b", "BET", " be "])
def test_name_or_prefix(run, bettor, typed):
    answer = run("play", "kuhn_poker", "--policy", bettor, "--episodes", 1, typed=f"{typed}\n")
    assert "you: bet, player 1: bet" in answer.out


def test_actions_are_chosen_by_number(run):
    options = ["play", "king_ace_poker", "--algorithm", "cfr", "--iterations", 5, "--episodes", 1]
    assert "you: raise" in run(*options, typed="2\n").out


def test_asks_again_after_wrong_input(run, bettor):
    answer = run("play", "kuhn_poker", "--policy", bettor, "--episodes", 1, typed="0\n3\nx\n\nb\n")
    assert answer.code == 0
    assert answer.out.count("Choose one of check, bet 1; ? shows help.") == 4
    assert "you: bet" in answer.out


def test_prefix_that_fits_several(run):
    answer = run("play", "goofspiel(num_cards=2)", "--iterations", 1, typed="bid\nq\n")
    assert "'bid' fits bid 1, bid 2; which one?" in answer.out


def test_names_that_are_numbers_are_not_numbered(run):
    game = "matrix_game(payoffs=(((3,0),(0,1)),((-3,0),(0,-1))))"
    answer = run("play", game, "--iterations", 10, "--episodes", 1, typed="2\n1\n")
    assert "Choose one of 0, 1" in answer.out
    assert "History: you: 1, player 1: " in answer.out


def test_help_hint_and_probabilities(run, bettor):
    typed = "?\nodds\nhint\nb\nodds\nq\n"
    answer = run("play", "kuhn_poker", "--policy", bettor, typed=typed)
    assert "  q     quit" in answer.lines
    assert "In turn each passes or bets" in answer.out  # the rules
    assert "terminals" not in answer.out
    assert "No episode is finished yet." in answer.out
    assert "pass 0.000, bet 1.000" in answer.out
    assert re.search(r"player 1 knew '\db': pass 0.000, bet 1.000; took bet", answer.out)


@pytest.mark.parametrize("typed", ["q\n", "", "b\nb\nq\n", "b\nb\n"])
def test_quit_and_end_of_input(run, bettor, typed):
    answer = run("play", "kuhn_poker", "--policy", bettor, typed=typed)
    assert answer.code == 0
    assert answer.lines[-1].startswith("Good-bye.")
    assert ("in 2 episodes" in answer.lines[-1]) == ("b" in typed)
    assert answer.err == ""


def test_losses_are_exact(run, bettor):
    """Against one who always bets, folding the king instead of calling loses 3."""
    options = ["play", "kuhn_poker", "--policy", bettor, "--episodes", 1, "--losses", "--seed", 0]
    hands = {}
    for seed in range(20):
        out = run(*options[:-1], seed, typed="check\nfold\n").out
        card = re.search(r"You hold the (\w+)", out).group(1)
        hands[card] = re.findall(r"\d(?:pb)?: pass, (.*)", out)
    nothing = "nothing lost"
    assert hands["King"] == [nothing, "bet was better by 3"]
    assert hands["Queen"] == [nothing, "bet was better by 1"]  # calling earns 0 on average
    assert hands["Jack"] == [nothing, nothing]  # calling would lose 2
    answer = run(*options, typed="check\nfold\n")
    assert re.search(r"; \d\.\d{3} lost to mistakes\.", answer.lines[-1])
    again = run("play", "kuhn_poker", "--policy", bettor, typed="lost\nb\nlost\nq\n")
    assert "No episode is finished yet." in again.out
    assert re.search(r"^  \d: bet, (nothing lost|pass was better by \d)", again.out, re.MULTILINE)
    searched = run(
        "play", "tic_tac_toe", "--opponent", "mcts(max_simulations=1)", typed="lost\nq\n"
    )
    assert "No episode" in searched.out


def test_score_on_interrupt(run, bettor, monkeypatch):
    answers = iter(["b"])

    def type_or_interrupt(prompt):
        try:
            return next(answers)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr("builtins.input", type_or_interrupt)
    answer = run("play", "kuhn_poker", "--policy", bettor)
    assert answer.code == 130
    assert answer.lines[-1].startswith("Your score: ")


def test_reveal_shows_the_hidden_card(run, bettor):
    options = ["--policy", bettor, "--episodes", 1]
    hidden = run("play", "kuhn_poker", *options, typed="b\n")
    shown = run("play", "kuhn_poker", *options, "--reveal", typed="b\n")
    assert "knew" not in hidden.out
    assert re.search(r"player 1 knew '\db': pass 0.000, bet 1.000; took bet", shown.out)


def test_same_seed_same_cards(run, bettor):
    options = ["kuhn_poker", "--policy", bettor, "--seed", 5, "--episodes", 10]
    first, second = (run("play", *options, typed="b\n" * 10) for _ in range(2))
    assert first == second
    assert len(set(re.findall(r"You hold the (\w+)\.", first.out))) > 1


def test_other_seats(run):
    answer = run(
        *("play", "kuhn_poker(players=3)", "--player", 1, "--iterations", 10),
        *("--episodes", 1, "--seed", 0, "--reveal"),
        typed="pass\n" * 2,
    )
    assert answer.code == 0
    assert "player 0: " in answer.out
    assert "you: pass, player 2: " in answer.out
    assert re.search(r"Utilities: player 0 .+, you .+, player 2 ", answer.out)


def test_solves_first_without_a_policy(run):
    answer = run("play", "kuhn_poker", "--algorithm", "cfr_plus", typed="")
    assert answer.err == "solved by cfr_plus: exploitability 8.74e-05\n"


def test_waits_when_the_person_has_nothing_to_choose(run, tmp_path):
    tree = cp.build_tree(cp.load_game("king_ace_poker"))
    file = tmp_path / "checker.policy"
    cp.Policy(tree, [name in ("check", "fold") for name in tree.sequence_names]).save(file)
    options = ["play", "king_ace_poker", "--policy", file, "--player", 1]
    assert run(*options, typed="\n\nq\n").lines[-1].endswith("per episode.")
    answer = run(*options, typed="\n\nq\n")
    assert answer.out.count("You had no choice this time") == 3
    assert "in 3 episodes" in answer.lines[-1]
    assert "You had no choice" not in run(*options, "--episodes", 2).out


def test_foreign_policy(run, bettor):
    answer = run("play", "leduc_poker", "--policy", bettor)
    assert answer.code == 2
    assert answer.err.startswith(f"error: {bettor} is a policy for kuhn_poker")


def test_missing_policy(run, tmp_path):
    answer = run("play", "kuhn_poker", "--policy", tmp_path / "none")
    assert (answer.code, answer.err) == (2, f"error: there is no file {tmp_path / 'none'}\n")


def test_interrupt_at_the_prompt(run, bettor, monkeypatch):
    def interrupt(prompt):
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupt)
    assert run("play", "kuhn_poker", "--policy", bettor).code == 130


def test_against_alpha_beta(run):
    """Perfect play does not lose; a person who plays at random does not win."""
    options = ["play", "tic_tac_toe", "--opponent", "alpha_beta", "--episodes", 1]
    answer = run(*options, typed="x4\nx0\nx1\nx2\nx3\nx5\nx6\nx7\nx8\n" * 3)
    assert answer.code == 0
    assert answer.lines[0] == "You are player 0 of tic_tac_toe. ? shows help, q quits."
    assert "    0 1 2" in answer.lines
    assert re.search(r"Utilities: you (-1|\+0), player 1 (\+1|\+0)", answer.out)
    assert answer.err == ""


def test_against_mcts_on_a_small_board(run):
    game = "connect_four(rows=3,columns=3,x_in_row=3)"
    options = ["--opponent", "mcts(max_simulations=300)", "--player", 1, "--episodes", 1]
    answer = run("play", game, *options, typed="0\n1\n2\n" * 5)
    assert answer.code == 0
    assert "    0 1 2" in answer.lines
    assert re.search(r"Utilities: player 0 \+[01], you [-+][01]", answer.out)


def test_number_means_the_number_in_the_name(run):
    answer = run("play", "tic_tac_toe", "--opponent", "mcts(max_simulations=1)", typed="4\nq\n")
    assert "  You know: x:4" in answer.out


def test_hint_from_a_searcher(run):
    options = ["play", "tic_tac_toe", "--opponent", "alpha_beta"]
    answer = run(*options, typed="hint\nq\n")
    assert re.search(r"^  x0 1.000, x1 0.000, ", answer.out, re.MULTILINE)


def test_opponent_may_be_an_algorithm(run):
    answer = run("play", "kuhn_poker", "--opponent", "cfr(alternating=false)", "--iterations", 10)
    assert answer.err.startswith("solved by cfr(alternating=False): exploitability")


@pytest.mark.parametrize("opponent", ["is_mcts(simulations=20)", "resolving(iterations=20)"])
def test_opponent_may_search_with_hidden_information(run, opponent):
    options = ("--opponent", opponent, "--episodes", 1, "--seed", 1)
    answer = run("play", "kuhn_poker", *options, typed="c\nc\nc\n")
    assert answer.code == 0
    assert "Your score" in answer.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["kuhn_poker", "--opponent", "mcts"], "kuhn_poker hides some from player"),
        (["kuhn_poker(players=3)", "--opponent", "mcts"], "search needs two players"),
        (
            ["connect_four", "--opponent", "minimax"],
            "give it a depth, as in 'minimax(max_depth=4)'",
        ),
        (["tic_tac_toe", "--opponent", "alphabeta"], "did you mean 'alpha_beta'"),
        (["tic_tac_toe", "--opponent", "mcts(simulation=3)"], "did you mean 'max_simulations'"),
        (["tic_tac_toe", "--opponent", "mcts", "--iterations", 3], "leave out --iterations"),
        (["kuhn_poker", "--opponent", "cfr", "--algorithm", "cfr"], "two opponents"),
        (["kuhn_poker", "--opponent", "mcts", "--policy", "x"], "--policy is the opponent"),
    ],
)
def test_opponents_that_do_not_fit(run, options, message):
    answer = run("play", *options)
    assert answer.code == 2
    assert message in answer.err


def test_raises_of_no_limit_poker_are_typed_as_totals():
    from counterplay.cli.play_prompt import RaiseMenu

    names = ["fold", "call", *(f"raise to {total}" for total in range(200, 2001))]
    menu = RaiseMenu(names, names, (200, 100))
    assert "[r]aise to 200-2000" in menu.prompt
    for answer, total in [
        *(("300", 300), ("r 300", 300), ("raise to 300", 300), ("all-in", 2000), ("a", 2000)),
        *(("pot", 300), ("half", 200)),
    ]:
        assert menu.find_exact(answer) == 2 + total - 200, answer
    for answer in ("199", "2001", "-5", "1e9", "99999999999", "moon"):
        assert menu.find_exact(answer) is None and not menu.find_matches(answer)
    assert menu.find_exact("fold") == 0 and menu.find_matches("c") == [1]
    assert "from 200 to 2000" in menu.advice
