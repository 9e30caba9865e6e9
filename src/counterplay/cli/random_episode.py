"""One random episode of a game, and everything everybody could see in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterplay.core.game import CHANCE, TERMINAL, Game, ObservedGame, State
from counterplay.core.game_checks import action_names, game_title
from counterplay.errors import RunError

MAX_SHOWN_VALUES = (
    1_000_000  # numbers of observations and names of past actions, all steps together
)


def sample_random_episode(game: Game, seed: int) -> list[dict[str, Any]]:
    """The steps from the start to a terminal: players act uniformly, chance as its odds are."""
    from counterplay.arenas.rules import TabularPolicy
    from counterplay.play.episodes import play_episode

    episode = play_episode(game, [TabularPolicy(game)] * game.num_players, seed)
    history: list[str] = []
    shown = 0
    steps: list[dict[str, Any]] = []
    for state, player, actions, odds, action in episode.steps:
        names = action_names(game, state, actions)
        taken = names[list(actions).index(action)]
        steps.append(
            {
                "history": list(history),
                "player": player,
                "actions": dict(zip(names, odds, strict=True)),
                "views": [
                    _player_observation(game, state, p, player) for p in range(game.num_players)
                ],
                "taken": taken,
            }
        )
        history.append(taken)
        shown += sum(len(view.get("observation", history)) for view in steps[-1]["views"])
        if shown > MAX_SHOWN_VALUES:
            problem = "an episode is too long to show; choose smaller parameters"
            raise RunError(f"{game_title(game)}: {problem}")
    end = {"history": history, "player": TERMINAL, "utilities": list(episode.utilities)}
    return [*steps, end]


def _player_observation(game: Game, state: State, player: int, acting: int) -> dict[str, Any]:
    """Return the key and the observation of a player; those not to act may have none."""
    view: dict[str, Any] = {}
    try:
        view["infoset_key"] = game.infoset_key(state, player)
        if isinstance(game, ObservedGame):
            view["observation"] = list(game.observation(state, player))
    except Exception:
        if player == acting:
            raise
    return view


def print_episode_step(number: int, step: dict[str, Any]) -> None:
    """Print one step of `random_episode`."""
    print(f"\nstep {number}: {', '.join(step['history']) or '(the start)'}")
    if step["player"] == TERMINAL:
        print("  over; utilities " + ", ".join(f"{utility:g}" for utility in step["utilities"]))
        return
    chance = step["player"] == CHANCE
    names = [f"{name} {p:.4g}" if chance else name for name, p in step["actions"].items()]
    print(f"  {'chance' if chance else 'player ' + str(step['player'])} acts: {', '.join(names)}")
    for player, view in enumerate(step["views"]):
        seen = (
            f"  observation {_format_observation(view['observation'])}"
            if "observation" in view
            else ""
        )
        key = repr(view["infoset_key"]) if "infoset_key" in view else "nothing that the rules tell"
        print(f"  player {player} knows {key}{seen}")
    print(f"  -> {step['taken']}")


def _format_observation(observation: Sequence[float]) -> str:
    """Digits without gaps where all entries are 0 or 1."""
    if all(value in (0.0, 1.0) for value in observation):
        return "".join(str(int(value)) for value in observation)
    return " ".join(f"{value:g}" for value in observation)
