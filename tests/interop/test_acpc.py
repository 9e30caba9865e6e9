"""ACPC: game files, lines replayed both ways, matches over sockets, hostile peers."""

from __future__ import annotations

import io
import random
import re
import socket
import string
import threading

import pytest

import counterplay as cp
from counterplay.arenas.rules import TabularPolicy
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.errors import RunError
from counterplay.interop import acpc_format, acpc_match

SECONDS = 20.0  # a test that hangs fails after this time
LIMIT = """
GAMEDEF
limit
numPlayers = 2
numRounds = 4
blind = 10 5
raiseSize = 10 10 20 20
firstPlayer = 2 1 1 1
maxRaises = 3 4 4 4
numSuits = 4
numRanks = 13
numHoleCards = 2
numBoardCards = 0 3 1 1
END GAMEDEF
"""
NO_LIMIT = """
GAMEDEF  # three players
nolimit
numPlayers = 3
numRounds = 4
stack = 2000 700 1500
blind = 50 100 0
firstPlayer = 3 1 1 1
numSuits = 4
numRanks = 13
numHoleCards = 2
numBoardCards = 0 3 1 1
END GAMEDEF
"""
# a hand of the two-player limit game as seat 0 sees it: the dealer's lines and the answers
TRANSCRIPT = [
    ("MATCHSTATE:0:0::TdAs|", ""),
    ("MATCHSTATE:0:0:r:TdAs|", "r"),
    ("MATCHSTATE:0:0:rr:TdAs|", ""),
    ("MATCHSTATE:0:0:rrc/:TdAs|/2c8c3h", "r"),
    ("MATCHSTATE:0:0:rrc/r:TdAs|/2c8c3h", ""),
    ("MATCHSTATE:0:0:rrc/rc/:TdAs|/2c8c3h/9c", "c"),
    ("MATCHSTATE:0:0:rrc/rc/c:TdAs|/2c8c3h/9c", ""),
    ("MATCHSTATE:0:0:rrc/rc/cr:TdAs|/2c8c3h/9c", "c"),
    ("MATCHSTATE:0:0:rrc/rc/crc/:TdAs|/2c8c3h/9c/Kh", "c"),
    ("MATCHSTATE:0:0:rrc/rc/crc/c:TdAs|/2c8c3h/9c/Kh", ""),
    ("MATCHSTATE:0:0:rrc/rc/crc/cr:TdAs|/2c8c3h/9c/Kh", "c"),
    ("MATCHSTATE:0:0:rrc/rc/crc/crc:TdAs|8hTc/2c8c3h/9c/Kh", ""),
]


@pytest.fixture(scope="module")
def limit():
    return acpc_format.parse_game(LIMIT)


@pytest.fixture(scope="module")
def no_limit():
    return acpc_format.parse_game(NO_LIMIT)


def random_states(game, count, seed=0):
    """Return all states at which a line is sent, of some random hands."""
    rng, states = random.Random(seed), []
    for _ in range(count):
        state = game.initial_state()
        while state.to_act != TERMINAL:
            if state.to_act == CHANCE:
                action = rng.choice(game.chance_outcomes(state))[0]
            else:
                states.append(state)
                action = rng.choice(game.actions(state)[1:][:300] or (1,))
            state = game.next_state(state, action)
        states.append(state)
    return states


def test_game_files(limit, no_limit):
    ours = cp.load_game("limit_holdem")
    assert limit.blinds == ours.blinds and limit.max_raises == ours.max_raises
    assert limit.first_to_act == ours.first_to_act and limit.raise_sizes == ours.raise_sizes
    assert no_limit.stacks == (2000, 700, 1500) and not no_limit.is_limit


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("GAMEDEF\nlimit", "GAME\nlimit", "starts with GAMEDEF"),
        ("limit\n", "\n", "limit or nolimit"),
        ("numRounds = 4", "", "numRounds"),
        ("raiseSize = 10 10 20 20", "", "raiseSize"),
        ("blind = 10 5", "blind = 10 x", "cannot read"),
        ("blind = 10 5", "blind = 10 5 5", "must have 2"),
        ("numSuits = 4", "numSuits = 9", "at most 4"),
        ("firstPlayer = 2 1 1 1", "firstPlayer = 3 1 1 1", "opens"),
    ],
)
def test_wrong_game_files_are_refused(old, new, message):
    with pytest.raises(cp.ConfigError, match=message):
        acpc_format.parse_game(LIMIT.replace(old, new, 1))


def test_transcript_is_replayed_both_ways(limit):
    previous = None
    for line, answer in TRANSCRIPT:
        match = acpc_format.parse_match_state(limit, line)
        assert acpc_format.format_match_state(limit, match.state, 0, 0) == line
        assert (match.state.to_act == 0) == bool(answer)
        if answer:
            action = acpc_format.parse_action(limit, match.state, answer)
            assert acpc_format.format_action(limit, action) == answer
        previous = match.state
    # a pot of 160: 20 before the flop, then 10, 20 and 20 each; AsTd loses to a pair of eights
    assert previous.contributions == (80, 80)
    assert limit.utilities(previous) == [-80.0, 80.0]


