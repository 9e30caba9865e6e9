"""Tournament equity by the independent chip model (Malmuth-Harville), and pots with side pots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import ConfigError
from counterplay.kernels.holdem.icm import expected_prizes

MAX_ICM_PLAYERS = 10


def icm_equities(stacks: Sequence[float], payouts: Sequence[float]) -> Floats:
    """Return every player's expected prize if stacks decide by the independent chip model.

    A player takes first place with the probability of its share of all chips; the next places
    follow in the same way among the others (Harville, 1973, for horse races; Malmuth, 1987).
    A player without chips has the lowest of the paid places that are left, shared equally among
    all players without chips.

    Args:
        stacks: chips of 1 to 10 players.
        payouts: prizes from the first place on; places without an entry pay nothing.

    Raises:
        ConfigError: the payouts do not fit the players, or a stack is negative.

    Example:
        >>> icm_equities([5000, 3000, 2000], [50, 30, 20]).round(4).tolist()
        [38.3929, 32.75, 28.8571]
    """
    check_payouts(payouts, len(stacks))
    chips = np.asarray(stacks, np.float64)
    if not np.isfinite(chips).all() or chips.min(initial=0.0) < 0.0 or not chips.any():
        raise ConfigError(f"stacks are {list(stacks)}, must be numbers from 0 on, and not all 0")
    prizes = np.zeros(chips.size)
    prizes[: len(payouts)] = payouts
    alive = chips > 0.0
    result = np.empty(chips.size)
    count = int(alive.sum())
    live_result = np.empty(count)
    expected_prizes(chips[alive], prizes[:count], live_result)
    result[alive] = live_result
    if count < chips.size:
        result[~alive] = prizes[count:].mean()
    return result


def check_payouts(payouts: Sequence[float], num_players: int) -> None:
    """Raise ConfigError if payouts do not fit a number of players."""
    if not 1 <= num_players <= MAX_ICM_PLAYERS:
        raise ConfigError(f"ICM has 1 to {MAX_ICM_PLAYERS} players, not {num_players}")
    if not 1 <= len(payouts) <= num_players:
        raise ConfigError(
            f"{len(payouts)} payouts do not fit {num_players} players; give 1 to {num_players}"
        )
    values = list(payouts)
    if not all(0.0 <= value < np.inf for value in values) or not any(values):
        raise ConfigError(f"payouts are {values}, must be numbers from 0 on, and not all 0")
    if values != sorted(values, reverse=True):
        raise ConfigError(f"payouts are {values}, must not rise from the first place on")


def tournament_prizes(
    start: Sequence[float], final: Sequence[float], payouts: Sequence[float]
) -> Floats:
    """Return expected prizes after a hand.

    Players who lost their last chips in it take the lowest places, those with more chips at the
    start of the hand the higher ones; equal stacks share their places.

    Args:
        start: chips [P] before the hand.
        final: chips [P] after it.
        payouts: prizes from the first place on.
    """
    prizes = np.zeros(len(start))
    prizes[: len(payouts)] = payouts
    chips = np.asarray(final, np.float64)
    result = np.zeros(chips.size)
    alive = chips > 0.0
    count = int(alive.sum())
    live_result = np.empty(count)
    expected_prizes(chips[alive], prizes[:count], live_result)
    result[alive] = live_result
    busted = sorted(np.flatnonzero(~alive).tolist(), key=lambda seat: -start[seat])
    place = count
    while busted:
        equal = [seat for seat in busted if start[seat] == start[busted[0]]]
        result[equal] = prizes[place : place + len(equal)].mean()
        place += len(equal)
        busted = busted[len(equal) :]
    return result


def divide_pots(
    contributions: Sequence[float], places: dict[int, int], rake: float = 0.0, cap: float = np.inf
) -> tuple[Floats, list[tuple[float, list[int], list[int]]]]:
    """Return the chips [P] that players get back, and the pots that were divided.

    Args:
        contributions: chips [P] that each player put in, antes and blinds included.
        places: place of each player who did not fold, 0 for the best hand; equal places tie.
        rake: fraction of the pot that is taken; an uncalled bet is not raked.
        cap: most chips that are taken.

    Returns:
        Chips by player, and each pot as (chips, players who compete for it, winners).
    """
    paid = np.asarray(contributions, np.float64)
    result, pots = np.zeros(paid.size), []
    level = 0.0
    for top in sorted({paid[seat] for seat in places}):
        chips = float((np.minimum(paid, top) - np.minimum(paid, level)).sum())
        entitled = [seat for seat in places if paid[seat] >= top]
        best = min(places[seat] for seat in entitled)
        winners = [seat for seat in entitled if places[seat] == best]
        pots.append((chips, entitled, winners))
        level = top
    # dead chips above the largest contribution of those left in belong to the last pot
    surplus = float((paid - np.minimum(paid, level)).sum())
    if surplus:
        chips, entitled, winners = pots[-1]
        pots[-1] = (chips + surplus, entitled, winners)
    called = sum(chips for chips, entitled, _ in pots if len(entitled) > 1)
    taken = min(rake * called, cap)
    for chips, entitled, winners in pots:
        share = taken * chips / called if called and len(entitled) > 1 else 0.0
        result[winners] += (chips - share) / len(winners)
    return result, pots
