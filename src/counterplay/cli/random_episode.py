"""One random episode of a game, with the observations of all players."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from counterplay.core.game import CHANCE, TERMINAL, Game, ObservedGame, State
from counterplay.core.game_checks import action_names, game_title
from counterplay.errors import RunError

MAX_SHOWN_VALUES = 1_000_000  # entries of observations and of histories, over all steps


class PlayerView(TypedDict, total=False):
    """The information of one player; empty if the rules define none for a player not to act."""

    infoset_key: str
    observation: list[float]


class EpisodeStepFacts(TypedDict):
    """One step as JSON has it; the last step has utilities and no actions."""

    history: list[str]
    player: int
    actions: NotRequired[dict[str, float]]  # with probabilities
    views: NotRequired[list[PlayerView]]  # by player
    taken: NotRequired[str]
    utilities: NotRequired[list[float]]


def sample_random_episode(game: Game, seed: int) -> list[EpisodeStepFacts]:
    """Return the steps of an episode in which all players act uniformly at random."""
    from counterplay.arenas.rules import TabularPolicy
    from counterplay.play.episodes import play_episode

    episode = play_episode(game, [TabularPolicy(game)] * game.num_players, seed)
    history: list[str] = []
    num_values = 0
    steps: list[EpisodeStepFacts] = []
    for state, player, actions, probabilities, action in episode.steps:
        names = action_names(game, state, actions)
        name = names[list(actions).index(action)]
        views = [_player_view(game, state, p, player) for p in range(game.num_players)]
        steps.append(
            {
                "history": list(history),
                "player": player,
                "actions": dict(zip(names, probabilities, strict=True)),
                "views": views,
                "taken": name,
            }
        )
        history.append(name)
        num_values += sum(len(view.get("observation", history)) for view in views)
        if num_values > MAX_SHOWN_VALUES:
            problem = "an episode is too long to show; choose smaller parameters"
            raise RunError(f"{game_title(game)}: {problem}")
    end: EpisodeStepFacts = {
        "history": history,
        "player": TERMINAL,
        "utilities": list(episode.utilities),
    }
    return [*steps, end]


def _player_view(game: Game, state: State, player: int, acting_player: int) -> PlayerView:
    view: PlayerView = {}
    try:
        view["infoset_key"] = game.infoset_key(state, player)
        if isinstance(game, ObservedGame):
            view["observation"] = list(game.observation(state, player))
    except Exception:  # rules need not define the views of players who are not to act
        if player == acting_player:
            raise
    return view


def print_episode_step(number: int, step: EpisodeStepFacts) -> None:
    """Print one step of `sample_random_episode`."""
    print(f"\nstep {number}: {', '.join(step['history']) or '(the start)'}")
    if step["player"] == TERMINAL:
        print("  over; utilities " + ", ".join(f"{utility:g}" for utility in step["utilities"]))
        return
    is_chance = step["player"] == CHANCE
    names = [f"{name} {p:.4g}" if is_chance else name for name, p in step["actions"].items()]
    player_name = "chance" if is_chance else f"player {step['player']}"
    print(f"  {player_name} acts: {', '.join(names)}")
    for player, view in enumerate(step["views"]):
        key = repr(view["infoset_key"]) if "infoset_key" in view else "nothing that the rules tell"
        text = f"  player {player} knows {key}"
        if "observation" in view:
            text += f"  observation {_format_observation(view['observation'])}"
        print(text)
    print(f"  -> {step['taken']}")


def _format_observation(observation: Sequence[float]) -> str:
    """Return the entries as a text; without spaces if all are 0 or 1."""
    if all(value in (0.0, 1.0) for value in observation):
        return "".join(str(int(value)) for value in observation)
    return " ".join(f"{value:g}" for value in observation)
