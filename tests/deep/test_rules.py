"""Networks on rules that are never unrolled: episodes, walks and answers, against the tree."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import counterplay as cp
from counterplay.deep import batches, on_rules, rule_walks
from counterplay.deep.graph import arrays_of
from counterplay.deep.mixing import mixed
from counterplay.deep.nets import new_nets
from counterplay.deep.network_policy import NetworkPolicy
from counterplay.deep.stepping import CompiledRules, ReadableRules, rules_of
from counterplay.errors import ConfigError, GameError
from counterplay.observing import HASHED_FEATURES, KEY_BITS, hash_key
from counterplay.registry import load_algorithm
from tests.conftest import built

BOARDS = ["dark_hex(num_rows=2,num_cols=2)", "dark_hex(num_rows=2,num_cols=2,gameversion=adh)"]
DICE = "liars_dice(numdice=2,dice_sides=2)"


def uniform(seen, legal):
    policy = legal / legal.sum(axis=1, keepdims=True)
    return policy, policy


def lopsided(seen, legal):
    """Probabilities that depend on what is seen."""
    weight = np.where(legal, 1.0 + np.arange(legal.shape[1]) + seen.sum(axis=1)[:, None], 0.0)
    policy = weight / weight.sum(axis=1, keepdims=True)
    return policy, policy


@pytest.mark.parametrize("spec", ["leduc_poker", "goofspiel(num_cards=3,imp_info=true)", DICE])
def test_compiled_and_readable_rules_step_alike(spec):
    game = cp.load_game(spec)
    compiled, readable = rules_of(game), ReadableRules(game)
    assert isinstance(compiled, CompiledRules)
    assert compiled.num_actions == readable.num_actions
    ours, count = batches.play(compiled, lopsided, np.random.default_rng(1), 40)
    theirs, same = batches.play(readable, lopsided, np.random.default_rng(1), 40)
    assert count == same == ours.episodes.live.sum()
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert np.array_equal(one, other)


def test_episodes_are_worth_what_the_tree_says(kuhn):
    met, _ = batches.play(rules_of(cp.KuhnPoker()), uniform, np.random.default_rng(0), 4000)
    utility = met.episodes.utility[:, 0]
    exact = cp.expected_values(kuhn, cp.uniform_policy(kuhn))[0]
    assert abs(utility.mean() - exact) < 4.0 * utility.std() / 4000**0.5
    live, played = met.episodes.live, met.episodes.played
    assert (played[live] == 0.5).all()
    assert (met.episodes.decision[live] < met.seen.shape[1]).all()
    # rows of a player stand side by side, each met once
    rows = met.episodes.decision[live]
    assert len(set(rows.tolist())) == rows.size
    assert ((rows >= met.seen.shape[1] // 2) == (met.episodes.player[live] == 1)).all()


def test_walks_find_the_exact_regrets(kuhn):
    """The mean over walks of what is added at an infoset is its counterfactual regret."""
    rules, count = rules_of(cp.KuhnPoker()), 3000
    walks = rule_walks.no_walks(rules, 50_000, policies=True)
    units, rng = rule_walks.cut(count, jax.random.PRNGKey(0))
    for unit in units:
        found = rule_walks.walk(rules, uniform, 0, True, *unit)
        rule_walks.offer(walks, found, 0, 2.0, rng)
    samples = walks.replay[0]
    filled = int(samples.seen[0])
    policy = cp.uniform_policy(kuhn)
    values, graph = np.zeros(kuhn.num_sequences + 1), arrays_of(kuhn)
    reach = np.append(np.array([0.5] * kuhn.num_sequences), 1.0)
    second = kuhn.infoset_player[np.repeat(np.arange(12), 2)] == 1
    reach[:-1] = np.where(second, 0.5, 0.0)
    kuhn.gradient(0, reach, values)
    for infoset in np.flatnonzero(kuhn.infoset_player == 0):
        mine = (samples.observation[:filled] == graph.observation[graph.own_view[infoset]]).all(1)
        found = samples.target[:filled][mine].sum(axis=0) / count
        first = kuhn.offset[infoset]
        exact = values[first : first + 2].astype(float)
        if kuhn.key(int(infoset)).endswith("pb") is False:  # the pass may be followed by more
            below = np.flatnonzero(kuhn.form.parent == first)
            for child in below:
                start = kuhn.offset[child]
                exact[0] += 0.5 * values[start : start + 2].sum()
        regret = exact - exact.mean()
        assert np.abs(found - regret).max() < 0.05
    assert (samples.weight[:filled] == 2.0).all()
    assert policy.probabilities[0] == 0.5
    assert int(walks.met[1].seen[0]) > 0 == int(walks.met[0].seen[0])


def test_reservoirs_keep_everything_equally_likely():
    rules = rules_of(cp.KuhnPoker())
    kept = np.zeros(100)
    rng = np.random.default_rng(0)
    rows = np.arange(100, dtype=np.float32)
    for _ in range(400):
        samples = rule_walks.no_walks(rules, 10, policies=False).replay[0]
        seen = np.repeat(rows[:, None], rules.num_features, axis=1)
        for part in (slice(0, 7), slice(7, 40), slice(40, 100)):
            legal = np.ones((len(rows[part]), 2), bool)
            rule_walks.keep(samples, rng, seen[part], legal, 0.0 * legal, rows[part])
        kept[samples.weight.astype(int)] += 1
    assert kept.sum() == 4000
    assert ((kept - 40.0) ** 2 / 40.0).sum() < 150  # chi-square, 99 degrees of freedom


@pytest.mark.parametrize("spec", [*BOARDS, "liars_dice(dice_sides=3)"])
def test_generated_arenas_show_what_players_observe(spec):
    game = cp.load_game(spec)
    tree, arena = cp.build_tree(game), cp.build_arena(game, "generated")
    graph = arrays_of(tree)
    nets = new_nets(
        np.random.default_rng(0), 2, (graph.num_features, 8, rules_of(game).num_actions)
    )
    for player in range(2):
        first, last = arena.form.player_infoset[player : player + 2].tolist()
        seen, legal = arena.observations(first, last), arena.legal(first, last)
        for infoset in range(first, last):
            there = tree.find(arena.key(infoset), player)
            assert (seen[infoset - first] == graph.observation[graph.own_view[there]]).all()
            actions = tree.sequence_action[tree.offset[there] : tree.offset[there + 1]]
            assert np.flatnonzero(legal[infoset - first]).tolist() == actions.tolist()
    policy = NetworkPolicy(game, (nets,))
    exact = cp.exploitability(tree, policy.on(tree))
    assert cp.exploitability(arena, policy.on(arena)) == pytest.approx(exact, abs=1e-6)
    several = NetworkPolicy(game, (nets, jax.tree.map(lambda w: -w, nets)), "softmax", (1.0, 3.0))
    exact = cp.exploitability(tree, several.on(tree))
    assert cp.exploitability(arena, several.on(arena)) == pytest.approx(exact, abs=1e-6)


def test_networks_play_as_their_tables_say(kuhn):
    nets = new_nets(np.random.default_rng(3), 2, (11, 8, 2))
    policy = NetworkPolicy(cp.KuhnPoker(), (nets,), "regret_matching")
    table = policy.on(kuhn)
    state = cp.KuhnPoker().next_state(cp.KuhnPoker().initial_state(), 2)
    state = cp.KuhnPoker().next_state(state, 0)
    assert policy.odds(state, 0) == pytest.approx(list(table["2"].values()), abs=1e-6)
    pair = NetworkPolicy(cp.KuhnPoker(), (nets, nets), "softmax", (1.0, 0.0))
    assert pair.fresh(5).nets[0] is nets
    assert "one of 2" in repr(pair)


def test_a_mixture_counts_by_reach(kuhn):
    """Whoever draws a policy for an episode earns what the mixture earns."""
    one, two = (cp.random_policy(kuhn, seed).probabilities for seed in (1, 2))
    both = mixed(kuhn, [one, two], [1.0, 3.0])
    owner = np.repeat(kuhn.infoset_player, kuhn.num_actions)
    other = cp.uniform_policy(kuhn).probabilities
    value = [
        cp.expected_values(kuhn, cp.Policy(kuhn, np.where(owner == 0, own, other)))[0]
        for own in (one, two, both.probabilities)
    ]
    assert value[2] == pytest.approx(0.25 * value[0] + 0.75 * value[1])


SMALL = "critic=network,episodes=64,units=(16,),critic_units=(16,),horizon=200,lr=0.01"


def test_policy_gradients_learn_on_rules(kuhn):
    arena = cp.SampledGame(cp.KuhnPoker())
    algorithm = load_algorithm(f"deep_mmd({SMALL},past_networks=8)")
    memory = algorithm.step(arena, algorithm.init(arena, 0), 150)
    found = algorithm.policies(arena, memory)
    assert list(found) == ["ensemble", "current", "smoothed"]
    assert memory.size.measured()["touched"] == memory.touched > 150 * 64
    assert cp.exploitability(kuhn, found["current"].on(kuhn)) < 0.25  # uniform play: 11/24
    again = algorithm.init(arena, 0)
    for count in (100, 50):  # the same bits however it is cut
        again = algorithm.step(arena, again, count)
    same = jax.tree.map(np.array_equal, memory.state, again.state)
    assert all(jax.tree.leaves(same))


def test_sd_cfr_learns_on_rules(kuhn):
    arena = cp.SampledGame(cp.KuhnPoker())
    algorithm = load_algorithm(
        "sd_cfr(reservoir_size=8000,traversals=32,batch=128,steps=60,regret_units=(16,16))"
    )
    result = cp.solve(arena, algorithm, iterations=40)
    assert not result.records[-1].exact
    assert cp.exploitability(kuhn, result.policy.on(kuhn)) < 0.2


class Silent(cp.KuhnPoker):
    observation = None


def test_refusals():
    kuhn = cp.SampledGame(cp.KuhnPoker())
    with pytest.raises(ConfigError, match="critic is table, which needs the tree; on rules take"):
        load_algorithm("ppo(critic=table)").init(kuhn)
    three = cp.SampledGame(cp.KuhnPoker(players=3))
    with pytest.raises(ConfigError, match="take sd_cfr"):
        load_algorithm("deep_cfr(reservoir_size=100)").init(three)
    with pytest.raises(ConfigError, match=r"reservoir_size is 10{12}: these take"):
        load_algorithm(f"sd_cfr(reservoir_size={10**12})").init(kuhn)


def test_defaults_suit_rules():
    """Networks see hashed keys where a game has no observations; reservoirs fit into memory."""
    silent = cp.SampledGame(Silent())
    memory = load_algorithm("ppo").init(silent)
    assert memory.state.actor.params[0][0].shape[1] == 2 + HASHED_FEATURES + KEY_BITS
    sizes = [
        load_algorithm("sd_cfr").init(arena).state.walks.replay[0].weight.size
        for arena in (cp.SampledGame(cp.KuhnPoker()), silent)
    ]
    assert sizes[0] == 200_000
    assert 100_000 < sizes[1] < 200_000  # rows are longer there
    assert len(load_algorithm("deep_hedge").init(silent).state.averages.steps) == 100
    codes = {hash_key(0, key, 2).tobytes() for key in built("leduc_poker").infoset_keys}
    assert len(codes) == 936
    with pytest.raises(ConfigError, match="r_nad needs a two-player zero-sum game"):
        load_algorithm("r_nad").init(cp.SampledGame(cp.KuhnPoker(players=3)))
    assert load_algorithm("r_nad").init(cp.SampledGame(cp.KuhnPoker())).iteration == 0


def test_an_action_beyond_those_known_is_an_error():
    rules = rules_of(cp.KuhnPoker())
    rules.__dict__["num_actions"] = 1
    with pytest.raises(GameError, match="num_distinct_actions"):
        batches.play(rules, uniform, np.random.default_rng(0), 4)


def test_the_arena_of_a_game_is_found():
    game = cp.load_game(BOARDS[0])
    assert on_rules.game_of(cp.SampledGame(game)) is game
    assert on_rules.game_of(cp.build_arena(game, "generated")) is game
    assert built("kuhn_poker").num_players == 2


def test_learned_bounds_stay_below_the_truth(kuhn):
    """Against somebody who always passes; the exact gains are far from zero."""
    passing = cp.Policy.from_dict(kuhn, {key: {"pass": 1.0} for key in kuhn.infoset_keys})
    truth = cp.judge(kuhn, passing).nash_conv
    learner = f"qpg({SMALL},tau=0.02,tau_end=0.01,smoothing=0)".replace("horizon=200,", "")
    bound = cp.learned_best_response(
        cp.KuhnPoker(), passing, learner=learner, iterations=60, episodes=400, confidence=0.999
    )
    assert bound.nash_conv.low <= truth
    assert bound.nash_conv.mean > 0.6 * truth
