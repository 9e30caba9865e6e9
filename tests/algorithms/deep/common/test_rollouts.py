"""Networks on rules that are never unrolled, compared with the tree."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import counterplay as cp
from counterplay.algorithms.deep.common import rollouts, tree_or_rules
from counterplay.algorithms.deep.common.batched_env import (
    CompiledBatchedEnv,
    FixedOpponentsBatchedEnv,
    PythonBatchedEnv,
    build_env,
)
from counterplay.algorithms.deep.common.graph import host_graph_from_tree
from counterplay.algorithms.deep.common.mixture import mix_policies
from counterplay.algorithms.deep.common.network_policy import NetworkPolicy
from counterplay.algorithms.deep.common.networks import new_nets
from counterplay.algorithms.deep.regret import rules_sampler
from counterplay.core.observations import HASHED_FEATURES, KEY_BITS, hash_key
from counterplay.errors import ConfigError, GameError
from counterplay.registry import load_algorithm
from tests.conftest import game_tree

BOARDS = ["dark_hex(num_rows=2,num_cols=2)", "dark_hex(num_rows=2,num_cols=2,gameversion=adh)"]
DICE = "liars_dice(numdice=2,dice_sides=2)"


def uniform(seen, legal):
    policy = legal / legal.sum(axis=1, keepdims=True)
    return policy, policy


def observation_policy(seen, legal):
    """Return probabilities that depend on the observation."""
    weight = np.where(legal, 1.0 + np.arange(legal.shape[1]) + seen.sum(axis=1)[:, None], 0.0)
    policy = weight / weight.sum(axis=1, keepdims=True)
    return policy, policy


@pytest.mark.parametrize("spec", ["leduc_poker", "goofspiel(num_cards=3,imp_info=true)", DICE])
def test_compiled_and_readable_rules_step_alike(spec):
    game = cp.load_game(spec)
    compiled, readable = build_env(game), PythonBatchedEnv(game)
    assert isinstance(compiled, CompiledBatchedEnv)
    assert compiled.num_actions == readable.num_actions
    ours, count = rollouts.play_episodes(compiled, observation_policy, np.random.default_rng(1), 40)
    theirs, same = rollouts.play_episodes(
        readable, observation_policy, np.random.default_rng(1), 40
    )
    assert count == same == ours.episodes.live.sum()
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert np.array_equal(one, other)


def test_episodes_without_folds_fit_the_rows_of_a_batch():
    """Random play folds early; learned policies fold less, which must not compile again."""
    env = build_env(cp.games.LeducPoker())

    def never_fold(seen, legal):
        weight = np.where(legal, [0.0, 1.0, 1.0], 0.0)
        policy = weight / weight.sum(axis=1, keepdims=True)
        return policy, policy

    batch, _ = rollouts.play_episodes(env, never_fold, np.random.default_rng(0), 256)
    assert len(batch.legal) == env.num_players * rollouts.rows_per_player(env, 256)


def test_episodes_are_worth_what_the_tree_says(kuhn):
    met, _ = rollouts.play_episodes(
        build_env(cp.games.KuhnPoker()), uniform, np.random.default_rng(0), 4000
    )
    utility = met.episodes.utility[:, 0]
    exact = cp.expected_values(kuhn, cp.uniform_policy(kuhn))[0]
    assert abs(utility.mean() - exact) < 4.0 * utility.std() / 4000**0.5
    live, played = met.episodes.live, met.episodes.sampling_prob
    assert (played[live] == 0.5).all()
    assert (met.episodes.decision[live] < met.observation.shape[1]).all()
    # rows of a player stand side by side, each met once
    rows = met.episodes.decision[live]
    assert len(set(rows.tolist())) == rows.size
    assert ((rows >= met.observation.shape[1] // 2) == (met.episodes.player[live] == 1)).all()


def test_walks_find_the_exact_regrets(kuhn):
    """The mean over walks of the samples at an infoset is its counterfactual regret."""
    rules, count = build_env(cp.games.KuhnPoker()), 3000
    walks = rules_sampler.new_rules_arrays(rules, 50_000, keep_policies=True)
    units, rng = rules_sampler.split_into_units(count, jax.random.PRNGKey(0))
    for unit in units:
        found = rules_sampler.run_traversals(rules, uniform, 0, True, *unit)
        rules_sampler.add_traversal_result(walks, found, 0, 2.0, rng)
    samples = walks.regret_samples[0]
    filled = int(samples.num_seen[0])
    policy = cp.uniform_policy(kuhn)
    values, graph = np.zeros(kuhn.num_sequences + 1), host_graph_from_tree(kuhn)
    reach = np.append(np.array([0.5] * kuhn.num_sequences), 1.0)
    second = kuhn.infoset_player[np.repeat(np.arange(12), 2)] == 1
    reach[:-1] = np.where(second, 0.5, 0.0)
    kuhn.gradient(0, reach, values)
    for infoset in np.flatnonzero(kuhn.infoset_player == 0):
        mine = (
            samples.observation[:filled] == graph.observation[graph.own_observation_row[infoset]]
        ).all(1)
        found = samples.target[:filled][mine].sum(axis=0) / count
        first = kuhn.offset[infoset]
        exact = values[first : first + 2].astype(float)
        if (
            kuhn.infoset_key(int(infoset)).endswith("pb") is False
        ):  # the pass may be followed by more
            below = np.flatnonzero(kuhn.form.parent == first)
            for child in below:
                start = kuhn.offset[child]
                exact[0] += 0.5 * values[start : start + 2].sum()
        regret = exact - exact.mean()
        assert np.abs(found - regret).max() < 0.05
    assert (samples.weight[:filled] == 2.0).all()
    assert policy.probabilities[0] == 0.5
    assert int(walks.policy_samples[1].num_seen[0]) > 0 == int(walks.policy_samples[0].num_seen[0])


def test_reservoirs_keep_everything_equally_likely():
    rules = build_env(cp.games.KuhnPoker())
    kept = np.zeros(100)
    rng = np.random.default_rng(0)
    rows = np.arange(100, dtype=np.float32)
    for _ in range(400):
        samples = rules_sampler.new_rules_arrays(rules, 10, keep_policies=False).regret_samples[0]
        seen = np.repeat(rows[:, None], rules.num_features, axis=1)
        for part in (slice(0, 7), slice(7, 40), slice(40, 100)):
            legal = np.ones((len(rows[part]), 2), bool)
            rules_sampler.add_samples(samples, rng, seen[part], legal, 0.0 * legal, rows[part])
        kept[samples.weight.astype(int)] += 1
    assert kept.sum() == 4000
    assert ((kept - 40.0) ** 2 / 40.0).sum() < 150  # chi-square, 99 degrees of freedom


@pytest.mark.parametrize("spec", [*BOARDS, "liars_dice(dice_sides=3)"])
def test_generated_arenas_show_what_players_observe(spec):
    game = cp.load_game(spec)
    tree, arena = cp.build_tree(game), cp.build_arena(game, "generated")
    graph = host_graph_from_tree(tree)
    nets = new_nets(
        np.random.default_rng(0), 2, (graph.num_features, 8, build_env(game).num_actions)
    )
    for player in range(2):
        first, last = arena.form.player_infoset[player : player + 2].tolist()
        seen, legal = arena.observations(first, last), arena.legal_mask(first, last)
        for infoset in range(first, last):
            there = tree.find_infoset(arena.infoset_key(infoset), player)
            assert (
                seen[infoset - first] == graph.observation[graph.own_observation_row[there]]
            ).all()
            actions = tree.sequence_action[tree.offset[there] : tree.offset[there + 1]]
            assert np.flatnonzero(legal[infoset - first]).tolist() == actions.tolist()
    policy = NetworkPolicy(game, (nets,))
    exact = cp.exploitability(tree, policy.tabulate(tree))
    assert cp.exploitability(arena, policy.tabulate(arena)) == pytest.approx(exact, abs=1e-6)
    several = NetworkPolicy(game, (nets, jax.tree.map(lambda w: -w, nets)), "softmax", (1.0, 3.0))
    exact = cp.exploitability(tree, several.tabulate(tree))
    assert cp.exploitability(arena, several.tabulate(arena)) == pytest.approx(exact, abs=1e-6)


def test_networks_play_as_their_tables_say(kuhn):
    nets = new_nets(np.random.default_rng(3), 2, (11, 8, 2))
    policy = NetworkPolicy(cp.games.KuhnPoker(), (nets,), "regret_matching")
    table = policy.tabulate(kuhn)
    state = cp.games.KuhnPoker().next_state(cp.games.KuhnPoker().initial_state(), 2)
    state = cp.games.KuhnPoker().next_state(state, 0)
    assert policy.action_probabilities(state, 0) == pytest.approx(
        list(table["2"].values()), abs=1e-6
    )
    pair = NetworkPolicy(cp.games.KuhnPoker(), (nets, nets), "softmax", (1.0, 0.0))
    assert pair.for_episode(5).nets[0] is nets
    assert "one of 2" in repr(pair)


def test_a_mixture_counts_by_reach(kuhn):
    """Drawing a policy for each episode has the same value as the mixture."""
    one, two = (cp.random_policy(kuhn, seed).probabilities for seed in (1, 2))
    both = mix_policies(kuhn, [one, two], [1.0, 3.0])
    owner = np.repeat(kuhn.infoset_player, kuhn.num_actions)
    other = cp.uniform_policy(kuhn).probabilities
    value = [
        cp.expected_values(kuhn, cp.Policy(kuhn, np.where(owner == 0, own, other)))[0]
        for own in (one, two, both.probabilities)
    ]
    assert value[2] == pytest.approx(0.25 * value[0] + 0.75 * value[1])


SMALL_NETS = (
    "critic=network,num_episodes=64,hidden_sizes=(16,),critic_hidden_sizes=(16,),"
    "schedule_iterations=200,learning_rate=0.01"
)


def test_policy_gradients_learn_on_rules(kuhn):
    arena = cp.RulesArena(cp.games.KuhnPoker())
    algorithm = load_algorithm(f"deep_mmd({SMALL_NETS},ensemble_size=8)")
    memory = algorithm.step(arena, algorithm.init(arena, 0), 150)
    found = algorithm.policies(arena, memory)
    assert list(found) == ["ensemble", "current", "smoothed"]
    assert memory.size.metrics()["touched"] == memory.nodes_touched > 150 * 64
    assert cp.exploitability(kuhn, found["current"].tabulate(kuhn)) < 0.25  # uniform play: 11/24
    again = algorithm.init(arena, 0)
    for count in (100, 50):  # the same bits however it is cut
        again = algorithm.step(arena, again, count)
    same = jax.tree.map(np.array_equal, memory.state, again.state)
    assert all(jax.tree.leaves(same))


def test_sd_cfr_learns_on_rules(kuhn):
    arena = cp.RulesArena(cp.games.KuhnPoker())
    algorithm = load_algorithm(
        "sd_cfr(reservoir_size=8000,num_traversals=32,batch_size=128,train_steps=60,"
        "hidden_sizes=(16,16))"
    )
    result = cp.solve(arena, algorithm, iterations=40)
    assert not result.records[-1].is_exact
    assert cp.exploitability(kuhn, result.policy.tabulate(kuhn)) < 0.2


class Silent(cp.games.KuhnPoker):
    observation = None


def test_settings_that_need_a_tree_are_refused_on_rules():
    kuhn = cp.RulesArena(cp.games.KuhnPoker())
    with pytest.raises(ConfigError, match="critic is table, which needs the tree; on rules take"):
        load_algorithm("ppo(critic=table)").init(kuhn)
    three = cp.RulesArena(cp.games.KuhnPoker(players=3))
    with pytest.raises(ConfigError, match="take sd_cfr"):
        load_algorithm("deep_cfr(reservoir_size=100)").init(three)
    with pytest.raises(ConfigError, match=r"reservoir_size is 10{12}: these take"):
        load_algorithm(f"sd_cfr(reservoir_size={10**12})").init(kuhn)


def test_defaults_suit_rules():
    """Networks see hashed keys where a game has no observations; reservoirs fit into memory."""
    silent = cp.RulesArena(Silent())
    memory = load_algorithm("ppo").init(silent)
    assert memory.state.actor.params[0][0].shape[1] == 2 + HASHED_FEATURES + KEY_BITS
    sizes = [
        load_algorithm("sd_cfr").init(arena).state.sampler.regret_samples[0].weight.size
        for arena in (cp.RulesArena(cp.games.KuhnPoker()), silent)
    ]
    assert sizes[0] == 200_000
    assert 100_000 < sizes[1] < 200_000  # rows are longer there
    assert len(load_algorithm("deep_hedge").init(silent).state.averages.ensemble_iterations) == 100
    codes = {hash_key(0, key, 2).tobytes() for key in game_tree("leduc_poker").infoset_keys}
    assert len(codes) == 936
    with pytest.raises(ConfigError, match="r_nad needs a two-player zero-sum game"):
        load_algorithm("r_nad").init(cp.RulesArena(cp.games.KuhnPoker(players=3)))
    assert load_algorithm("r_nad").init(cp.RulesArena(cp.games.KuhnPoker())).iteration == 0


def test_an_action_beyond_those_known_is_an_error():
    rules = build_env(cp.games.KuhnPoker())
    rules.__dict__["num_actions"] = 1
    with pytest.raises(GameError, match="num_distinct_actions"):
        rollouts.play_episodes(rules, uniform, np.random.default_rng(0), 4)


def test_the_arena_of_a_game_is_found():
    game = cp.load_game(BOARDS[0])
    assert tree_or_rules.game_from_arena(cp.RulesArena(game)) is game
    assert tree_or_rules.game_from_arena(cp.build_arena(game, "generated")) is game
    assert game_tree("kuhn_poker").num_players == 2


def test_learned_bounds_stay_below_the_truth(kuhn):
    """Against a policy that always passes; the exact gains are far from zero."""
    passing = cp.Policy.from_dict(kuhn, {key: {"pass": 1.0} for key in kuhn.infoset_keys})
    truth = cp.judge(kuhn, passing).nash_conv
    learner = f"qpg({SMALL_NETS},temperature=0.02,temperature_end=0.01,ema_decay=0)".replace(
        "schedule_iterations=200,", ""
    )
    bound = cp.learned_best_response(
        cp.games.KuhnPoker(),
        passing,
        learner=learner,
        iterations=60,
        num_episodes=400,
        confidence=0.999,
    )
    assert bound.nash_conv.low <= truth
    assert bound.nash_conv.mean > 0.6 * truth


class BatchOnly:
    """A policy that counts its questions and answers them in batches only."""

    def __init__(self, policy):
        self.policy, self.num_questions = policy, 0

    def batch_action_probabilities(self, states, players):
        self.num_questions += 1
        pairs = zip(states, players, strict=True)
        return [self.policy.action_probabilities(state, player) for state, player in pairs]


class SingleAnswers:
    """A policy that answers one question at a time."""

    def __init__(self, policy):
        self.action_probabilities = policy.action_probabilities


def test_opponents_of_a_response_are_asked_once_per_turn():
    game = cp.games.KuhnPoker()
    policy = NetworkPolicy(game, (new_nets(np.random.default_rng(1), 2, (11, 8, 2)),))

    def episodes(opponents):
        rules = FixedOpponentsBatchedEnv(game, opponents, 0)
        batch, _ = rollouts.play_episodes(rules, observation_policy, np.random.default_rng(2), 30)
        return batch.episodes

    in_batches = BatchOnly(policy)
    together, alone = episodes(in_batches), episodes(SingleAnswers(policy))
    for one, other in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
        assert np.array_equal(one, other)
    assert in_batches.num_questions < 30  # in three batches of 300 or 30 episodes


def test_equal_rows_are_found_whatever_their_type():
    rng = np.random.default_rng(3)
    floats = rng.integers(0, 3, (500, 2)).astype(np.float32) / 7.0
    integers, flags = rng.integers(-1, 2, 500), rng.random((500, 2)) < 0.5
    first, group = rollouts.group_equal_rows(floats, integers, flags)
    rows = [
        (*row, number, *marks)
        for row, number, marks in zip(floats.tolist(), integers, flags.tolist(), strict=True)
    ]
    assert len(first) == len(set(rows))
    assert [rows[first[g]] for g in group] == rows
    assert [rows.index(rows[n]) for n in first] == first.tolist()  # in order of first occurrence


def test_batch_with_distinct_rows_describes_the_same_episodes():
    env = build_env(cp.games.LeducPoker())
    plain, distinct = (
        rollouts.play_episodes(
            env, observation_policy, np.random.default_rng(5), 300, distinct=distinct
        )[0]
        for distinct in (False, True)
    )
    assert distinct.observation.shape[1] < plain.observation.shape[1]
    live = plain.episodes.live
    for field in ("live", "player", "action", "policy", "sampling_prob", "utility"):
        assert np.array_equal(getattr(plain.episodes, field), getattr(distinct.episodes, field))
    ours, theirs = distinct.graph(2), plain.graph(2)
    decision, row = distinct.episodes.decision[live], plain.episodes.decision[live]
    assert np.array_equal(distinct.observation[:, decision], plain.observation[:, row])
    infoset = np.asarray(ours.infoset)[decision]
    seen = np.asarray(ours.observation)[np.asarray(ours.own_observation_row)[infoset]]
    expected = np.asarray(theirs.observation)[np.asarray(theirs.own_observation_row)[row]]
    assert np.array_equal(seen, expected)
    assert np.array_equal(np.asarray(ours.legal)[infoset], np.asarray(theirs.legal)[row])
    assert np.array_equal(np.asarray(ours.infoset_player)[infoset], plain.episodes.player[live])
    assert np.array_equal(np.asarray(ours.player)[decision], plain.episodes.player[live])
    assert len(set(infoset.tolist())) == len(np.unique(seen, axis=0))


def test_gradient_on_rules_equals_that_of_separate_rows():
    """Equal rows share an evaluation, which changes no gradient that is linear in advantages."""
    algorithm = cp.algorithms.QPG(
        num_episodes=200, critic="network", visit_saturation=0.0, hidden_sizes=(8,), ema_decay=0.0
    )
    arena = cp.RulesArena(cp.games.LeducPoker())
    env = tree_or_rules.env_from_arena(arena)
    memory = algorithm.init(arena, 0)
    memory = algorithm.step(arena, memory, 1)  # the first policy is uniform
    results = []
    for distinct in (False, True):
        batch, _ = rollouts.play_episodes(
            env, observation_policy, np.random.default_rng(5), 200, distinct=distinct
        )
        state = algorithm.update(batch.graph(2), 2, memory.state, batch.episodes, memory.key)
        results.append(jax.tree.leaves((state.actor.params, state.critic.params)))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-4)
