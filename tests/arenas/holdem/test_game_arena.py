"""Hold'em from the first card: the public tree against the same games unrolled, and brute force."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.betting import FOLD
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_boards import count_boards, deal_streets
from counterplay.core.cards import cards_name, permute_suits
from counterplay.kernels.holdem import hand_strength

LEDUC = (
    "custom_holdem(num_ranks=3,num_suits=2,num_hole_cards=1,board_cards=(0,1),blinds=(0,0),ante=1,"
    "stacks=(13,13),betting=limit,sizes='2,4',max_bets=(2,),openers=(0,))"
)
SMALL_GAME = "custom_holdem(num_ranks={},num_suits={},num_hole_cards={},board_cards={},{})"
SHORT_STACKS = "blinds=(1,2),stacks=(5,7),sizes='0.5,a',max_bets=(2,1)"
GAMES = {
    "leduc": LEDUC,
    "no board": SMALL_GAME.format(
        3, 2, 2, "(0,)", "ante=1,stacks=(20,9),sizes='0.5,1,a',max_bets=(3,)"
    ),
    "two cards, flop of one": SMALL_GAME.format(3, 2, 2, "(0,1)", SHORT_STACKS),
    "one card, flop of two": SMALL_GAME.format(2, 3, 1, "(0,2)", "ante=1,stacks=(4,9)"),
    "one card, three streets": SMALL_GAME.format(2, 3, 1, "(0,1,1)", "stacks=(6,6),max_bets=(1,)"),
    "limit, four streets": SMALL_GAME.format(
        2, 3, 1, "(0,1,1,1)", "betting=limit,sizes='2,4',stacks=(7,7)"
    ),
    "big blind opens": SMALL_GAME.format(
        3, 2, 1, "(0,1)", "blinds=(2,1),openers=(1,0),stacks=(9,9)"
    ),
}
QUICK = ["leduc", "no board", "one card, flop of two"]
ALGORITHMS = [
    cp.algorithms.CFRPlus(delay=1),
    cp.algorithms.DCFR(gamma=3, restart_base=4),
    cp.algorithms.PCFRPlus(),
]


def table_indices(arena):
    """(player, infoset key) -> indices of its actions in the tables, on canonical boards."""
    result = {}
    for number, node in enumerate(arena.betting.nodes):
        if node.kind >= FOLD:
            continue
        street = node.state.street
        for board in range(arena.streets[street].num_boards):
            hands, start = arena.hand_cards(street, board), arena.piece_slice(number, board).start
            history = arena.public_history(number, board)
            for h, cards in enumerate(hands.tolist()):
                key = f"{cards_name(sorted(cards, reverse=True))}:{history}"
                result[node.kind, key] = start + h + len(hands) * np.arange(len(node.actions))
    return result


def compare_memories(arena, tree, memory, tree_memory):
    """Assert that regrets and averages are equal; return the number of infosets compared."""
    indices, count = table_indices(arena), 0
    scale = 1.0 / np.where(memory.last_weight > 0.0, memory.last_weight, 1.0)
    for infoset, key in enumerate(tree.infoset_keys):
        at = indices.get((int(tree.infoset_player[infoset]), key))
        if at is None:
            assert arena.isomorphism
            continue
        part = slice(*tree.offset[infoset : infoset + 2].tolist())
        np.testing.assert_allclose(memory.regret[at], tree_memory.regret[part], atol=1e-9)
        for k, total in enumerate(tree_memory.policy_sum):
            np.testing.assert_allclose(memory.policy_sum[k][at], total[part] * scale[k], atol=1e-9)
        count += 1
    assert count == len(indices) > 0
    return count


def check_iterates(spec, iterations=4):
    game = cp.load_game(spec)
    tree = cp.build_tree(game)
    for isomorphism in (False, True):
        arena = HoldemGameArena(game, "float64", isomorphism)
        for algorithm in ALGORITHMS:
            memory, tree_memory = algorithm.init(arena), algorithm.init(tree)
            for _ in range(iterations):
                memory = algorithm.step(arena, memory, 1)
                tree_memory = algorithm.step(tree, tree_memory, 1)
            count = compare_memories(arena, tree, memory, tree_memory)
            assert count == tree.num_infosets or isomorphism
            for name, policy in algorithm.policies(tree, tree_memory).items():
                judgement = cp.judge(arena, algorithm.policies(arena, memory)[name])
                expected = cp.judge(tree, policy)
                np.testing.assert_allclose(judgement.values, expected.values, atol=1e-9)
                np.testing.assert_allclose(judgement.best_values, expected.best_values, atol=1e-9)


@pytest.mark.parametrize("name", QUICK)
def test_iterates_equal_those_of_the_tree(name):
    check_iterates(GAMES[name])


@pytest.mark.parametrize("name", [name for name in GAMES if name not in QUICK])
def test_iterates_of_larger_games_equal_those_of_the_tree(name):
    check_iterates(GAMES[name])


def test_leduc_poker_as_hold_em():
    arena = HoldemGameArena(cp.load_game(LEDUC), "float64")
    result = cp.solve(arena, cp.algorithms.CFRPlus(), iterations=500)
    assert result.exploitability < 2e-3
    assert cp.judge(arena, result.policy).values[0] == pytest.approx(-0.0856064, abs=1e-3)


def test_values_do_not_depend_on_isomorphism():
    """A random policy that treats suits alike has the same values on merged and on all boards."""
    game = cp.load_game("custom_holdem(num_ranks=3,num_suits=3,board_cards=(0,2,1),stacks=(9,9))")
    values = []
    for isomorphism in (True, False):
        arena = HoldemGameArena(game, "float64", isomorphism)
        assert arena.num_pairs == 36 * 21
        policy = arena.tabulate(policy_without_suits)
        values.append(cp.judge(arena, policy))
    np.testing.assert_allclose(values[0].values, values[1].values, atol=1e-6)
    np.testing.assert_allclose(values[0].best_values, values[1].best_values, atol=1e-6)


def policy_without_suits(public):
    """Weights that depend on ranks and on the suits that a hand shares with the board."""
    weights = []
    for hand in public.hands.tolist():
        shared = sorted(sum(c % 4 == b % 4 for b in public.board) for c in hand)
        ranks = sorted(card // 4 for card in hand)
        rank_text = f"{ranks} {sorted(b // 4 for b in public.board)} {shared} {public.history}"
        seed = sum(ord(letter) * 31**i for i, letter in enumerate(rank_text)) % 2**32
        weights.append(np.random.default_rng(seed).exponential(size=len(public.actions)))
    return np.array(weights).T


@pytest.mark.parametrize(
    ("spec", "sizes"),
    [
        ("ms1f1", [1, 13]),
        ("ms1f3", [1, 1755]),
        ("ms2f1t1h5", [1, 5, 45]),
        ("custom_holdem(num_suits=3,board_cards=(0,1,1))", [1, 13, 325]),
    ],
)
def test_numbers_of_canonical_boards(spec, sizes):
    game = cp.load_game(spec)
    streets = deal_streets(game, True)
    assert [street.num_boards for street in streets] == sizes
    assert all(n <= size for n, size in zip(count_boards(game, True), sizes, strict=True))
    total = 1
    for street, count in zip(streets, game.board_cards, strict=True):
        cards = len(game.deck) - street.cards.shape[1] + count
        total *= len(list(combinations(range(cards), count)))
        weight = street.num_merged.astype(float)
        assert set(np.bincount(street.parent, weight)) == {
            float(len(list(combinations(range(cards), count))))
        }


def test_boards_are_canonical_by_brute_force():
    """No suit permutation maps two boards to each other, and all raw boards have one."""
    game = cp.load_game("custom_holdem(num_ranks=3,num_suits=3,board_cards=(0,2,1))")
    boards = {
        (frozenset(board[:2]), frozenset(board[2:]))
        for board in deal_streets(game, True)[2].cards.tolist()
    }
    classes = set()
    for flop in combinations(game.deck, 2):
        for turn in set(game.deck) - set(flop):
            images = {
                (
                    frozenset(permute_suits(c, (*suits, 3)) for c in flop),
                    frozenset([permute_suits(turn, (*suits, 3))]),
                )
                for suits in permutations(range(3))
            }
            assert len(images & boards) == 1
            classes.add(next(iter(images & boards)))
    assert classes == boards


def plain_rank(cards):
    """Compare one to four cards: multiples first, then ranks; no straights, no flushes."""
    ranks = [card // 4 for card in cards]
    groups = sorted(((ranks.count(r), r) for r in set(ranks)), reverse=True)
    return [count for count, _ in groups], [rank for _, rank in groups]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_strengths_of_fewer_than_five_cards(count):
    deck = [4 * rank + suit for rank in (0, 1, 2, 3, 12) for suit in range(4)]
    hands = list(combinations(deck, count))
    result = np.zeros(len(hands), np.int64)
    hand_strength.strengths(np.array(hands, np.uint8), result)
    plain = [plain_rank(hand) for hand in hands]
    order = sorted({(tuple(shape), tuple(ranks)) for shape, ranks in plain})
    expected = [order.index((tuple(shape), tuple(ranks))) for shape, ranks in plain]
    assert np.unique(result, return_inverse=True)[1].tolist() == expected


def test_policies_are_saved_and_loaded(tmp_path):
    arena = HoldemGameArena(cp.load_game(LEDUC), "float32")
    policy = cp.solve(arena, cp.algorithms.DCFR(), iterations=5).policy
    policy.save(tmp_path / "leduc.policy")
    again = cp.holdem.load_holdem_policy(tmp_path / "leduc.policy")
    np.testing.assert_allclose(
        cp.judge(again.arena, again).best_values, cp.judge(arena, policy).best_values, atol=1e-3
    )
    (tmp_path / "leduc.policy").write_bytes(b"nothing")
    with pytest.raises(cp.RunError, match="damaged"):
        cp.holdem.load_holdem_policy(tmp_path / "leduc.policy")


def test_sixteen_bits_solve_as_well():
    algorithm, game = cp.algorithms.DCFR(gamma=3, restart_base=4), cp.load_game(GAMES["no board"])
    exact, packed = (
        cp.solve(HoldemGameArena(game, precision), algorithm, iterations=100).exploitability
        for precision in ("float64", "int16")
    )
    assert packed == pytest.approx(exact, abs=5e-3)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("ms1f1(stacks=(0,162))", "stacks is .* two numbers from 2"),
        ("ms1f1(blinds=(0,0))", "blinds and ante are all 0; post at least one chip"),
        ("ms1f1(board_cards=(1,3))", "board_cards is .* must be 0 for the first round"),
        ("ms1f1(num_ranks=1)", "num_ranks x num_suits is 4 cards, but 5 are dealt"),
        ("ms1f1(betting=limit,sizes='0.5')", "sizes is '0.5', must be chips by round"),
        ("ms1f1(sizes='x')", "sizes is 'x', must be parts of the pot"),
        ("ms1f1(max_bets=())", "max_bets is .* numbers by round"),
        ("ms1f1(openers=(2,))", "openers is .* must be 0 or 1"),
        ("ms1f1(betting=pot)", "betting is 'pot', must be limit or no_limit"),
    ],
)
def test_wrong_parameters_are_refused(spec, message):
    with pytest.raises(cp.ConfigError, match=message):
        cp.load_game(spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "custom_holdem",
            "needs .* are free: take fewer rounds, a smaller deck or fewer",
        ),
        ("custom_holdem(stacks=(1000,1000),sizes='',max_bets=(9,))", "more than 100,000 nodes"),
        ("custom_holdem(num_hole_cards=1,board_cards=(0,))", "at most 12 ranks"),
        ("no_limit_holdem(players=3)", "has 3 players, must have 2"),
    ],
)
def test_games_that_do_not_fit_are_refused(spec, message):
    with pytest.raises(cp.ConfigError, match=message):
        HoldemGameArena(cp.load_game(spec))


def test_a_policy_of_the_wrong_shape_is_refused():
    arena = HoldemGameArena(cp.load_game(LEDUC))
    with pytest.raises(cp.ConfigError, match="must answer with 2 x 6 numbers"):
        arena.tabulate(lambda public: [1.0])
    with pytest.raises(cp.ConfigError, match="entries where"):
        cp.judge(arena, HoldemPolicy(arena, np.ones(3), np.ones(0)))


def test_decks_of_other_numbering_are_refused():
    """`poker` numbers the cards of two suits 2c, 2d, 3c, ...; kernels know rank = card // 4."""
    spec = "poker(blinds=(1,1),stacks=(9,9),opens=(0,0),raises=(2,2),raise_caps=(1,1),ranks=3,"
    game = cp.load_game(f"{spec}suits=2,hole=1,board=(0,1))")
    with pytest.raises(cp.ConfigError, match=r"custom_holdem\(num_suits=2\)"):
        HoldemGameArena(game)
