"""Matches of heads-up hold'em with averages over the hands that agents could have held.

Each deal is played twice with the seats swapped and the same cards. Three estimates of the first
agent's winnings are kept for each deal (means over both seats):

- `plain`: the chips won;
- `averaged`: the expected chips over all hands that both agents could have held. Given the public
  actions and cards, the hands are distributed as the product of the players' ranges (own
  probabilities of their actions) over disjoint hands, so this is the conditional mean of the chips
  won: the last term of AIVAT (Burch et al., 2018). If the hand ends all-in, it is also the mean
  over the cards to come. An agent without `hand_policy` counts with the hand that it was dealt;
- `aivat`: `averaged`, corrected at every action and at the turn and river cards by
  (mean of Q over the outcomes) - (Q of the outcome), where the probabilities of outcomes are those
  given the public history, and Q is the value if both players check or call from there on; a
  raise counts as a call in it.

All three have the same mean.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from counterplay.arenas.preflop.equity_tables import equity_table
from counterplay.core.arena import Floats, Ints
from counterplay.core.cards import ALL_HANDS, NUM_CARDS, hand_index
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.errors import ConfigError, FileError
from counterplay.games.holdem_base import FOLD, HoldemBase, HoldemState
from counterplay.kernels.holdem import equities
from counterplay.play.episodes import RandomStreams, agent_for_hands, sample_index
from counterplay.play.local_best_response import LocalBestResponse
from counterplay.play.match import Match
from counterplay.registry import get_spec, load_game

NUM_HANDS = len(ALL_HANDS)
HAND_CARDS = np.array(ALL_HANDS, np.int64)
NUM_FLOP_SAMPLES = 24  # complete boards for check-down values on the flop, which need not be exact
NUM_TURN_SAMPLES = 3  # river cards for those after each turn card
IDENTITY_CARDS = np.arange(NUM_CARDS)[None]
Z_SCORE_95 = 1.96
POLL_SECONDS = 0.05


class RangeAgent(Protocol):
    """An agent that knows its policy for every hand."""

    def hand_policy(self, state: HoldemState, player: int) -> tuple[Sequence[int], Floats]:
        """Return legal actions and their probabilities [1326, actions]."""
        ...


class HandResult(NamedTuple):
    """Chips of player 0 in one hand, by three estimates."""

    plain: float
    averaged: float
    aivat: float


class ShowdownSums(NamedTuple):
    """For each hand of a player: the opponent's range it beats (ties half), and all of it."""

    won: Floats  # [1326]
    faced: Floats  # [1326]


