"""Exact judgement: values, best responses, NashConv and exploitability, the same for all methods.

On trees with imperfect recall the responder keeps perfect recall: nobody can exploit more.
"""

from __future__ import annotations

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
from counterplay.core.game import Game
from counterplay.core.policy import Policy, as_arena, check_arena, have_same_infosets
from counterplay.errors import ConfigError
from counterplay.kernels.runtime.threads import run_in_threads
from counterplay.kernels.sequence_form import node_sweeps, sweeps


@dataclass(frozen=True)
class Judgement:
    """How good a policy is, for every player, in the game's units."""

    values: Floats  # [P] expected utility
    best_values: Floats  # [P] what a best response to the others would earn

    @property
    def nash_conv(self) -> float:
        """The sum over players of what a best response would gain."""
        return float(np.maximum(self.best_values - self.values, 0.0).sum())

    @property
    def exploitability(self) -> float:
        """NashConv divided by the number of players."""
        return self.nash_conv / self.values.size


@dataclass(frozen=True)
class BestResponse:
    """A best response of one player; the other players' part of the policy is unchanged.

    With imperfect recall the policy belongs to `tree.refined`.
    """

    value: float
    policy: Policy


@dataclass(frozen=True)
class InfosetValues:
    """What each infoset [I] and sequence [S] is worth to its player when all follow a policy."""

    reach: Floats  # [I] the player's own probability of getting there
    cf_reach: Floats  # [I] everybody else's, chance included
    value: Floats  # [I] expected utility given that the infoset is reached; 0 where it cannot be
    action_value: Floats  # [S] the same after taking the action
    cf_value: Floats  # [S] action_value times cf_reach
    regret: Floats  # [S] instant counterfactual regret: cf_value minus the infoset's mean


@dataclass(frozen=True)
class Mistakes:
    """Where a policy gives away what a best response would gain, infoset by infoset.

    `gain` says how much of its player's gain is owed to each infoset; it is never negative, and
    sums over a player's infosets to what the player's best response gains, over all to NashConv.
    """

    gain: Floats  # [I] reach * (best action's cf_value - the policy's mean), best play afterwards
    best_value: Floats  # [S] of each action if its player plays best afterwards; 0 if unreachable


Subject = SequenceArena | Game | str | Policy | Any  # an arena, a game, its name, or a policy


def on_arena(subject: Any, policy: Any = None) -> tuple[Any, Any]:
    """Return the arena and the policy on it; a policy alone brings its arena or its game.

    Args:
        subject: an arena, a game or its name; or a policy, and nothing else.
        policy: a policy; one that was learned on rules is put on the arena's tree.
    """
    if policy is None:
        subject, policy = getattr(subject, "arena", None) or getattr(subject, "game", None), subject
        if subject is None:
            kind = type(policy).__name__
            problem = f"{kind} is no policy that knows its game"
            raise ConfigError(f"{problem}: write the game or its tree first, and then the policy")
    arena = as_arena(subject)
    if not hasattr(policy, "probabilities") and hasattr(policy, "tabulate") and is_exact(arena):
        policy = policy.tabulate(arena)
    return arena, policy


class BestResponses(NamedTuple):
    """What everybody's best response to a policy is, and what it and the policy are worth."""

    values: Floats  # [P]
    best_values: Floats  # [P]
    response: Floats  # [F + 1] along the sequence form


def judge(arena: Subject, policy: Any = None) -> Judgement:
    """Expected values and best-response values of all players at once.

    What is no policy of its own, such as a device that correlates the players, says itself how it
    is judged, by `judged(arena)`.

    Args:
        tree: the arena, the game or its name; or the policy alone, which knows its game.
        policy: a policy of the game. One that was learned on rules is put on the tree, with
            uniform play where it has no row.
    """
    arena, policy = on_arena(arena, policy)
    if not isinstance(policy, Policy) and hasattr(policy, "judge"):
        return policy.judge(arena)
    return Judgement(*compute_best_responses(arena, form_probabilities(arena, policy))[:2])


def compute_best_responses(arena: SequenceArena, probabilities: Floats) -> BestResponses:
    """Best responses to the probabilities [F], which are aligned with the arena's form."""
    form, size = arena.form, int(arena.form.offset[-1]) + 1
    reach, cf_value, response = np.ones(size), np.zeros(size), np.zeros(size)
    tiny = arena.form_value_tolerance if has_imperfect_recall(arena) else arena.value_tolerance
    found = BestResponses(np.zeros(arena.num_players), np.zeros(arena.num_players), response)
    if isinstance(form, SequenceForm):  # all of it in one compiled call
        sweeps.judge(form, tiny, probabilities, reach, cf_value, response, *found[:2])
        return found
    levels = [arena.levels(player, arena.max_threads) for player in range(arena.num_players)]
    for parts in chain.from_iterable(levels):
        run_in_threads(lambda a, b: sweeps.forward(form, a, b, probabilities, reach), parts)
    for player in range(arena.num_players):
        arena.gradient(player, reach, cf_value)
        own = slice(*form.offset[form.player_infoset[player : player + 2]].tolist())
        found.values[player] = cf_value[-1] + reach[own] @ cf_value[own]
        for parts in reversed(levels[player]):
            run_in_threads(
                lambda a, b: sweeps.backward_best(form, a, b, tiny, cf_value, response), parts
            )
        found.best_values[player] = cf_value[-1]
    return found


