"""Exact evaluation of policies: values, best responses, NashConv and exploitability.

On trees with imperfect recall the responder has perfect recall, which gives an upper bound of what
any opponent can exploit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from counterplay.core.arena import (
    Floats,
    SequenceArena,
    SequenceForm,
    has_imperfect_recall,
    is_exact,
    row_lengths,
)
from counterplay.core.game import Game, full_game
from counterplay.core.policy import Policy, as_arena, check_arena, have_same_infosets
from counterplay.errors import ConfigError
from counterplay.kernels.runtime.threads import run_in_threads
from counterplay.kernels.sequence_form import node_sweeps, sweeps


@dataclass(frozen=True)
class Judgement:
    """The values of a policy and of best responses to it, for every player, in the game's units."""

    values: Floats  # [P] expected utility
    best_values: Floats  # [P] expected utility of a best response to the others

    @property
    def nash_conv(self) -> float:
        """The sum over players of the gain of a best response."""
        return sum([max(gain, 0.0) for gain in (self.best_values - self.values).tolist()], 0.0)

    @property
    def exploitability(self) -> float:
        """NashConv divided by the number of players."""
        return self.nash_conv / self.values.size


@dataclass(frozen=True)
class BestResponse:
    """A best response of one player.

    With imperfect recall the policy is one of `tree.perfect_recall_tree`.
    """

    value: float  # expected utility of the responder
    policy: Policy  # the response; unchanged at the infosets of the other players


@dataclass(frozen=True)
class InfosetValues:
    """Reach, values and regrets of infosets [I] and sequences [S] if all follow a policy."""

    reach: Floats  # [I] the player's own probability of reaching the infoset
    cf_reach: Floats  # [I] that of all others, chance included
    value: Floats  # [I] expected utility given that the infoset is reached; 0 if unreachable
    action_value: Floats  # [S] the same after taking the action
    cf_value: Floats  # [S] action_value times cf_reach
    regret: Floats  # [S] instantaneous regret: cf_value minus the policy's mean


@dataclass(frozen=True)
class Mistakes:
    """The gain of best responses over a policy, attributed to infosets.

    `gain` is never negative. Its sum over a player's infosets is the gain of the player's best
    response, and its sum over all infosets is NashConv.
    """

    gain: Floats  # [I] reach * (best action's cf_value - the policy's mean), best play afterwards
    best_value: Floats  # [S] action values if the player plays best afterwards; 0 if unreachable


Subject = SequenceArena | Game | str | Policy | Any  # an arena, a game, its name, or a policy


def on_arena(subject: Any, policy: Any = None) -> tuple[Any, Any]:
    """Return the arena and the policy on it.

    Args:
        subject: an arena, a game or its name; or a policy, if no second argument is given.
        policy: a policy; one learned on rules is converted to a policy of the arena's tree.

    Raises:
        ConfigError: only a policy is given, and it has neither an arena nor a game.
    """
    if policy is None:
        subject, policy = getattr(subject, "arena", None) or getattr(subject, "game", None), subject
        subject = full_game(subject)
        if subject is None:
            problem = f"{type(policy).__name__} is not a policy with a game"
            raise ConfigError(f"{problem}: write the game or its tree first, and then the policy")
    arena = as_arena(subject)
    if not hasattr(policy, "probabilities") and hasattr(policy, "tabulate") and is_exact(arena):
        policy = policy.tabulate(arena)
    return arena, policy


class BestResponses(NamedTuple):
    """The best responses of all players to a policy, with the values of both."""

    values: Floats  # [P] of the policy
    best_values: Floats  # [P] of the responses
    response: Floats  # [F + 1] probabilities, aligned with the sequence form


def judge(arena: Subject, policy: Any = None) -> Judgement:
    """Return the expected values and best-response values of all players.

    An object that is not a `Policy`, such as a correlated `JointPolicy`, implements `judge(arena)`.

    Args:
        arena: the arena, the game or its name; or the policy alone.
        policy: a policy of the game. One learned on rules is converted to a policy of the tree,
            uniform at infosets that it lacks.

    Raises:
        ConfigError: the policy is for another game, or not a policy.

    Example:
        >>> import counterplay as cp
        >>> judgement = cp.judge("kuhn_poker", cp.uniform_policy("kuhn_poker"))
        >>> judgement.values.round(3).tolist(), judgement.best_values.round(3).tolist()
        ([0.125, -0.125], [0.5, 0.417])
    """
    arena, policy = on_arena(arena, policy)
    if not isinstance(policy, Policy) and hasattr(policy, "judge"):
        return policy.judge(arena)
    probabilities = form_probabilities(arena, policy)
    if isinstance(arena.form, SequenceForm):
        return _judge_in_one_call(arena, probabilities)
    return Judgement(*compute_best_responses(arena, probabilities)[:2])


