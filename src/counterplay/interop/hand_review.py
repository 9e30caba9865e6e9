"""Review of played hands: the price of every decision by an agent's policy."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from counterplay.core.game import CHANCE
from counterplay.games.holdem_base import HoldemBase
from counterplay.interop.acpc_format import LoggedHand, format_deck_cards
from counterplay.interop.hand_history import PlayedAction, PlayedHand
from counterplay.play.episodes import Agent
from counterplay.play.sessions import ActionEvaluator

STREETS = ("preflop", "flop", "turn", "river")
COLUMNS = (
    *("hand", "player", "street", "cards", "board", "action"),
    *("probability", "ev_loss", "agent_action", "agent_probability"),
)


class ReviewedDecision(NamedTuple):
    """A decision with the agent's opinion of it; the fields are the columns of the table."""

    hand: str
    player: str
    street: str
    cards: str
    board: str
    action: str
    probability: float  # of the action, in the agent's policy
    ev_loss: float | None  # None if the agent has no values
    agent_action: str  # the agent's most likely action
    agent_probability: float


def review_hands(
    hands: Iterable[PlayedHand], agent: Agent, evaluator: ActionEvaluator | None = None
) -> list[ReviewedDecision]:
    """Return all decisions of players with known cards, the largest losses first.

    Decisions without a known loss follow, the least likely for the agent first.

    Args:
        hands: played hands, all of the game of the agent.
        agent: gives the probabilities of actions.
        evaluator: gives EV losses; None if they are unknown.
    """
    reviewed = [
        review_decision(hand, decision, agent, evaluator)
        for hand in hands
        for decision in hand.decisions
        if decision.hole_cards_known
    ]
    return sorted(
        reviewed, key=lambda row: (row.ev_loss is None, -(row.ev_loss or 0.0), row.probability)
    )


def review_decision(
    hand: PlayedHand, decision: PlayedAction, agent: Agent, evaluator: ActionEvaluator | None
) -> ReviewedDecision:
    """Return a decision with the agent's opinion of it."""
    game, state = hand.game, decision.state
    actions = list(game.actions(state))
    index = actions.index(decision.action)
    probabilities = agent.action_probabilities(state, state.to_act)
    values = evaluator.action_values(state, state.to_act) if evaluator else None
    best = max(range(len(actions)), key=lambda k: probabilities[k])
    return ReviewedDecision(
        hand=hand.number,
        player=hand.names[state.to_act],
        street=STREETS[state.round] if len(game.board) == 4 else f"round {state.round + 1}",
        cards=format_deck_cards(game, sorted(game.hole_cards(state, state.to_act), reverse=True)),
        board=format_deck_cards(game, game.public_cards(state)),
        action=game.action_name(state, decision.action),
        probability=float(probabilities[index]),
        ev_loss=None if values is None else float(max(values) - values[index]),
        agent_action=game.action_name(state, actions[best]),
        agent_probability=float(probabilities[best]),
    )


def hand_from_log(game: HoldemBase, logged: LoggedHand) -> PlayedHand:
    """Return a hand of an ACPC log as a played hand; all cards are known."""
    decisions, state = [], game.initial_state()
    cards = iter(logged.state.cards)
    for action in game.past_actions(logged.state):
        while state.to_act == CHANCE:
            state = game.next_state(state, next(cards))
        decisions.append(PlayedAction(state, action, True))
        state = game.next_state(state, action)
    return PlayedHand(game, str(logged.hand), logged.names, decisions, logged.state, 1, True)  # type: ignore[arg-type]


def write_review(rows: Sequence[ReviewedDecision], path: Path) -> None:
    """Write reviewed decisions as a CSV file; an unknown loss is empty."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(["" if cell is None else cell for cell in row] for row in rows)
