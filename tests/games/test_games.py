"""Every game keeps the protocol and its documented counts; the check itself finds broken rules."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
from pytest import approx

from counterplay.core.game import (
    CHANCE,
    TERMINAL,
    Game,
    action_labels,
    check_game,
    describe_situation,
    grid_position,
)
from counterplay.errors import ConfigError, GameError
from counterplay.games.connect_four import ConnectFour
from counterplay.games.grid_duel import GridDuel
from counterplay.games.leduc_poker import LeducPoker
from counterplay.games.matrix_game import MatrixGame
from counterplay.games.rock_paper_scissors import RockPaperScissors
from counterplay.games.tic_tac_toe import TicTacToe, TicTacToeState
from counterplay.registry import GAMES, get_spec, load_game


class Row(NamedTuple):
    spec: str
    nodes: int
    terminals: int
    infosets: int
    values: tuple[float, ...]  # of uniform play
    nash_conv: float  # of uniform play


PRISONERS_DILEMMA = "matrix_game(payoffs=[[[3,0],[5,1]],[[3,5],[0,1]]])"
MATCHING_PENNIES_3P = (  # player 0 wants to match 1, 1 to match 2, 2 to differ from 0
    "matrix_game(payoffs=[[[[1,1],[-1,-1]],[[-1,-1],[1,1]]],"
    "[[[1,-1],[-1,1]],[[1,-1],[-1,1]]],[[[-1,1],[-1,1]],[[1,-1],[1,-1]]]])"
)

CONNECT_THREE = "connect_four(rows=3,columns=3,x_in_row=3)"
HEX_VALUE = (11 / 24, -11 / 24)
KUHN_4 = (0.309896, 0.018229, -0.127604, -0.200521)
LEDUC_5 = "leduc_poker(suit_isomorphism=true,ranks=5)"
LEDUC_AS_HOLDEM = (
    "custom_holdem(num_ranks=3,num_suits=2,num_hole_cards=1,board_cards=(0,1),blinds=(0,0),ante=1,"
    "stacks=(13,13),betting=limit,sizes='2,4',max_bets=(2,),openers=(0,))"
)
GOOFSPIEL_5 = "goofspiel(num_cards=5,points_order=descending,imp_info=true)"

ROWS = [
    Row("kuhn_poker", 58, 30, 12, (1 / 8, -1 / 8), 11 / 12),
    Row("kuhn_poker(players=3)", 617, 312, 48, (15 / 64, -3 / 64, -3 / 16), 2.0625),
    Row("kuhn_poker(players=4)", 7886, 3960, 160, KUHN_4, 3.4760417),
    Row("leduc_poker", 9457, 5520, 936, (-0.078125, 0.078125), 4.7472222),
    Row("leduc_poker(suit_isomorphism=true)", 1939, 1116, 288, (-0.078125, 0.078125), 4.7472222),
    Row(LEDUC_5, 9381, 5500, 780, (-0.078125, 0.078125), 4.8581404),
    Row(LEDUC_AS_HOLDEM, 9457, 5520, 936, (-0.078125, 0.078125), 4.7472222),
    Row("coin_toss", 13, 8, 3, (1 / 6, -1 / 6), 5 / 12),
    Row("king_ace_poker", 65, 36, 4, (1 / 4, -1 / 4), 7 / 12),
    Row("king_ace_poker(type_level=true)", 21, 12, 4, (1 / 4, -1 / 4), 7 / 12),
    Row("goofspiel(num_cards=3,points_order=descending,imp_info=true)", 67, 36, 16, (0, 0), 4 / 3),
    Row("goofspiel(num_cards=3,imp_info=true)", 418, 216, 90, (0, 0), 4 / 3),
    Row("goofspiel(num_cards=3)", 418, 216, 114, (0, 0), 4 / 3),
    Row("goofspiel(points_order=descending,imp_info=true)", 1077, 576, 162, (0, 0), 1.416667),
    Row("goofspiel(points_order=descending)", 1077, 576, 322, (0, 0), 1.5),
    Row("goofspiel(imp_info=true)", 26773, 13824, 3608, (0, 0), 1.416667),
    Row("goofspiel", 26773, 13824, 7304, (0, 0), 1.493056),
    Row("goofspiel(forgetful=true)", 26773, 13824, 6056, (0, 0), 1.493056),
    Row(GOOFSPIEL_5, 26931, 14400, 2124, (0, 0), 1.55),
    Row("liars_dice(dice_sides=2)", 127, 60, 32, (1 / 8, -1 / 8), 1.125),
    Row("liars_dice(dice_sides=3)", 1147, 567, 192, (1 / 54, -1 / 54), 1.111111),
    Row("liars_dice(dice_sides=4)", 8181, 4080, 1024, (-1 / 64, 1 / 64), 1.310119),
    Row("matching_pennies", 7, 4, 2, (0, 0), 0),
    Row("matching_pennies_3p", 15, 8, 3, (0, 0, 0), 0),
    Row("prisoners_dilemma", 7, 4, 2, (4, 4), 3),
    Row("chicken", 7, 4, 2, (15 / 4, 15 / 4), 1 / 2),
    Row("shapleys_game", 13, 9, 2, (1 / 3, 1 / 3), 0),
    Row("rock_paper_scissors", 13, 9, 2, (0, 0), 0),
    Row("battle_of_the_sexes", 7, 4, 2, (3 / 4, 3 / 4), 1 / 2),
    Row(PRISONERS_DILEMMA, 7, 4, 2, (9 / 4, 9 / 4), 3 / 2),
    Row(MATCHING_PENNIES_3P, 15, 8, 3, (0, 0, 0), 0),
    Row(CONNECT_THREE, 3278, 1310, 1968, (0.26920439, -0.26920439), 145 / 81),
    Row("dark_hex(num_rows=2,num_cols=2)", 441, 216, 70, (0, 0), 5 / 4),
    Row("dark_hex(num_rows=2,num_cols=2,gameversion=adh)", 471, 234, 94, HEX_VALUE, 5 / 6),
    Row("grid_duel", 31, 16, 15, (1 / 2, -1 / 2), 1),
    Row("grid_duel(blocked_moves_stay=false)", 15, 4, 11, (1, -1), 0),
]

GENERAL_SUM = [
    *("battle_of_the_sexes", "prisoners_dilemma", "chicken", "shapleys_game"),
    *("matching_pennies_3p", PRISONERS_DILEMMA, MATCHING_PENNIES_3P),
]


class Unrolled:
    """All nodes of a game level by level, and their values under uniform play."""

    def __init__(self, game: Game) -> None:
        self.num_players = game.num_players
        self.keys: dict[tuple[int, str], int] = {}
        self.levels: list[dict[str, np.ndarray]] = []
        states, parents, edges = [game.initial_state()], [0], [(1.0, CHANCE, 0)]
        while states:
            level: dict[str, list[Any]] = defaultdict(list)
            level |= {"parent": parents, "edge": edges}
            next_states, parents, edges = [], [], []
            for node, state in enumerate(states):
                player = game.player(state)
                infoset, utilities = -1, (0.0,) * self.num_players
                outcomes: list[tuple[int, float]] = []
                if player == TERMINAL:
                    utilities = tuple(game.utilities(state))
                elif player == CHANCE:
                    outcomes = list(game.chance_outcomes(state))
                else:
                    key = (player, game.infoset_key(state, player))
                    infoset = self.keys.setdefault(key, len(self.keys))
                    legal = game.actions(state)
                    outcomes = [(action, 1.0 / len(legal)) for action in legal]
                level["player"].append(player)
                level["infoset"].append(infoset)
                level["utilities"].append(utilities)
                for index, (action, probability) in enumerate(outcomes):
                    next_states.append(game.next_state(state, action))
                    parents.append(node)
                    edges.append((probability, player, index))
            self.levels.append({name: np.array(values) for name, values in level.items()})
            states = next_states

    def counts(self) -> tuple[int, int, int]:
        """Nodes, terminals, infosets."""
        players = np.concatenate([level["player"] for level in self.levels])
        return players.size, int((players == TERMINAL).sum()), len(self.keys)

    def value(self, player: int, best_response: bool = False) -> float:
        """Value of `player` when the others, and itself unless it responds, play uniformly."""
        reaches = [np.ones(1)]  # of everyone else, when the player responds
        for level in self.levels[1:]:
            probability, mover = level["edge"][:, 0], level["edge"][:, 1]
            probability = np.where((mover == player) & best_response, 1.0, probability)
            reaches.append(reaches[-1][level["parent"]] * probability)
        below = np.zeros(0)
        for depth in range(len(self.levels) - 1, -1, -1):
            level = self.levels[depth]
            worth = level["utilities"][:, player].astype(float)
            if depth + 1 < len(self.levels):
                child = self.levels[depth + 1]
                weight, parent = child["edge"][:, 0].copy(), child["parent"]
                if best_response:
                    own = np.flatnonzero(child["edge"][:, 1] == player)
                    infoset = level["infoset"][parent[own]]
                    action = child["edge"][own, 2].astype(int)
                    gain = np.full((len(self.keys), action.max(initial=0) + 1), -np.inf)
                    gain[infoset, action] = 0.0
                    np.add.at(gain, (infoset, action), reaches[depth + 1][own] * below[own])
                    weight[own] = gain.argmax(axis=1)[infoset] == action
                np.add.at(worth, parent, weight * below)
            below = worth
        return float(below[0])

    def nash_conv(self) -> float:
        return sum(self.value(p, True) - self.value(p) for p in range(self.num_players))


def outcomes(game: Game, state: Any) -> list[int]:
    """The actions that lead on, a player's or chance's."""
    if game.player(state) == CHANCE:
        return [action for action, _ in game.chance_outcomes(state)]
    return list(game.actions(state))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.spec)
def test_game_keeps_the_protocol_and_its_documented_counts(row: Row) -> None:
    game = load_game(row.spec)
    forgetful = "forgetful" in row.spec
    report = check_game(game, allow_imperfect_recall=forgetful)
    assert (report.num_nodes, report.num_terminals, report.num_infosets) == row[1:4]
    assert report.has_perfect_recall is not forgetful
    assert report.is_zero_sum is (row.spec not in GENERAL_SUM)

    unrolled = Unrolled(game)
    assert unrolled.counts() == row[1:4]
    assert len({key for _, key in unrolled.keys}) == len(unrolled.keys), "players share a key"
    assert [unrolled.value(p) for p in range(game.num_players)] == approx(row.values, abs=1e-6)
    assert unrolled.nash_conv() == approx(row.nash_conv, abs=1e-6)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.spec)
def test_spec_loads_the_same_game(row: Row) -> None:
    game = load_game(row.spec)
    again = load_game(get_spec(game))
    assert again == game
    assert hash(again) == hash(game)


NO_ROW = {"tic_tac_toe", "phantom_tic_tac_toe", "kriegspiel", "stratego"}  # too large to walk here
NO_ROW |= {"flop_holdem", "limit_holdem", "no_limit_holdem", "poker"}
NO_ROW |= {"ms0", "ms1f1", "ms1f3", "ms2f1t1h5", "ms3f1t1r1h5", "holdem5"}


def test_every_game_has_a_row() -> None:
    assert {row.spec.split("(")[0] for row in ROWS} | NO_ROW == set(GAMES)


@pytest.mark.parametrize("spec", [row.spec for row in ROWS if row.nodes < 10_000])
def test_observation_tells_infosets_apart(spec: str) -> None:
    game = load_game(spec)
    keys = defaultdict(set)
    observations = defaultdict(set)
    stack = [game.initial_state()]
    while stack:
        state = stack.pop()
        player = game.player(state)
        if player == TERMINAL:
            continue
        stack += [game.next_state(state, action) for action in outcomes(game, state)]
        if player >= 0:
            key, seen = game.infoset_key(state, player), tuple(game.observation(state, player))
            keys[player, seen].add(key)
            observations[player, key].add(seen)
    assert all(len(same) == 1 for same in observations.values())
    # OpenSpiel's tensors leave out the order of shown bids, and that of stones on a board.
    shown = ("goofspiel" in spec and "imp_info" not in spec) or "connect_four" in spec
    if not shown:
        assert all(len(same) == 1 for same in keys.values())


def test_liars_dice_with_six_sides() -> None:
    unrolled = Unrolled(load_game("liars_dice"))
    assert unrolled.counts() == (294_883, 147_420, 24_576)
    assert unrolled.value(0) == approx(-0.0324074, abs=1e-7)
    assert unrolled.nash_conv() == approx(1.561488646384479, abs=1e-12)


def test_leduc_with_three_players() -> None:
    unrolled = Unrolled(load_game("leduc_poker(players=3,suit_isomorphism=true)"))
    assert unrolled.counts() == (223_881, 126_996, 7_428)
    assert unrolled.nash_conv() == approx(12.611221340388, abs=1e-9)
    # With suits 8 own cards replace 4, and 8 * 7 pairs of own and public card replace 4 * 4.
    second_round = sum("|" in key for _, key in unrolled.keys)
    assert (7428 - second_round) * 8 // 4 + second_round * 56 // 16 == 25_800

    game = LeducPoker(players=3)

    @cache
    def count(num_cards: int, betting: str) -> tuple[int, int]:
        """Nodes and terminals below a state, which do not depend on the cards."""
        state = samples[num_cards, betting]
        if game.player(state) == TERMINAL:
            return 1, 1
        nodes = terminals = 0
        for action in outcomes(game, state):
            child = game.next_state(state, action)
            shape = len(child.cards), "".join(c for c in child.history if c in "fcr|")
            samples[shape] = child
            more_nodes, more_terminals = count(*shape)
            nodes, terminals = nodes + more_nodes, terminals + more_terminals
        return nodes + 1, terminals

    samples = {(0, ""): game.initial_state()}
    assert count(0, "") == (1_831_601, 1_043_952)


class EndOfTicTacToe(TicTacToe):
    """Tic-tac-toe from the fourth move on."""

    def initial_state(self) -> TicTacToeState:
        state = super().initial_state()
        for cell in (4, 0, 8):
            state = self.next_state(state, cell)
        return state


def test_tic_tac_toe() -> None:
    game = TicTacToe()
    after: dict[str, TicTacToeState] = {}

    @cache
    def count(board: str) -> tuple[int, int]:
        state = after[board]
        if game.player(state) == TERMINAL:
            return 1, 1
        counts = [count(board) for board in children(state)]
        return 1 + sum(nodes for nodes, _ in counts), sum(terminals for _, terminals in counts)

    @cache
    def minimax(board: str) -> float:
        state = after[board]
        if game.player(state) == TERMINAL:
            return game.utilities(state)[0]
        return (max, min)[game.player(state)](minimax(board) for board in children(state))

    @cache
    def response(board: str, player: int) -> float:
        """The most `player` can get if the other one plays at random."""
        state = after[board]
        if game.player(state) == TERMINAL:
            return game.utilities(state)[player]
        values = [response(board, player) for board in children(state)]
        return max(values) if game.player(state) == player else sum(values) / len(values)

    def children(state: TicTacToeState) -> list[str]:
        states = [game.next_state(state, action) for action in game.actions(state)]
        after.update((child.board, child) for child in states)
        return [child.board for child in states]

    start = game.initial_state()
    after[start.board] = start
    assert count(start.board) == (549_946, 255_168)
    assert 549_946 - 255_168 == 294_778  # one infoset per history
    assert len(after) == 5_478
    assert minimax(start.board) == 0
    nash_conv = response(start.board, 0) + response(start.board, 1)
    assert nash_conv == approx(1.919659391534391, abs=1e-12)
    report = check_game(EndOfTicTacToe())
    assert report.is_zero_sum and report.has_perfect_recall and report.max_history_length == 6


PLAYTHROUGHS = [  # each step: the infoset, where a player acts, and the action
    (
        "kuhn_poker",
        "deal 2, deal 0, 2 pass, 0p bet, 2pb bet",
        [2, -2],
    ),
    (
        "leduc_poker",
        "deal Qs, deal Kh, Qs: call, Kh:c raise, Qs:cr call, deal Qh, Qs:crc|Qh: raise, "
        "Kh:crc|Qh:r raise, Qs:crc|Qh:rr call",
        [11, -11],
    ),
    (
        "leduc_poker(suit_isomorphism=true)",
        "deal K, deal K, K: call, K:c call, deal J, K:cc|J: call, K:cc|J:c call",
        [0, 0],
    ),
    (
        "leduc_poker(players=3)",
        "deal Js, deal Ah, deal As, Js: raise, Ah:r call, As:rc raise, Js:rcr fold, "
        "Ah:rcrf call, deal Qs, Ah:rcrfc|Qs: call, As:rcrfc|Qs:c call",
        [-3, 1.5, 1.5],
    ),
    (
        "king_ace_poker",
        "deal Kh, deal As, K: raise, A:r call",
        [-2, 2],
    ),
    (
        "king_ace_poker(type_level=true)",
        "deal AK, A: check",
        [1, -1],
    ),
    (
        "goofspiel",
        "prize 3, p0 3: bid 1, p1 3: bid 4, prize 4, p0 3:1-4 4: bid 4, "
        "p1 3:1-4 4: bid 1, prize 1, p0 3:1-4 4:4-1 1: bid 2, p1 3:1-4 4:4-1 1: bid 2",
        [1, -1],
    ),
    (
        "goofspiel(imp_info=true,num_cards=3,points_order=ascending,returns_type=point_difference)",
        "p0 1: bid 1, p1 1: bid 3, p0 1:1>1 2: bid 3, p1 1:3>1 2: bid 2",
        [2, -2],
    ),
    (
        "goofspiel(forgetful=true,num_cards=3,returns_type=total_points)",
        "prize 2, p0 1-2-3 1-2-3 2: bid 2, p1 1-2-3 1-2-3 2: bid 2, prize 1, "
        "p0 2>- 1-3 1-3 1: bid 3, p1 2>- 1-3 1-3 1: bid 1",
        [1, 3],
    ),
    (
        "liars_dice",
        "roll 6, roll 2, 6 1-2, 2 1-2 2-2, 6 1-2 2-2 liar",
        [-1, 1],
    ),
    (
        "liars_dice(numdice=2,dice_sides=3)",
        "roll 2, roll 1, roll 1, roll 1, 1,2 3-2, 1,1 3-2 liar",
        [-1, 1],
    ),
    (
        "rock_paper_scissors",
        "p0 rock, p1 paper",
        [-1, 1],
    ),
    (
        "battle_of_the_sexes",
        "p0 movie, p1 movie",
        [2, 1],
    ),
    (
        PRISONERS_DILEMMA,
        "p0 1, p1 0",
        [5, 0],
    ),
    (
        "tic_tac_toe",
        "x: x4, o:4 o1, x:41 x0, o:410 o8, x:4108 x3, o:41083 o5, x:410835 x6",
        [1, -1],
    ),
    (
        "connect_four",
        "x: x3, o:3 o3, x:33 x2, o:332 o2, x:3322 x1, o:33221 o1, x:332211 x4",
        [1, -1],
    ),
    (
        "connect_four(rows=1,columns=3,x_in_row=2)",
        "x: x0, o:0 o1, x:01 x2",
        [0, 0],
    ),
    (
        "grid_duel",
        "max: up, min:u left, max:ul up, min:ulu right",
        [1, -1],
    ),
    (
        "grid_duel(blocked_moves_stay=false,green=(2,4))",
        "max: up, min:u left, max:ul down, min:uld right",
        [-1, 1],
    ),
]


@pytest.mark.parametrize(("spec", "steps", "utilities"), PLAYTHROUGHS)
def test_golden_playthrough(spec: str, steps: str, utilities: list[float]) -> None:
    game = load_game(spec)
    state = game.initial_state()
    for step in steps.split(", "):
        player = game.player(state)
        infoset = f"{game.infoset_key(state, player)} " if player >= 0 else ""
        actions = outcomes(game, state)
        options = {infoset + game.action_name(state, action): action for action in actions}
        assert len(options) == len(actions)
        assert step in options
        state = game.next_state(state, options[step])
    assert game.player(state) == TERMINAL
    assert list(game.utilities(state)) == utilities


def test_chance_deals_what_is_left() -> None:
    leduc = load_game("leduc_poker(suit_isomorphism=true)")
    state = leduc.next_state(leduc.initial_state(), 0)
    assert leduc.chance_outcomes(state) == [(0, 1 / 5), (1, 2 / 5), (2, 2 / 5)]
    types = load_game("king_ace_poker(type_level=true)")
    deals = types.chance_outcomes(types.initial_state())
    assert deals == [(0, 1 / 6), (1, 1 / 3), (2, 1 / 3), (3, 1 / 6)]


def minimax(game: Game, state: Any) -> float:
    player = game.player(state)
    if player == TERMINAL:
        return game.utilities(state)[0]
    values = [minimax(game, game.next_state(state, action)) for action in game.actions(state)]
    return max(values) if player == 0 else min(values)


def max_wins(green: tuple[int, ...]) -> bool:
    """Return True if Max wins when blocked moves stay: the rule in closed form, rows 0 to 2."""

    def good(row: int, column: int) -> bool:
        return 3 * row + column + 1 in green

    return any(
        all(any(good(row, column) and good(row, 1) for row in rows) for column in (0, 2))
        for rows in ((0, 1), (1, 2))
    )


def test_grid_duel_on_all_colourings() -> None:
    colourings = [green for size in range(10) for green in combinations(range(1, 10), size)]
    assert len(colourings) == 512
    won = []
    for green in colourings:
        game = GridDuel(green)
        value = minimax(game, game.initial_state())
        assert value == (1 if max_wins(green) else -1), green
        strict = GridDuel(green, blocked_moves_stay=False)
        assert minimax(strict, strict.initial_state()) == (1 if 5 in green else -1), green
        won += [green] * (value == 1)
    assert len(won) == 195
    assert sum(5 in green for green in won) == 135
    assert sum(5 not in green for green in won) == 60
    assert {(2, 4, 5, 6, 8), (1, 2, 3), (1, 2, 3, 5)} <= set(won)
    assert not {(2, 4, 6, 8), (1, 3, 5, 7, 9)} & set(won)


def test_matrix_game_takes_arrays() -> None:
    prizes = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    game = MatrixGame(np.stack([prizes, -prizes]))
    assert game.payoffs == RockPaperScissors().payoffs
    assert game == MatrixGame((prizes.tolist(), -prizes))
    assert hash(game) == hash(MatrixGame([prizes, -prizes]))
    assert isinstance(game.payoffs[0][0][1], float)
    assert MatrixGame([[1, 2, 3]]).num_players == 1  # one player, three actions


MATRIX_ERRORS = [
    ([], "payoffs is empty"),
    ("rock", "payoffs is empty"),
    ([[1, 2], [3, 4]], "must have 2 dimensions, one per player, not 1"),
    (np.zeros((2, 2, 2, 2)), "must have 2 dimensions, one per player, not 3"),
    ([[[1, 2], [3]], [[1, 2], [3, 4]]], r"payoffs\[0\]\[1\] is \[3\], must have 2 entries"),
    ([[[1, 2], [3, 4]], [[1, 2]]], r"payoffs\[1\] is \[\[1, 2\]\], must have 2 entries"),
    ([[[1, 2], [3, 4]], [[1, 2], [3, [4]]]], r"payoffs\[1\]\[1\]\[1\] is \[4\], must be a finite"),
    ([[[1, 2], [3, 4]], [[1, 2], 3]], r"payoffs\[1\]\[1\] is 3, must have 2 entries"),
    ([[[1, 2], [3, float("nan")]], [[1, 2], [3, 4]]], r"payoffs\[0\]\[1\]\[1\] is nan"),
    ([[[1, 2], [3, 4]], [[1, float("inf")], [3, 4]]], r"payoffs\[1\]\[0\]\[1\] is inf"),
    ([[["1", 2], [3, 4]], [[1, 2], [3, 4]]], r"payoffs\[0\]\[0\]\[0\] is '1'"),
    ([[[], []], [[], []]], r"payoffs\[0\]\[0\] is \[\], must have some entries"),
]


@pytest.mark.parametrize(("payoffs", "message"), MATRIX_ERRORS)
def test_bad_payoffs(payoffs: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        MatrixGame(payoffs)


def test_bad_action_names() -> None:
    with pytest.raises(ConfigError, match=r"has \(2,\) names by player, must have \(2, 2\)"):
        MatrixGame([[[1, 2], [3, 4]], [[1, 2], [3, 4]]], action_names=(("up", "down"),))


BAD_PARAMETERS = [
    ("leduc_poker(players=4)", "players is 4, must be at least 2 and at most 3"),
    ("leduc_poker(ranks=1)", "ranks is 1, must be from 2 to 13, or 0"),
    ("leduc_poker(ranks=14)", "ranks is 14, must be from 2 to 13, or 0"),
    ("leduc_poker(suit_isomorphism=1)", "suit_isomorphism is 1, must be of type bool"),
    ("goofspiel(num_cards=1)", "num_cards is 1, must be at least 2 and at most 100"),
    ("goofspiel(players=1)", "players is 1, must be at least 2 and at most 10"),
    ("goofspiel(points_order=falling)", "'falling', must be one of random, ascending, descending"),
    ("goofspiel(returns_type=money)", "must be one of win_loss, point_difference, total_points"),
    ("goofspiel(imp_info=true,forgetful=true)", "forgetful is for shown bids"),
    ("liars_dice(numdice=0)", "numdice is 0, must be at least 1 and at most 100"),
    ("liars_dice(dice_sides=1)", "dice_sides is 1, must be at least 2 and at most 100"),
    ("grid_duel(green=(0,1))", r"green is \(0, 1\), must be different cells from 1 to 9"),
    ("grid_duel(green=(3,3))", "must be different cells from 1 to 9"),
    ("king_ace_poker(type_level=maybe)", "type_level is 'maybe', must be of type bool"),
    ("kuhn_poker(players=1)", "players is 1, must be from 2 to 10"),
    ("kuhn_poker(num_cards=1)", "num_cards is 1, must be from 2 to 1000, or 0"),
    ("matrix_game", "needs the parameter 'payoffs'"),
    ("tic_tac_toe(size=4)", "has no parameter 'size'"),
]


@pytest.mark.parametrize(("spec", "message"), BAD_PARAMETERS)
def test_bad_parameters(spec: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_game(spec)


class Sound:
    """One player goes left or right, a coin falls, it goes left or right again. 15 nodes."""

    num_players = 1

    def initial_state(self) -> tuple[int, ...]:
        return ()

    def player(self, state: tuple[int, ...]) -> int:
        return (0, CHANCE, 0, TERMINAL)[len(state)]

    def actions(self, state: tuple[int, ...]) -> tuple[int, ...]:
        return (0, 1)

    def chance_outcomes(self, state: tuple[int, ...]) -> list[tuple[int, float]]:
        return [(0, 0.5), (1, 0.5)]

    def next_state(self, state: tuple[int, ...], action: int) -> tuple[int, ...]:
        return (*state, action)

    def utilities(self, state: tuple[int, ...]) -> tuple[float, ...]:
        return (float(sum(state)),)

    def infoset_key(self, state: tuple[int, ...], player: int) -> str:
        return "".join(map(str, state[:1]))  # the coin stays hidden

    def action_name(self, state: tuple[int, ...], action: int) -> str:
        return ("heads", "tails")[action] if len(state) == 1 else ("left", "right")[action]


class ChanceTooLikely(Sound):
    def chance_outcomes(self, state):
        return [(0, 0.5), (1, 0.6)]


class ChanceNegative(Sound):
    def chance_outcomes(self, state):
        return [(0, 1.5), (1, -0.5)]


class DifferentActions(Sound):
    def actions(self, state):
        return (0, 1) if state != (0, 1) else (0,)


class NoAction(Sound):
    def actions(self, state):
        return (0, 1) if state != (1, 0) else ()


class ActionTwice(Sound):
    def actions(self, state):
        return (0, 1) if state != () else (0, 0)


class Forgets(Sound):
    def infoset_key(self, state, player):
        return "second" if state else "first"


class Endless(Sound):
    def player(self, state):
        return 0

    def infoset_key(self, state, player):
        return str(state)


class NotANumber(Sound):
    def utilities(self, state):
        return (float("nan"),) if state == (1, 1, 0) else (0.0,)


class TooManyUtilities(Sound):
    def utilities(self, state):
        return (0.0, 0.0) if state == (0, 1, 1) else (0.0,)


class NoSuchPlayer(Sound):
    def player(self, state):
        return 1 if state == (1, 1) else super().player(state)


class KeyIsANumber(Sound):
    def infoset_key(self, state, player):
        return len(state)


class Unhashable(Sound):
    def next_state(self, state, action):
        return [*state, action]


class Raises(Sound):
    def next_state(self, state, action):
        if state == (1, 1):
            raise ValueError("out of cards")
        return (*state, action)


class ObservationGrows(Sound):
    def observation(self, state, player):
        return [0.0] * (1 + len(state) // 2)


class NobodyPlays(Sound):
    num_players = 0


BROKEN = [
    (ChanceTooLikely, r"chance probabilities are \[.*\], not a sum of 1; history: left$"),
    (ChanceNegative, "chance probabilities .*; history: left$"),
    (DifferentActions, r"'0' has actions \[0\] here but \[0, 1\] .*; history: left, tails$"),
    (NoAction, "player 0 has no legal action; history: right, heads$"),
    (ActionTwice, r"an action is listed twice in \[0, 0\]; history: \(the start\)$"),
    (Forgets, "player 0 forgets its own past at infoset 'second' .*; history: right, heads$"),
    (Endless, "still not over after 50 actions; history: left, heads, left, "),
    (
        NotANumber,
        r"utilities \[nan\] are not all finite and up to 1e\+150; history: right, tails, left$",
    ),
    (TooManyUtilities, "2 utilities for 1 players; history: left, tails, right$"),
    (NoSuchPlayer, r"player\(\) is 1, not in 0..0, CHANCE or TERMINAL; history: right, tails$"),
    (KeyIsANumber, r"infoset_key for player 0 is 0, not a string; history: \(the start\)$"),
    (Unhashable, "the state is not hashable; history: left$"),
    (Raises, "the rules raised ValueError: out of cards; history: right, tails$"),
    (ObservationGrows, "observation has 2 entries, not 1; history: left, heads$"),
    (NobodyPlays, "num_players is 0, must be a whole number from 1 to 127$"),
]


@pytest.mark.parametrize(("broken", "message"), BROKEN)
def test_check_game_names_the_history(broken: type, message: str) -> None:
    with pytest.raises(GameError, match=message):
        check_game(broken(), max_history_length=50)


def test_check_game_passes_sound_rules() -> None:
    report = check_game(Sound())
    assert (report.num_nodes, report.num_terminals, report.num_infosets) == (15, 8, 3)
    assert report.max_history_length == 3
    assert report.has_perfect_recall and not report.is_zero_sum
    with pytest.raises(GameError, match="more than 14 nodes; raise max_nodes"):
        check_game(Sound(), max_nodes=14)
    assert not check_game(Forgets(), allow_imperfect_recall=True).has_perfect_recall


def test_check_game_names_missing_methods() -> None:
    class NoUtilities:
        num_players = 1
        initial_state = player = actions = chance_outcomes = next_state = infoset_key = len

    with pytest.raises(GameError, match="NoUtilities lacks utilities, action_name of the game"):
        check_game(NoUtilities())


def test_connect_four_finds_every_row() -> None:
    """Each of the 69 lines of the full board wins, and no line over an edge does."""
    game = ConnectFour()
    lines = 0
    for row in range(6):
        for column in range(7):
            for up, right in ((1, 0), (0, 1), (1, 1), (-1, 1)):
                cells = [(row + up * k, column + right * k) for k in range(4)]
                if all(0 <= r < 6 and c < 7 for r, c in cells):
                    assert game._has_row(sum(1 << 7 * c + r for r, c in cells))
                    assert not game._has_row(sum(1 << 7 * c + r for r, c in cells[:3]))
                    lines += 1
    assert lines == 69
    overhanging = [(4, 0), (5, 0), (0, 1), (1, 1)]  # bits 4, 5, 7, 8
    assert not game._has_row(sum(1 << 7 * c + r for r, c in overhanging))


@pytest.mark.parametrize("field", ["rows", "columns", "x_in_row"])
def test_connect_four_needs_a_board(field: str) -> None:
    for value in (0, -1, 101):
        with pytest.raises(
            ConfigError, match=f"connect_four: {field} is {value}, must be at least 1"
        ):
            load_game("connect_four", **{field: value})


GRIDS = [
    "kuhn_poker(players=3)",
    "leduc_poker",
    "liars_dice(dice_sides=3)",
    "goofspiel(num_cards=3)",
]


@pytest.mark.parametrize("spec", GRIDS)
def test_words_and_places_tell_infosets_apart_and_no_more(spec: str) -> None:
    game = load_game(spec)
    told, places = defaultdict(set), defaultdict(set)
    stack = [game.initial_state()]
    while stack:
        state = stack.pop()
        player = game.player(state)
        if player == TERMINAL:
            continue
        stack += [game.next_state(state, action) for action in outcomes(game, state)]
        for observer in range(game.num_players):
            key = game.infoset_key(state, observer)
            if player >= 0:
                told[observer, key].add(describe_situation(game, state, observer))
        if player >= 0:
            key = game.infoset_key(state, player)
            choices = action_labels(game, state)
            assert len(choices) == len(set(choices)) == len(game.actions(state))
            places[player, grid_position(game, key)].add(key)
    assert all(len(texts) == 1 for texts in told.values()), "the words tell what the key hides"
    assert all(len(keys) == 1 for keys in places.values()), "two infosets at one place"


def test_what_people_read() -> None:
    game = load_game("kuhn_poker")
    state = game.next_state(game.next_state(game.initial_state(), 2), 0)
    state = game.next_state(state, 1)
    assert describe_situation(game, state, 1) == "You hold the Jack. Player 0 bet 1; the pot is 3."
    assert action_labels(game, state) == ["fold", "call 1"]
    assert grid_position(game, "0pb") == ("pb", "0", "")
    assert grid_position(load_game("leduc_poker"), "Qs:crc|Kh:r") == ("crc|r", "Qs", "Kh")
    plain = load_game("grid_duel")
    assert describe_situation(plain, plain.initial_state(), 0) == "You know: max:"
    assert action_labels(plain, plain.initial_state()) == ["up", "down"]
    assert grid_position(plain, "max:ud") == ("", "max:ud", "")