def _judge_in_one_call(arena: Any, probabilities: Floats) -> Judgement:
    """Return the judgement of probabilities [F] on a tree, by one compiled call."""
    size, num_players = probabilities.size + 1, arena.num_players
    values, best_values = np.empty(num_players), np.empty(num_players)
    reach, cf_value = np.empty(size), np.empty(size)
    reach[-1] = 1.0  # of the empty sequence
    sweeps.judge_values(arena.sweep_form, probabilities, reach, cf_value, values, best_values)
    return Judgement(values, best_values)


def compute_best_responses(arena: Any, probabilities: Floats) -> BestResponses:
    """Return the best responses to probabilities [F] that are aligned with the arena's form."""
    form, size = arena.form, int(arena.form.offset[-1]) + 1
    reach, cf_value, response = np.ones(size), np.zeros(size), np.zeros(size)
    tolerance = _form_tolerance(arena)
    result = BestResponses(np.zeros(arena.num_players), np.zeros(arena.num_players), response)
    if isinstance(form, SequenceForm):  # in one compiled call
        form = arena.sweep_form
        sweeps.judge(form, tolerance, probabilities, reach, cf_value, response, *result[:2])
        return result
    levels = [arena.levels(player, arena.max_threads) for player in range(arena.num_players)]
    for parts in chain.from_iterable(levels):
        run_in_threads(lambda a, b: sweeps.forward(form, a, b, probabilities, reach), parts)
    for player in range(arena.num_players):
        arena.gradient(player, reach, cf_value)
        sequences = slice(*form.offset[form.player_infoset[player : player + 2]].tolist())
        result.values[player] = cf_value[-1] + reach[sequences] @ cf_value[sequences]
        for parts in reversed(levels[player]):
            run_in_threads(
                lambda a, b: sweeps.backward_best(form, a, b, tolerance, cf_value, response), parts
            )
        result.best_values[player] = cf_value[-1]
    return result


def mistakes(tree: Subject, policy: Any = None) -> Mistakes:
    """Return the gain of best responses over a policy, attributed to infosets.

    With G(I) the gain, r(I) the player's own reach under its policy, and w(I, a) the
    counterfactual value of an action followed by best play,

        G(I) = r(I) * (max over a of w(I, a)  -  sum over a of policy(I, a) * w(I, a))

    Over a player's infosets the gains add up to the value of the best response less that of the
    policy (the performance difference lemma, Kakade and Langford, 2002).

    Args:
        tree: the arena, the game or its name; or the policy alone.
        policy: a policy of the game.

    Example:
        >>> import counterplay as cp
        >>> tree = cp.build_tree("kuhn_poker")
        >>> mistakes = cp.mistakes(tree, cp.uniform_policy(tree))
        >>> tree.infoset_key(mistakes.gain.argmax()), round(float(mistakes.gain.sum()), 6)
        ('2b', 0.916667)
    """
    tree, policy = on_arena(tree, policy)
    probabilities = form_probabilities(tree, policy)
    form = tree.form
    reach, best = _best_cf_values(tree, probabilities)
    starts = form.offset[:-1].astype(np.int64)
    counts = row_lengths(form.offset)
    max_value = np.maximum.reduceat(best, starts) if starts.size else np.zeros(0)
    action_loss = (np.repeat(max_value, counts) - best) * probabilities
    loss = np.add.reduceat(action_loss, starts) if starts.size else np.zeros(0)
    gain = np.bincount(tree.game_infoset, loss * reach[form.parent], tree.num_infosets)
    if has_imperfect_recall(tree):
        best = np.bincount(tree.game_sequence, best, tree.num_sequences).astype(np.float64)
    cf_reach = np.repeat(infoset_values(tree, policy).cf_reach, tree.num_actions)
    return Mistakes(gain.astype(np.float64), _safe_divide(best, cf_reach))


