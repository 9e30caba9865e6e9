"""Answers to the Play page: the person's view of an episode, with the EV loss of each decision.

An episode is restored from its seed and the person's actions, so that it survives the end of a
worker process. Until the episode is over, an answer holds the content of the person's infoset key
and nothing else.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from counterplay.arenas.tree.policy_analysis import PolicyAnalysis
from counterplay.core.game import CHANCE, DrawnGame, Game, action_labels, describe_situation
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import CALL, HoldemBase, HoldemState
from counterplay.play.agents import AgentLoader, is_searcher
from counterplay.play.episodes import Agent, EpisodeStep
from counterplay.play.sessions import Decision, InteractiveEpisode, TreeEvaluator
from counterplay.registry import SEARCH_AGENTS, parse_spec
from counterplay.search.search_report import SearchReport
from counterplay.studio.worker.queries import Call, query

if TYPE_CHECKING:
    from counterplay.studio.worker.studio_worker import StudioWorker

MAX_CACHED_EPISODES = 16  # episodes in progress that continue without a replay
MAX_LISTED_KEYS = 12  # of a range
MAX_LISTED_ACTIONS = 30  # longer lists are the raises of no-limit poker, shown as a slider


class PlayQuery(TypedDict):
    """A question about an episode; the server sends it."""

    name: str  # to cache the episode by
    seat: int
    seed: int
    number: int  # of the episode
    actions: list[int]  # the person's so far, as indices among the legal ones
    hint: NotRequired[bool]


class DecisionAnswer(TypedDict):
    """One decision of the person."""

    words: str
    action: str
    loss: float | None
    best: NotRequired[str]
    infoset: NotRequired[int]


class HintAnswer(TypedDict):
    """An action of the person: its probability in the opponent's policy, and its value."""

    probability: float
    value: NotRequired[float]


class RangeAnswer(TypedDict):
    """The likeliest information of a player: key, probability and value."""

    player: int
    value: str  # what the values are
    rows: list[tuple[str, float, float | None]]
    rest: int  # number of keys that are left out


class SearchAnswer(TypedDict):
    """Quantities that a search has computed at an opponent's decision."""

    facts: dict[str, str]
    columns: list[str]
    rows: list[tuple[str, list[float | None]]]  # by action: its name, and its numbers
    ranges: list[RangeAnswer]


class StepAnswer(TypedDict):
    """One action of a finished episode; `odds` are the action probabilities of an opponent."""

    player: int
    name: str
    odds: list[tuple[str, float]]
    search: NotRequired[SearchAnswer]


class TableAnswer(TypedDict):
    """A poker table as the person sees it."""

    hand: list[str]  # the person's cards
    board: list[str]
    pot: int
    stacks: list[int]  # chips behind, by player
    bets: list[int]  # chips put in so far, by player


class RaisesAnswer(TypedDict):
    """All raises of no-limit poker: totals from `low` to `high`, in steps of one chip."""

    first: int  # index of the action that raises to `low`
    low: int
    high: int
    half: int  # total of a raise by half the pot
    pot: int  # total of a raise by the pot


class EpisodeAnswer(TypedDict):
    """The person's view of an episode; `utilities` and `history` only when it is over."""

    over: bool
    seat: int
    players: int
    move: int
    board: str
    decisions: list[DecisionAnswer]
    has_regret: bool  # whether the EV losses of decisions are known
    words: NotRequired[str]
    key: NotRequired[str]
    actions: NotRequired[list[dict[str, str]]]  # without raises, if those are in `raises`
    raises: NotRequired[RaisesAnswer]
    table: NotRequired[TableAnswer]
    hint: NotRequired[list[HintAnswer]]
    raise_hints: NotRequired[list[tuple[int, float]]]  # totals and probabilities
    utilities: NotRequired[list[float]]
    history: NotRequired[list[StepAnswer]]


@query("play")
def describe_episode(worker: StudioWorker, call: Call) -> EpisodeAnswer:
    """Return the person's view of an episode against a searcher, a policy or uniform play."""
    from counterplay.arenas.rules import TabularPolicy

    text, play_query = str(call["policy"].get("text", "")), cast(PlayQuery, call)
    if text.startswith("search:"):
        name = text.removeprefix("search:")
        if not is_searcher(name):  # the loader would accept names of files
            raise ConfigError(f"there is no searcher {name[:80]!r}")
        agent = worker.load_searcher(name, call["policy"].get("sources") or {})
        return worker.play.describe_episode(play_query, agent, None)
    if text == "uniform" and not worker.fits:
        return worker.play.describe_episode(play_query, TabularPolicy(worker.game), None)
    analysis = worker.policy_sources.get(call["policy"])
    return worker.play.describe_episode(play_query, analysis.policy, analysis)