def test_random_hands_are_replayed_both_ways(limit, no_limit):
    for game in (limit, no_limit):
        for number, state in enumerate(random_states(game, 30)):
            for seat in range(game.num_players):
                line = acpc_format.format_match_state(game, state, seat, number)
                match = acpc_format.parse_match_state(game, line)
                assert acpc_format.format_match_state(game, match.state, seat, number) == line
                assert match.state.contributions == state.contributions
                assert match.state.to_act == state.to_act
            if state.to_act == TERMINAL:
                names = [f"p{k}" for k in range(game.num_players)]
                log_line = acpc_format.format_log_line(game, state, number, names)
                hand = acpc_format.parse_log_line(game, log_line)
                assert hand.state == state and hand.hand == number


KUHN_OF_THREE = """
GAMEDEF
limit
numPlayers = 3
numRounds = 1
blind = 1 1 1
raiseSize = 1
firstPlayer = 1
maxRaises = 1
numSuits = 1
numRanks = 4
numHoleCards = 1
numBoardCards = 0
END GAMEDEF
"""
# lines of the log of the official dealer for kuhn.limit.3p.game, with seed 7
OFFICIAL_LINES = (
    "STATE:0:rcf:As|Qs|Ks:3|-2|-1:P1|P2|P3",
    "STATE:1:rff:Ks|Qs|As:2|-1|-1:P2|P3|P1",
    "STATE:2:rcc:As|Ks|Js:4|-2|-2:P3|P1|P2",
)


def test_small_decks_have_the_cards_of_the_official_dealer():
    game = acpc_format.parse_game(KUHN_OF_THREE)
    for number, line in enumerate(OFFICIAL_LINES):
        hand = acpc_format.parse_log_line(game, line)
        assert acpc_format.format_log_line(game, hand.state, number, hand.names) == line
    for card in ("Ts", "Ah", "2c"):  # not in the deck
        with pytest.raises(cp.ConfigError, match="no card of this game"):
            acpc_format.parse_log_line(game, OFFICIAL_LINES[0].replace("As", card))