def mistakes(tree: Subject, policy: Any = None) -> Mistakes:
    """How much of everybody's best-response gain is owed to each infoset.

    With G(I) the gain, r(I) the player's own reach under its policy, and w(I, a) the
    counterfactual value of an action followed by best play,

        G(I) = r(I) * (max over a of w(I, a)  -  sum over a of policy(I, a) * w(I, a))

    Going down the player's own tree, the gains add up to the value of the best response less that
    of the policy (the performance difference lemma, Kakade and Langford, 2002).

    >>> import counterplay as cp
    >>> tree = cp.build_tree("kuhn_poker")
    >>> found = cp.mistakes(tree, cp.uniform_policy(tree))
    >>> tree.infoset_key(found.gain.argmax()), round(float(found.gain.sum()), 6)
    ('2b', 0.916667)
    """
    tree, policy = on_arena(tree, policy)
    probabilities = form_probabilities(tree, policy)
    form, size = tree.form, int(tree.form.offset[-1]) + 1
    reach, cf_value, response = np.ones(size), np.zeros(size), np.zeros(size)
    tiny = tree.form_value_tolerance if has_imperfect_recall(tree) else tree.value_tolerance
    sweeps.forward(form, 0, form.parent.size, probabilities, reach)
    best = np.zeros(size)
    for player in range(tree.num_players):
        tree.gradient(player, reach, cf_value)
        first, last = form.player_infoset[player : player + 2].tolist()
        sweeps.backward_best(form, first, last, tiny, cf_value, response)
        own = slice(int(form.offset[first]), int(form.offset[last]))
        best[own] = cf_value[own]
    starts = form.offset[:-1].astype(np.int64)
    counts = row_lengths(form.offset)
    top = np.maximum.reduceat(best[:-1], starts) if starts.size else np.zeros(0)
    short = (np.repeat(top, counts) - best[:-1]) * probabilities
    lost = np.add.reduceat(short, starts) if starts.size else np.zeros(0)
    gain = np.bincount(tree.game_infoset, lost * reach[form.parent], tree.num_infosets)
    whole = (
        np.bincount(tree.game_sequence, best[:-1], tree.num_sequences)
        if has_imperfect_recall(tree)
        else best[:-1]
    )
    spread = np.repeat(infoset_values(tree, policy).cf_reach, tree.num_actions)
    return Mistakes(gain.astype(np.float64), _safe_divide(np.asarray(whole, np.float64), spread))


def expected_values(arena: Subject, policy: Any = None) -> Floats:
    """Every player's expected utility [P]."""
    return judge(arena, policy).values


def nash_conv(arena: Subject, policy: Any = None) -> float:
    """The sum over players of what a best response would gain; 0 exactly at equilibria."""
    return judge(arena, policy).nash_conv


def exploitability(arena: Subject, policy: Any = None) -> float:
    """NashConv divided by the number of players.

    >>> import counterplay as cp
    >>> tree = cp.build_tree("kuhn_poker")
    >>> round(cp.exploitability(tree, cp.uniform_policy(tree)), 6)
    0.458333
    >>> round(cp.exploitability(cp.uniform_policy("kuhn_poker")), 6)
    0.458333
    """
    return judge(arena, policy).exploitability


def best_response(arena: Subject, policy: Any = None, player: int | None = None) -> BestResponse:
    """The best response of `player` to the others, and what it earns.

    `best_response(policy, player=0)` is enough: the policy knows its game.

    >>> import counterplay as cp
    >>> tree = cp.build_tree("kuhn_poker")
    >>> answer = cp.best_response(tree, cp.uniform_policy(tree), player=0)
    >>> answer.value, answer.policy["0"]
    (0.5, {'pass': 0.0, 'bet': 1.0})
    """
    if isinstance(policy, int):
        policy, player = None, policy
    arena, policy = on_arena(arena, policy)
    if not isinstance(player, Integral) or not 0 <= player < arena.num_players:
        raise ConfigError(f"player is {player!r}, must be from 0 to {arena.num_players - 1}")
    player = int(player)
    probabilities = form_probabilities(arena, policy).copy()
    found = compute_best_responses(arena, probabilities)
    first, last = arena.form.offset[arena.form.player_infoset[player : player + 2]]
    probabilities[first:last] = found.response[first:last]
    refined = arena.perfect_recall_tree if has_imperfect_recall(arena) else arena
    return BestResponse(float(found.best_values[player]), Policy(refined, probabilities))


def infoset_values(tree: Subject, policy: Any = None) -> InfosetValues:
    """Reach, value and regret of every infoset and action under a policy."""
    tree, policy = on_arena(tree, policy)
    check_same_game(tree, policy)
    counts, first = tree.num_actions, tree.offset[:-1]
    reach, cf_reach, cf_value = (
        np.zeros(tree.num_infosets),
        np.zeros(tree.num_infosets),
        np.zeros(tree.num_sequences),
    )
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
    spread = np.repeat(cf_reach, counts)
    return InfosetValues(
        reach=reach / histories,
        cf_reach=cf_reach,
        value=_safe_divide(mean, cf_reach),
        action_value=_safe_divide(cf_value, spread),
        cf_value=cf_value,
        regret=cf_value - np.repeat(mean, counts),
    )


def _safe_divide(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0.0)


def check_same_game(arena: SequenceArena, policy: Policy) -> None:
    """Refuse a policy of another game."""
    if policy.arena is not arena and not have_same_infosets(policy.arena, arena):
        raise ConfigError(f"the policy is for {policy.arena.spec}, not for {arena.spec}")


def form_probabilities(arena: SequenceArena, policy: Policy) -> Floats:
    """The policy's probabilities, aligned with the tree's sequence form."""
    check_arena(arena)
    if not hasattr(policy, "probabilities"):
        kind = type(policy).__name__
        raise ConfigError(f"{kind} is no policy: write cp.Policy.from_dict(tree, {{...}})")
    check_same_game(arena, policy)
    return (
        policy.probabilities[arena.game_sequence]
        if has_imperfect_recall(arena)
        else policy.probabilities
    )