class EpisodeCache:
    """The episodes of one game that are in progress, by name."""

    def __init__(self, game: Game):
        self.game = game
        self.episodes: OrderedDict[str, InteractiveEpisode] = OrderedDict()
        self.searchers: dict[tuple[str, str], Agent] = {}

    def load_searcher(self, name: str, sources: Mapping[str, str], loader: AgentLoader) -> Agent:
        """Return a searcher by name; the last one stays loaded, with its blueprint.

        Args:
            name: the searcher with its parameters.
            sources: its blueprint or network, as the server has checked them.
            loader: loads agents of the game.

        Raises:
            ConfigError: it names a blueprint or network that the server has not checked.
        """
        key = (name, repr(sorted(sources.items())))
        if key not in self.searchers:
            base, parameters = parse_spec("searcher", name)
            named = {field for field in ("blueprint", "network") if field in parameters}
            if base in SEARCH_AGENTS and named - set(sources):
                raise ConfigError(
                    "a blueprint cannot be named here; hunl takes the newest run of it"
                )
            parameters |= sources
            written = ",".join(f"{field}={value!r}" for field, value in parameters.items())
            self.searchers = {key: loader.load_agents(f"{base}({written})")[0]}
        return self.searchers[key]

    def describe_episode(
        self, query: PlayQuery, opponent: Agent, analysis: PolicyAnalysis | None
    ) -> EpisodeAnswer:
        """Return the person's view after its actions so far.

        Args:
            query: the seat, the seed and the actions.
            opponent: the agent in all other seats.
            analysis: values of the opponent's policy, for losses and hints.

        Raises:
            ConfigError: the seat or an action is out of range.
        """
        evaluator = TreeEvaluator(analysis) if analysis else None
        episode = self._restore_episode(query, opponent, evaluator)
        game, state = self.game, episode.state
        answer: EpisodeAnswer = {
            "over": episode.is_over,
            "seat": episode.seat,
            "players": game.num_players,
            "move": len(episode.person_actions),
            "board": game.board(state) if isinstance(game, DrawnGame) else "",
            "decisions": [
                self._describe_decision(decision, episode.seat, evaluator)
                for decision in episode.decisions()
            ],
            "has_regret": evaluator is not None,
        }
        if isinstance(game, HoldemBase):
            answer["table"] = _describe_table(game, state, episode.seat)
        if episode.is_over:
            answer["utilities"] = list(map(float, episode.utilities()))
            reports = episode.search_reports()
            answer["history"] = [
                self._describe_step(step, episode.seat, reports.get(k))
                for k, step in enumerate(episode.steps)
            ]
            return answer
        answer["words"] = describe_situation(game, state, episode.seat)
        answer["key"] = game.infoset_key(state, episode.seat)
        labels = list(zip(episode.action_names, episode.action_labels, strict=True))
        if isinstance(game, HoldemBase) and len(labels) > MAX_LISTED_ACTIONS:
            answer["raises"] = _describe_raises(game, state)
            labels = labels[: answer["raises"]["first"]]
        answer["actions"] = [{"name": name, "words": label} for name, label in labels]
        if query.get("hint"):
            hints = _describe_hint(episode)
            answer["hint"] = hints[: len(labels)]
            if "raises" in answer:
                actions = enumerate(episode.actions)
                answer["raise_hints"] = [
                    (action, hints[k]["probability"])
                    for k, action in actions
                    if k >= len(labels) and hints[k]["probability"] > 0.0
                ]
        return answer

    def _restore_episode(
        self, query: PlayQuery, opponent: Agent, evaluator: TreeEvaluator | None
    ) -> InteractiveEpisode:
        """Return the episode after the query's actions, continued from the cache if possible."""
        actions, name = list(query["actions"]), str(query["name"])
        episode = self.episodes.pop(name, None)
        if episode is None or episode.person_actions != actions[: len(episode.person_actions)]:
            seat, seed, number = int(query["seat"]), int(query["seed"]), int(query["number"])
            episode = InteractiveEpisode(self.game, seat, opponent, seed, number)
        episode.evaluator = evaluator
        for action in actions[len(episode.person_actions) :]:
            episode.take_action(action)
        self.episodes[name] = episode
        while len(self.episodes) > MAX_CACHED_EPISODES:
            self.episodes.popitem(last=False)
        return episode

    def _describe_decision(
        self, decision: Decision, seat: int, evaluator: TreeEvaluator | None
    ) -> DecisionAnswer:
        """Return the person's action and its EV loss against this opponent."""
        state = decision.step.state
        labels = action_labels(self.game, state)
        answer: DecisionAnswer = {
            "words": describe_situation(self.game, state, seat),
            "action": labels[decision.index],
            "loss": decision.ev_loss,
        }
        if evaluator:
            answer["infoset"] = evaluator.find_infoset(state, seat)
        if decision.action_values is not None:
            answer["best"] = labels[decision.best_index]
        return answer

    def _describe_step(
        self, step: EpisodeStep, seat: int, report: SearchReport | None
    ) -> StepAnswer:
        """Return an action; with its probabilities and its search, if an opponent took it."""
        if step.player == CHANCE:
            name = self.game.action_name(step.state, step.action)
            return {"player": step.player, "name": name, "odds": []}
        labels = action_labels(self.game, step.state)
        name = labels[list(step.actions).index(step.action)]
        odds: list[tuple[str, float]] = []
        if step.player != seat:
            odds = list(zip(labels, map(float, step.probabilities), strict=True))
            if len(odds) > MAX_LISTED_ACTIONS:
                odds = [(label, p) for label, p in odds if p > 0.0]
        answer: StepAnswer = {"player": step.player, "name": name, "odds": odds}
        if report is not None:
            answer["search"] = _describe_search(report, labels, step.probabilities)
        return answer