@dataclass(eq=False)
class RangeHand:
    """One hand between two agents, with both players' ranges."""

    game: HoldemBase
    agents: Sequence[RangeAgent]
    with_corrections: bool = True

    def play(self, cards: Sequence[int], draw: Any) -> HandResult:
        """Play a hand with these cards (private cards, then the board) to its end.

        Args:
            cards: nine cards.
            draw: returns a random number for a player.
        """
        game, state, dealt = self.game, self.game.initial_state(), iter(cards)
        ranges = [self._initial_range(player, cards) for player in (0, 1)]
        correction = 0.0
        while state.to_act != TERMINAL:
            if state.to_act == CHANCE:
                can_bet = len(game.players_able_to_act(state.contributions, state.players_left))
                before = game.public_cards(state)
                round_ = state.round
                while state.to_act == CHANCE and state.round == round_:
                    state = game.next_state(state, next(dealt))
                if self.with_corrections and round_ >= 2 and can_bet > 1:
                    correction += self._card_correction(before, state, ranges)
                self._remove_dead(state, ranges)
                continue
            player = state.to_act
            actions, rows = self._hand_policy(state, player)
            row = rows[hand_index(*game.hole_cards(state, player))]
            index = sample_index(row.tolist(), draw(player))
            if self.with_corrections:
                correction += self._action_correction(state, ranges, actions, rows, index)
            ranges[player] = ranges[player] * rows[:, index]
            state = game.next_state(state, actions[index])
        plain = float(game.utilities(state)[0])
        averaged = self._mean_utility(state, ranges)
        return HandResult(plain, averaged, averaged + correction)

    def _initial_range(self, player: int, cards: Sequence[int]) -> Floats:
        """Return all hands, or the hand dealt if the agent's policy is not known for others."""
        if hasattr(self.agents[player], "hand_policy"):
            return np.ones(NUM_HANDS)
        weights = np.zeros(NUM_HANDS)
        weights[hand_index(*cards[2 * player : 2 * player + 2])] = 1.0
        return weights

    def _hand_policy(self, state: HoldemState, player: int) -> tuple[Sequence[int], Floats]:
        agent: Any = self.agents[player]
        if hasattr(agent, "hand_policy"):
            actions, rows = agent.hand_policy(state, player)
            return actions, rows
        probabilities = agent.action_probabilities(state, player)
        legal = self.game.actions(state)
        played = [k for k, probability in enumerate(probabilities) if probability > 0.0]
        row = np.array([probabilities[k] for k in played])
        return [legal[k] for k in played], np.tile(row, (NUM_HANDS, 1))

    def _remove_dead(self, state: HoldemState, ranges: list[Floats]) -> None:
        dead = np.isin(HAND_CARDS, self.game.public_cards(state)).any(axis=1)
        for reach in ranges:
            reach[dead] = 0.0

    def _mean_utility(self, state: HoldemState, ranges: list[Floats]) -> float:
        """Return the mean utility of player 0 over both ranges at the end of a hand."""
        if len(state.players_left) == 1:
            return float(self.game.utilities(state)[0])
        chips = min(state.contributions)
        board = self._board_of_last_action(state)
        sums = showdown_sums(board, ranges[1], exact=True)
        return chips * _share(ranges[0], sums)

    def _board_of_last_action(self, state: HoldemState) -> tuple[int, ...]:
        """Return the public cards when the last player acted; the others were dealt all-in."""
        streets = state.history.split("|")
        last = max(k for k, part in enumerate(streets) if part.rpartition(":")[2])
        return self.game.public_cards(state)[: sum(self.game.board_cards[: last + 1])]

    def _action_correction(
        self,
        state: HoldemState,
        ranges: list[Floats],
        actions: Sequence[int],
        rows: Floats,
        index: int,
    ) -> float:
        """Return the mean of Q over the actions minus Q of the one taken, for player 0."""
        player = state.to_act
        sums = showdown_sums(self.game.public_cards(state), ranges[1 - player], exact=False)
        mass = disjoint_mass(ranges[1 - player])
        sign = 1.0 if player == 0 else -1.0
        weights, values = np.zeros((2, len(actions)))
        highest, stack = max(state.contributions), min(self.game.starting_stacks)
        for k, action in enumerate(actions):
            reach = ranges[player] * rows[:, k]
            weights[k] = float(reach @ mass)
            if action == FOLD:
                values[k] = -float(state.contributions[player])
            elif weights[k] > 0.0:  # a raise counts as a call: most large ones are folded to
                values[k] = min(highest, stack) * _share(reach, sums)
        total = weights.sum()
        if not total > 0.0:
            return 0.0
        return sign * float(weights @ values / total - values[index])

    def _card_correction(
        self, before: tuple[int, ...], state: HoldemState, ranges: list[Floats]
    ) -> float:
        """Return the mean of Q over the next public card minus Q of the card dealt."""
        chips = min(state.contributions)
        cards = [card for card in range(NUM_CARDS) if card not in before]
        actual = self.game.public_cards(state)[-1]
        weights, values = np.zeros((2, len(cards)))
        for k, card in enumerate(cards):
            alive = ~np.isin(HAND_CARDS, [card]).any(axis=1)
            reach, other = ranges[0] * alive, ranges[1] * alive
            sums = showdown_sums((*before, card), other, exact=False, num_rivers=NUM_TURN_SAMPLES)
            weights[k] = float(reach @ disjoint_mass(other))
            values[k] = chips * _share(reach, sums)
        total = weights.sum()
        if not total > 0.0:
            return 0.0
        return float(weights @ values / total - values[cards.index(actual)])


def _share(reach: Floats, sums: ShowdownSums) -> float:
    """Return the mean of 1 for a win, 0 for a tie and -1 for a loss over two ranges."""
    faced = float(reach @ sums.faced)
    return 2.0 * float(reach @ sums.won) / faced - 1.0 if faced > 0.0 else 0.0


def disjoint_mass(opponent: Floats) -> Floats:
    """Return the mass [1326] of a range over the hands that share no card with each hand.

    Probabilities of outcomes need it exactly; the values Q may be estimates.
    """
    by_card = np.bincount(HAND_CARDS.ravel(), np.repeat(opponent, 2), NUM_CARDS)
    mass: Floats = opponent.sum() - by_card[HAND_CARDS].sum(axis=1) + opponent
    return mass