def _best_cf_values(tree: SequenceArena, probabilities: Floats) -> tuple[Floats, Floats]:
    """Return own reach [F + 1], and counterfactual values [F] followed by best play."""
    form, size = tree.form, int(tree.form.offset[-1]) + 1
    reach, cf_value, response, best = np.ones(size), np.zeros(size), np.zeros(size), np.zeros(size)
    tolerance = _form_tolerance(tree)
    sweeps.forward(form, 0, form.parent.size, probabilities, reach)
    for player in range(tree.num_players):
        tree.gradient(player, reach, cf_value)
        first, last = form.player_infoset[player : player + 2].tolist()
        sweeps.backward_best(form, first, last, tolerance, cf_value, response)
        sequences = slice(int(form.offset[first]), int(form.offset[last]))
        best[sequences] = cf_value[sequences]
    return reach, best[:-1]


def _form_tolerance(arena: SequenceArena) -> Floats:
    """Return the tolerance [F] of counterfactual values along the sequence form."""
    return arena.form_value_tolerance if has_imperfect_recall(arena) else arena.value_tolerance


def expected_values(arena: Subject, policy: Any = None) -> Floats:
    """Return every player's expected utility [P] if all follow a policy.

    Takes the arguments of `judge`.

    Example:
        >>> import counterplay as cp
        >>> cp.expected_values(cp.uniform_policy("kuhn_poker")).round(3).tolist()
        [0.125, -0.125]
    """
    return judge(arena, policy).values


def nash_conv(arena: Subject, policy: Any = None) -> float:
    """Return the sum over players of the gain of a best response; 0 exactly at equilibria.

    Takes the arguments of `judge`.

    Example:
        >>> import counterplay as cp
        >>> round(cp.nash_conv(cp.uniform_policy("kuhn_poker")), 6)
        0.916667
    """
    return judge(arena, policy).nash_conv


def exploitability(arena: Subject, policy: Any = None) -> float:
    """Return NashConv divided by the number of players.

    Takes the arguments of `judge`.

    Example:
        >>> import counterplay as cp
        >>> tree = cp.build_tree("kuhn_poker")
        >>> round(cp.exploitability(tree, cp.uniform_policy(tree)), 6)
        0.458333
        >>> round(cp.exploitability(cp.uniform_policy("kuhn_poker")), 6)
        0.458333
    """
    return judge(arena, policy).exploitability


def overall_regret(arena: Subject, policies: Iterable[Policy]) -> Floats:
    """Return the regret [P] of every player for not having played one best policy throughout.

        R_i = max over own policies s of the sum over t of u_i(s, policy_t of the others)
              - the sum over t of u_i(policy_t)

    Divided by the number of policies this is the average overall regret. If it is at most e for
    both players of a zero-sum game, the average policy, weighted by reach, is a 2e-equilibrium.

    Args:
        arena: the arena, the game or its name; its players have perfect recall.
        policies: the policies of all iterations, of that arena.

    Raises:
        ConfigError: a policy is for another game, or recall is imperfect.

    Example:
        >>> import counterplay as cp
        >>> tree = cp.build_tree("kuhn_poker")
        >>> cp.overall_regret(tree, [cp.uniform_policy(tree)] * 2).round(6).tolist()
        [0.75, 1.083333]
    """
    arena = as_arena(arena)
    if has_imperfect_recall(arena):
        raise ConfigError(f"overall_regret needs perfect recall, which {arena.spec} has not")
    form, size = arena.form, int(arena.form.offset[-1]) + 1
    totals, earned = np.zeros((arena.num_players, size)), np.zeros(arena.num_players)
    gradient, reach = np.zeros(size), np.ones(size)
    first, last = form.player_infoset[:-1].tolist(), form.player_infoset[1:].tolist()
    ends = form.offset[form.player_infoset].tolist()
    own = [slice(ends[player], ends[player + 1]) for player in range(arena.num_players)]
    for policy in policies:
        check_same_game(arena, policy)
        probabilities = form_probabilities(arena, policy)
        sweeps.forward(form, 0, form.parent.size, probabilities, reach)
        for player in range(arena.num_players):
            arena.gradient(player, reach, gradient)
            totals[player] += gradient
            earned[player] += reach[own[player]] @ gradient[own[player]]
    best, response = np.zeros(arena.num_players), np.zeros(size)
    for player in range(arena.num_players):
        value = totals[player].copy()
        sweeps.backward_best(
            form, first[player], last[player], _form_tolerance(arena), value, response
        )
        sweeps.forward(form, first[player], last[player], response, reach)
        best[player] = reach[own[player]] @ totals[player][own[player]]
    return best - earned