def _describe_search(
    report: SearchReport, labels: Sequence[str], probabilities: Sequence[float]
) -> SearchAnswer:
    """Return the numbers of a search as tables, with the likeliest keys and actions only."""
    columns = {"probability": list(map(float, probabilities))} | report.by_action
    rows = [
        (label, [_finite(column[k]) for column in columns.values()])
        for k, label in enumerate(labels)
    ]
    if len(rows) > MAX_LISTED_ACTIONS:
        rows = sorted(rows, key=lambda row: -(row[1][0] or 0.0))[:MAX_LISTED_ACTIONS]
    ranges: list[RangeAnswer] = []
    for held in report.ranges:
        values: Sequence[float | None] = held.values or [None] * len(held.keys)
        triples = zip(held.keys, held.probabilities, values, strict=True)
        listed = sorted(triples, key=lambda row: -row[1])
        ranges.append(
            {
                "player": held.player,
                "value": held.value_name if held.values else "",
                "rows": [
                    (key, float(p), None if v is None else _finite(v))
                    for key, p, v in listed[:MAX_LISTED_KEYS]
                ],
                "rest": max(len(listed) - MAX_LISTED_KEYS, 0),
            }
        )
    return {"facts": report.facts, "columns": list(columns), "rows": rows, "ranges": ranges}


def _finite(value: float) -> float | None:
    """Return a number for JSON; None for NaN and infinities."""
    return float(value) if isfinite(value) else None


def _describe_table(game: HoldemBase, state: HoldemState, seat: int) -> TableAnswer:
    """Return the cards that a player sees, the pot and the stacks."""
    paid = state.contributions
    return {
        "hand": [game.cards_name([card]) for card in game.hole_cards(state, seat)],
        "board": [game.cards_name([card]) for card in game.public_cards(state)],
        "pot": sum(paid),
        "stacks": [s - p for s, p in zip(game.starting_stacks, paid, strict=True)],
        "bets": list(paid),
    }


def _describe_raises(game: HoldemBase, state: HoldemState) -> RaisesAnswer:
    """Return the range of the legal raises of no-limit poker."""
    actions = game.actions(state)
    first = actions.index(CALL) + 1
    low, high = actions[first], actions[-1]
    highest = max(state.contributions)
    pot = sum(state.contributions) + highest - state.contributions[state.to_act]

    def clamp(total: int) -> int:
        return min(max(total, low), high)

    half = clamp(highest + (pot + 1) // 2)
    return {"first": first, "low": low, "high": high, "half": half, "pot": clamp(highest + pot)}


def _describe_hint(episode: InteractiveEpisode) -> list[HintAnswer]:
    """Return the opponent's policy at the person's infoset, and the value of each action."""
    hints: list[HintAnswer] = [{"probability": float(p)} for p in episode.hint()]
    values = episode.action_values()
    if values is not None:
        for hint, value in zip(hints, values.tolist(), strict=True):
            hint["value"] = value
    return hints