def showdown_sums(
    board: Sequence[int], opponent: Floats, *, exact: bool, num_rivers: int = 0
) -> ShowdownSums:
    """Return the sums of a player's hands against a range if both check to the end.

    Args:
        board: 0, 3, 4 or 5 public cards.
        opponent: range [1326]; zero for hands with a public card.
        exact: enumerate all complete boards; before the flop the ranges must treat suits alike.
            Otherwise some fixed complete boards stand for all.
        num_rivers: complete boards on the turn if not exact; 0 for all.
    """
    if not board:
        return _preflop_sums(opponent)
    live = np.flatnonzero(~np.isin(HAND_CARDS, board).any(axis=1))
    cards = HAND_CARDS[live]
    weights = np.append(opponent[live], 0.0)
    same = np.arange(len(live))
    players = cards, cards, np.zeros(len(live) + 1), weights, same, same
    out, other = np.zeros((2, len(live), 2))
    missing = 5 - len(board)
    known = np.array(board, np.int64)
    deck = np.array([card for card in range(NUM_CARDS) if card not in board])
    num_samples = {0: 0, 1: num_rivers, 2: NUM_FLOP_SAMPLES}[missing]
    if exact or not num_samples:
        last = max(len(deck) - missing + 1, 1) if missing else 1
        equities.add_boards_equity(
            0, last, known, deck, missing, IDENTITY_CARDS, players, out, other
        )
    else:
        rng = np.random.default_rng(sum(board))
        for _ in range(num_samples):
            full = np.append(known, rng.choice(deck, missing, replace=False))
            equities.add_board_equity(full, *players, out, other)
    won, faced = np.zeros((2, NUM_HANDS))
    won[live], faced[live] = out[:, 0], out[:, 1]
    return ShowdownSums(won, faced)


@lru_cache(maxsize=1)
def _preflop_tables() -> tuple[Floats, Floats, Ints]:
    """Return shares won and pairs [169, 169] by class, and the class [1326] of each hand."""
    table = equity_table()
    wins = (table.class_wins + 0.5 * table.class_ties) / table.num_boards
    sizes = table.deck.class_sizes.astype(float)
    return wins / sizes[:, None], table.class_pairs / sizes[:, None], table.deck.hand_class


def _preflop_sums(opponent: Floats) -> ShowdownSums:
    wins, pairs, hand_class = _preflop_tables()
    count = np.bincount(hand_class, minlength=len(wins))
    by_class = np.bincount(hand_class, opponent, len(wins)) / count  # mean weight of a class
    return ShowdownSums((wins @ by_class)[hand_class], (pairs @ by_class)[hand_class])


@dataclass(frozen=True)
class RangeEstimate:
    """The first agent's mean winnings per hand, with half a 95 % interval."""

    mean: float
    margin: float
    deviation: float  # standard deviation of a deal


@dataclass(frozen=True)
class RangeMatchResult:
    """Estimates of the first agent's chips per hand, from deals played in both seats."""

    num_deals: int
    plain: RangeEstimate
    averaged: RangeEstimate
    aivat: RangeEstimate


class RangeMatch:
    """A match of two agents: duplicate deals, resumable, in any order.

    Args:
        game: two-player no-limit or limit hold'em.
        agents: two agents, at least one with `hand_policy`; networks on rules get one.
        seed: of the cards and actions.
        log: a file that gets a line per deal; deals that it already has are not played again.
        with_corrections: compute `aivat`; without, it equals `averaged`.
    """

    def __init__(
        self,
        game: HoldemBase,
        agents: Sequence[Any],
        seed: int = 0,
        log: Path | None = None,
        with_corrections: bool = True,
    ):
        agents = tuple(map(agent_for_hands, agents))
        if not any(hasattr(agent, "hand_policy") for agent in agents):
            raise ConfigError(
                "AIVAT over hands needs an agent whose policy is known for every hand: a "
                "blueprint, networks on rules, or hunl"
            )
        if game.num_players != 2 or game.num_hole_cards != 2 or sum(game.board_cards) != 5:
            raise ConfigError(f"AIVAT over hands is for two-player hold'em, not {get_spec(game)}")
        self.game, self.agents, self.seed, self.log = game, agents, seed, log
        self.with_corrections = with_corrections
        self.deals: dict[int, tuple[float, float, float]] = {}
        if log is not None and log.exists():
            self.deals = _read_log(log, seed)

    def play(self, num_deals: int, first: int = 0, step: int = 1) -> Iterator[int]:
        """Play the deals `first`, `first + step`, ... below `num_deals`; yield each number."""
        for number in range(first, num_deals, step):
            if number in self.deals:
                continue
            self.add_deal(number, self.play_deal(number))
            yield number

    def add_deal(self, number: int, chips: tuple[float, float, float]) -> None:
        """Count a deal and write it to the log."""
        self.deals[number] = chips
        if self.log is not None:
            line = json.dumps({"seed": self.seed, "deal": number, "chips": chips})
            with self.log.open("a") as file:
                file.write(line + "\n")

    def play_deal(self, number: int) -> tuple[float, float, float]:
        """Return the means over both seats of the first agent's chips, by three estimates."""
        total = np.zeros(3)
        for seat in (0, 1):
            draw = RandomStreams(self.seed, number)
            deck = list(range(NUM_CARDS))
            cards = [deck.pop(int(draw(CHANCE) * len(deck))) for _ in range(9)]
            agents = self.agents if seat == 0 else self.agents[::-1]
            result = RangeHand(self.game, agents, self.with_corrections).play(cards, draw)
            total += np.array(result) * (1.0 if seat == 0 else -1.0)
        plain, averaged, aivat = (total / 2.0).tolist()
        return plain, averaged, aivat

    def result(self) -> RangeMatchResult:
        """Return the estimates from the deals so far."""
        rows = np.array([self.deals[n] for n in sorted(self.deals)]).reshape(-1, 3)
        estimates = []
        for column in rows.T:
            deviation = float(column.std(ddof=1)) if len(column) > 1 else float("inf")
            mean = float(column.mean()) if len(column) else 0.0
            estimates.append(
                RangeEstimate(mean, Z_SCORE_95 * deviation / max(len(column), 1) ** 0.5, deviation)
            )
        return RangeMatchResult(len(rows), *estimates)