def best_response(arena: Subject, policy: Any = None, player: int | None = None) -> BestResponse:
    """Return the best response of a player to the others, and its value.

    Args:
        arena: the arena, the game or its name; or the policy alone.
        policy: a policy of the game.
        player: the responding player.

    Raises:
        ConfigError: there is no such player, or the policy is for another game.

    Example:
        >>> import counterplay as cp
        >>> response = cp.best_response(cp.uniform_policy("kuhn_poker"), player=0)
        >>> response.value, response.policy["0"]
        (0.5, {'pass': 0.0, 'bet': 1.0})
    """
    if isinstance(policy, int):
        policy, player = None, policy
    arena, policy = on_arena(arena, policy)
    if not isinstance(player, Integral) or not 0 <= player < arena.num_players:
        raise ConfigError(f"player is {player!r}, must be from 0 to {arena.num_players - 1}")
    player = int(player)
    probabilities = form_probabilities(arena, policy).copy()
    result = compute_best_responses(arena, probabilities)
    first, last = arena.form.offset[arena.form.player_infoset[player : player + 2]]
    probabilities[first:last] = result.response[first:last]
    response_arena = arena.perfect_recall_tree if has_imperfect_recall(arena) else arena
    return BestResponse(float(result.best_values[player]), Policy(response_arena, probabilities))


def infoset_values(tree: Subject, policy: Any = None) -> InfosetValues:
    """Return the reach, value and regrets of every infoset if all follow a policy.

    Args:
        tree: the tree, the game or its name; or the policy alone.
        policy: a policy of the game.

    Example:
        >>> import counterplay as cp
        >>> tree = cp.build_tree("kuhn_poker")
        >>> values = cp.infoset_values(tree, cp.uniform_policy(tree))
        >>> values.action_value[tree.offset[tree.find_infoset("2b")] :][:2].tolist()
        [-1.0, 2.0]
    """
    tree, policy = on_arena(tree, policy)
    check_same_game(tree, policy)
    counts, first = tree.num_actions, tree.offset[:-1]
    reach, cf_reach = np.zeros(tree.num_infosets), np.zeros(tree.num_infosets)
    cf_value = np.zeros(tree.num_sequences)
    node_sweeps.infoset_values(
        tree.player,
        tree.parent,
        tree.child_offset,
        tree.chance,
        tree.infoset,
        tree.offset,
        tree.utility,
        policy.probabilities,
        reach,
        cf_reach,
        cf_value,
    )
    histories = np.bincount(tree.infoset[tree.infoset >= 0], minlength=tree.num_infosets)
    mean = np.add.reduceat(policy.probabilities * cf_value, first)
    return InfosetValues(
        reach=reach / histories,
        cf_reach=cf_reach,
        value=_safe_divide(mean, cf_reach),
        action_value=_safe_divide(cf_value, np.repeat(cf_reach, counts)),
        cf_value=cf_value,
        regret=cf_value - np.repeat(mean, counts),
    )


def _safe_divide(dividend: Floats, divisor: Floats) -> Floats:
    """Divide, with result 0 if the divisor is 0."""
    return np.divide(dividend, divisor, out=np.zeros_like(dividend), where=divisor > 0.0)


def check_same_game(arena: SequenceArena, policy: Policy) -> None:
    """Raise ConfigError if a policy is for another game."""
    if policy.arena is not arena and not have_same_infosets(policy.arena, arena):
        raise ConfigError(f"the policy is for {policy.arena.spec}, not for {arena.spec}")


def form_probabilities(arena: SequenceArena, policy: Policy) -> Floats:
    """Return the policy's probabilities [F], aligned with the arena's sequence form."""
    check_arena(arena)
    if not hasattr(policy, "probabilities"):
        kind = type(policy).__name__
        raise ConfigError(f"{kind} is not a policy: write cp.Policy.from_dict(tree, {{...}})")
    check_same_game(arena, policy)
    if has_imperfect_recall(arena):
        return policy.probabilities[arena.game_sequence]
    return policy.probabilities
