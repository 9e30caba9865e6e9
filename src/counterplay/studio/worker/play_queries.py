"""Answers to the Play page: the person's view of an episode, with the EV loss of each decision.

An episode is restored from its seed and the person's actions, so that it survives the end of a
worker process. Until the episode is over, an answer holds the content of the person's infoset key
and nothing else.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from counterplay.arenas.tree.policy_analysis import PolicyAnalysis
from counterplay.core.game import CHANCE, DrawnGame, Game, action_labels, describe_situation
from counterplay.errors import ConfigError
from counterplay.play.agents import AgentLoader, is_searcher
from counterplay.play.episodes import Agent, EpisodeStep
from counterplay.play.sessions import Decision, InteractiveEpisode, TreeEvaluator
from counterplay.studio.worker.queries import Call, query

if TYPE_CHECKING:
    from counterplay.studio.worker.studio_worker import StudioWorker

MAX_CACHED_EPISODES = 16  # episodes in progress that continue without a replay


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


class StepAnswer(TypedDict):
    """One action of a finished episode; `odds` are the action probabilities of an opponent."""

    player: int
    name: str
    odds: list[tuple[str, float]]


class EpisodeAnswer(TypedDict):
    """The person's view of an episode; `utilities` and `history` only when it is over."""

    over: bool
    seat: int
    players: int
    move: int
    board: str
    decisions: list[DecisionAnswer]
    words: NotRequired[str]
    key: NotRequired[str]
    actions: NotRequired[list[dict[str, str]]]
    hint: NotRequired[list[HintAnswer]]
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
        agent = AgentLoader(worker.game).load_agents(name)[0]
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
        }
        if episode.is_over:
            answer["utilities"] = list(map(float, episode.utilities()))
            answer["history"] = [self._describe_step(step, episode.seat) for step in episode.steps]
            return answer
        answer["words"] = describe_situation(game, state, episode.seat)
        answer["key"] = game.infoset_key(state, episode.seat)
        labels = zip(episode.action_names, episode.action_labels, strict=True)
        answer["actions"] = [{"name": name, "words": label} for name, label in labels]
        if query.get("hint"):
            answer["hint"] = _describe_hint(episode)
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

    def _describe_step(self, step: EpisodeStep, seat: int) -> StepAnswer:
        """Return an action, and the action probabilities if an opponent took it."""
        if step.player == CHANCE:
            name = self.game.action_name(step.state, step.action)
            return {"player": step.player, "name": name, "odds": []}
        labels = action_labels(self.game, step.state)
        name = labels[list(step.actions).index(step.action)]
        odds: list[tuple[str, float]] = []
        if step.player != seat:
            odds = list(zip(labels, map(float, step.probabilities), strict=True))
        return {"player": step.player, "name": name, "odds": odds}


def _describe_hint(episode: InteractiveEpisode) -> list[HintAnswer]:
    """Return the opponent's policy at the person's infoset, and the value of each action."""
    hints: list[HintAnswer] = [{"probability": float(p)} for p in episode.hint()]
    values = episode.action_values()
    if values is not None:
        for hint, value in zip(hints, values.tolist(), strict=True):
            hint["value"] = value
    return hints