def play_response(
    response: LocalBestResponse,
    num_deals: int,
    seed: int = 0,
    progress: Callable[[int], None] = lambda num_deals: None,
) -> RangeEstimate:
    """Return what local best response wins per hand, every deal played in both seats.

    The winnings are averaged over the hands that the agent could have held, with the corrections of
    AIVAT, where the agent knows its policy for every hand (hold'em with 52 cards); elsewhere they
    are the chips won.

    Args:
        response: the response; its opponent is the agent.
        num_deals: at least 2.
        seed: of the cards and actions.
        progress: called with the number of deals so far.
    """
    game, agent = response.game, response.opponent
    is_holdem = game.num_hole_cards == 2 and game.board_cards == (0, 3, 1, 1)
    if is_holdem and game.num_ranks * game.num_suits == NUM_CARDS and hasattr(agent, "hand_policy"):
        range_match = RangeMatch(game, [response, agent], seed)
        for number in range_match.play(num_deals):
            progress(number + 1)
        return range_match.result().aivat
    match = Match(game, [response, agent], seed)
    for number, _ in enumerate(match.play(2 * num_deals), 1):
        progress(number)
    score: Any = match.result().scores[0]
    deviation = score.standard_error * num_deals**0.5
    return RangeEstimate(score.mean, (score.high - score.low) / 2.0, deviation)


def play_in_processes(
    match: RangeMatch, names: Sequence[str], num_deals: int, num_workers: int
) -> Iterator[int]:
    """Play the deals of a match in several processes; yield the number of each.

    Deals do not depend on each other, so the result is that of one process.

    Args:
        match: gets the results; its log is written by this process alone.
        names: the agents, as `AgentLoader` reads them.
        num_deals: deals in all, those of the log included.
        num_workers: number of processes.
    """
    spec, missing = get_spec(match.game), [n for n in range(num_deals) if n not in match.deals]
    tasks = [
        (spec, tuple(names), match.seed, match.with_corrections, tuple(missing[k::num_workers]))
        for k in range(num_workers)
    ]
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(num_workers) as pool:
        results: Any = manager.Queue()
        pending = pool.starmap_async(_play_part, [(*task, results) for task in tasks])
        for _ in missing:
            while results.empty() and not pending.ready():
                pending.wait(POLL_SECONDS)
            if results.empty():
                pending.get()  # raises the error of a worker
            number, chips = results.get()
            match.add_deal(number, chips)
            yield number


def _play_part(
    spec: str,
    names: tuple[str, ...],
    seed: int,
    with_corrections: bool,
    numbers: tuple[int, ...],
    results: Any,
) -> None:
    """Play some deals in a process of a match."""
    from counterplay.play.agents import AgentLoader

    game: Any = load_game(spec)
    agents = AgentLoader(game, rules_only=True).load_agents(*names)
    match = RangeMatch(game, agents, seed, None, with_corrections)
    for number in numbers:
        results.put((number, match.play_deal(number)))


def _read_log(path: Path, seed: int) -> dict[int, tuple[float, float, float]]:
    """Return the deals of a log; an incomplete last line is left out."""
    deals = {}
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            if record["seed"] != seed:
                raise ConfigError(f"{path} is the log of a match with seed {record['seed']}")
            plain, averaged, aivat = record["chips"]
            deals[int(record["deal"])] = float(plain), float(averaged), float(aivat)
        except (ValueError, KeyError, TypeError) as error:
            if number < len(lines):
                raise FileError(f"{path}, line {number}: not the log of a match") from error
    return deals
