"""Played hands in a worker: their decisions, and the spots that price them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterplay.errors import ConfigError
from counterplay.interop.acpc_format import parse_game, parse_log_line
from counterplay.interop.hand_history import PlayedHand, parse_hand_history
from counterplay.interop.hand_review import hand_from_log
from counterplay.interop.spot_review import HandSpot, spot_from_hand
from counterplay.play.spot_drill import SpotDrill
from counterplay.studio.worker.queries import Call, JsonObject, query
from counterplay.studio.worker.spot_queries import find_solved_study

if TYPE_CHECKING:
    from counterplay.games.poker import Poker
    from counterplay.studio.worker.studio_worker import StudioWorker

MAX_HANDS = 500  # of one request
MAX_FILES = 200
GAME_SUFFIX = ".game"
STREETS = ("preflop", "flop", "turn", "river")


@query("review")
def list_decisions(worker: StudioWorker, call: Call) -> JsonObject:
    """Return the hands of dropped files, each with its decisions and its spot if it has one."""
    files = call.get("files")
    if not isinstance(files, list) or not 1 <= len(files) <= MAX_FILES:
        raise ConfigError(f"drop 1 to {MAX_FILES} files")
    ranges = call.get("ranges") or ["random", "random"]
    street = str(call.get("street") or "flop")
    hands, problems = read_files(files)
    described = [_describe_hand(hand, ranges, street) for hand in hands[:MAX_HANDS]]
    return {"hands": described, "problems": problems, "left_out": max(len(hands) - MAX_HANDS, 0)}


def read_files(files: list[JsonObject]) -> tuple[list[PlayedHand], list[str]]:
    """Return the hands of files, and a sentence for each file that is no hand history."""
    hands: list[PlayedHand] = []
    problems: list[str] = []
    texts = [(str(file.get("name", ""))[:80], str(file.get("text", ""))) for file in files]
    game: Poker | None = None
    for name, text in texts:
        if name.endswith(GAME_SUFFIX):
            try:
                game = parse_game(text)
            except ConfigError as error:
                problems.append(f"{name}: {error}")
    for name, text in texts:
        if name.endswith(GAME_SUFFIX):
            continue
        try:
            hands += _read_file(name, text, game)
        except ConfigError as error:
            problems.append(f"{name}: {error}")
    return hands, problems


def _read_file(name: str, text: str, game: Poker | None) -> list[PlayedHand]:
    if name.endswith(".phh"):
        return [parse_hand_history(text)]
    lines = [line for line in text.splitlines() if line.startswith("STATE:")]
    if not lines:
        raise ConfigError("is no hand history; drop .phh files, or ACPC logs with their .game file")
    if game is None:
        raise ConfigError("is an ACPC log; drop its .game file together with it")
    hands = []
    for number, line in enumerate(lines, 1):
        try:
            hands.append(hand_from_log(game, parse_log_line(game, line)))
        except ConfigError as error:
            raise ConfigError(f"hand {number}: {error}") from error
    return hands


def _describe_hand(hand: PlayedHand, ranges: list[str], street: str) -> JsonObject:
    game = hand.game
    decisions = [
        {
            "player": hand.names[decision.state.to_act],
            "street": STREETS[min(decision.state.round, 3)],
            "cards": (
                game.own_cards(decision.state, decision.state.to_act)
                if decision.hole_cards_known
                else ""
            ),
            "board": game.cards_name(game.public_cards(decision.state)),
            "action": game.action_name(decision.state, decision.action),
        }
        for decision in hand.decisions
    ]
    answer: JsonObject = {
        "number": hand.number,
        "names": list(hand.names),
        "decisions": decisions,
    }
    try:
        return answer | {"spot": _describe_spot(spot_from_hand(hand, ranges, street))}
    except ConfigError as error:
        return answer | {"spot": None, "reason": str(error)}


def _describe_spot(hand_spot: HandSpot) -> JsonObject:
    return {
        "spot": hand_spot.spot.to_dict(),
        "names": list(hand_spot.names),
        "decisions": [decision._asdict() for decision in hand_spot.decisions],
    }


@query("price_decisions")
def price_decisions(worker: StudioWorker, call: Call) -> JsonObject:
    """Return the EV loss of decisions with known hands, by the solution of their spot."""
    study = find_solved_study(worker, call)
    assert study.policy is not None
    drill = SpotDrill(study.policy, inspect=study.inspect)
    prices: list[JsonObject] = []
    for decision in call.get("decisions") or []:
        try:
            question = drill.question(str(decision["history"]), str(decision["hand"]))
            grade = drill.grade(question, str(decision["action"]))
            prices.append(grade._asdict() | {"actions": question.actions, "pot": question.pot})
        except ConfigError as error:
            prices.append({"problem": str(error)})
    return {"prices": prices, "percent": study.percent}