def test_lines_are_sent_at_once():
    """A line must not wait until the other side has acknowledged the line before."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        connection = socket.create_connection(listener.getsockname())
        line_socket = acpc_match.LineSocket(connection, "peer")
        try:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        finally:
            line_socket.close()


def test_wrong_values_of_a_log_are_refused(limit):
    line = "STATE:0:rf:TdAs|8hTc:-10|10:a|b"
    assert acpc_format.parse_log_line(limit, line).names == ("a", "b")
    for wrong in (
        line.replace("-10|10", "10|-10"),
        line.replace("rf", "r"),
        line.replace("8hTc", "8hTd"),
        line.replace("rf", "rff"),
        line.replace("8hTc", "8hTc/2c3c4c"),
    ):
        with pytest.raises(cp.ConfigError):
            acpc_format.parse_log_line(limit, wrong)


def test_damaged_lines_give_one_sentence(limit, no_limit):
    """A damaged line is either refused or is another line of the game."""
    rng, messages = random.Random(1), []
    for game in (limit, no_limit):
        for state in random_states(game, 6, seed=2):
            line = acpc_format.format_match_state(game, state, 0, 3)
            for _ in range(10):
                k, letter = rng.randrange(len(line)), rng.choice(string.printable)
                damaged = rng.choice((line[:k] + letter + line[k + 1 :], line[:k], line + letter))
                try:
                    match = acpc_format.parse_match_state(game, damaged)
                except cp.ConfigError as error:
                    messages.append(str(error))
                else:
                    assert acpc_format.format_betting(match.state) == damaged.split(":")[3]
    assert len(messages) > 100
    assert all("\n" not in text and len(text) < 300 for text in messages)


def run_match(game, clients, num_hands=12, log=None, seconds=SECONDS):
    """Run a dealer and a thread per client; return the dealer and its error."""
    names = [f"p{k}" for k in range(game.num_players)]
    dealer = acpc_match.Dealer(game, names, log, 5, seconds, seconds)
    listeners = dealer.listen()
    ports = [listener.getsockname()[1] for listener in listeners]
    threads = [
        threading.Thread(target=client, args=(port,), daemon=True)
        for client, port in zip(clients, ports, strict=True)
    ]
    for thread in threads:
        thread.start()
    error = None
    try:
        dealer.run(listeners, num_hands)
    except RunError as problem:
        error = problem
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()
    return dealer, error


def player(game, hands):
    def play(port):
        agent = TabularPolicy(game)
        hands.append(acpc_match.join_match(game, agent, "127.0.0.1", port, seconds=SECONDS))

    return play


@pytest.mark.parametrize("name", ["limit", "no_limit"])
def test_match_over_sockets(name, request, tmp_path):
    game, hands, log = request.getfixturevalue(name), [], tmp_path / "match.log"
    with log.open("w") as file:
        dealer, error = run_match(game, [player(game, hands)] * game.num_players, 12, file)
    assert error is None and hands == [12] * game.num_players
    assert sum(dealer.totals) == pytest.approx(0.0)
    logged = acpc_format.read_log(game, log)
    assert [hand.hand for hand in logged] == list(range(12))
    assert logged[1].names == tuple(
        f"p{(k - 1) % game.num_players}" for k in range(len(dealer.names))
    )
    totals = dict.fromkeys(dealer.names, 0.0)
    for hand in logged:
        for who, value in zip(hand.names, game.utilities(hand.state), strict=True):
            totals[who] += value
    score = log.read_text().splitlines()[-1]
    assert score == f"SCORE:{acpc_format.format_values(list(totals.values()))}:{'|'.join(totals)}"


def hostile(lines, then_close=True):
    """Return a client that sends lines without reading, and then leaves or waits."""

    def attack(port):
        with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
            for line in lines:
                try:
                    connection.sendall(line)
                except OSError:
                    return
            while not then_close:
                try:
                    if not connection.recv(4096):
                        return
                except OSError:
                    return

    return attack


VERSION = b"VERSION:2.0.0\r\n"


@pytest.mark.parametrize(
    ("lines", "then_close", "message"),
    [
        ([], True, "closed the connection"),
        ([b"HELLO\r\n"], False, "must send VERSION:2.0.0"),
        ([b"A" * 10_000], False, "more than 4096 bytes"),
        ([VERSION], True, "closed the connection|broke"),
        ([VERSION, b"\xff\xfe\r\n"], False, "is no answer"),
        ([VERSION, b"MATCHSTATE:0:0:::c\r\n" * 1001], False, "to other states"),
    ],
)
def test_hostile_players_end_the_match_with_one_sentence(limit, lines, then_close, message):
    log, hands = io.StringIO(), []

    def honest(port):
        with pytest.raises(RunError, match=r"closed the connection|broke"):
            player(limit, hands)(port)

    attacker = hostile(lines, then_close)
    dealer, error = run_match(limit, [honest, attacker], log=log, seconds=3.0)
    assert error is not None and "\n" not in str(error)
    assert re.match("match ended after 0 hands: (p1|the connection to p1 broke)", str(error))
    with pytest.raises(RunError, match=message):
        raise error
    assert log.getvalue() == "SCORE:0|0:p0|p1\n" and dealer.num_hands == 0


def test_slow_player_ends_the_match(limit):
    def honest(port):
        with pytest.raises(RunError, match=r"closed the connection|broke"):
            player(limit, [])(port)

    _, error = run_match(limit, [honest, hostile([VERSION], then_close=False)], seconds=0.3)
    assert "p1 sent no line within 0.3 seconds" in str(error)


def test_player_that_leaves_in_the_middle_keeps_the_log_complete(limit, tmp_path):
    log = tmp_path / "match.log"

    def leaves(port):
        class Leaves(TabularPolicy):
            count = 0

            def action_probabilities(self, state, player):
                self.count += 1
                if self.count > 8:
                    raise ZeroDivisionError
                return super().action_probabilities(state, player)

        with pytest.raises(ZeroDivisionError):
            acpc_match.join_match(limit, Leaves(limit), "127.0.0.1", port, seconds=SECONDS)

    with log.open("w") as file:
        dealer, error = run_match(limit, [player(limit, []), leaves], 100, file)
    assert "p1 closed the connection" in str(error) or "broke" in str(error)
    hands = acpc_format.read_log(limit, log)
    assert len(hands) == dealer.num_hands >= 1
    assert log.read_text().splitlines()[-1].startswith("SCORE:")


def test_published_hand_of_pluribus():
    """Hand 42 of the hands that Pluribus played (Brown and Sandholm, 2019, data file S1)."""
    game = cp.load_game(
        "poker(players=6,blinds=(50,100,0,0,0,0),opens=(2,0,0,0),raises=(),raise_caps=())",
        stacks=(10_000,) * 6,
    )
    line = (
        "STATE:42:r200fcffc/cr650cf/cr3000f:8c6h|7hJs|AdJh|9s2h|TdTs|5c3s/QdKc9d/Ac:"
        "-50|-200|-650|0|900|0:Budd|MrWhite|MrOrange|Hattori|MrBlue|Pluribus"
    )
    hand = acpc_format.parse_log_line(game, line)
    assert acpc_format.format_log_line(game, hand.state, 42, hand.names) == line
