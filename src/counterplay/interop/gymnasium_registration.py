"""Names of environments for `gymnasium.make`, such as `counterplay/Leduc-v0`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterplay.core.policy import Policy
    from counterplay.interop.gymnasium_env import BestResponseEnv
    from counterplay.interop.vector_env import BestResponseVectorEnv

GAME_BY_ENVIRONMENT = {
    "Kuhn-v0": "kuhn_poker",
    "Leduc-v0": "leduc_poker",
    "LiarsDice-v0": "liars_dice",
    "Goofspiel-v0": "goofspiel",
    "Game-v0": "kuhn_poker",  # any game: gymnasium.make("counterplay/Game-v0", game="...")
}
NAMESPACE = "counterplay"


def register_environments() -> None:
    """Register the environments with Gymnasium, for `gymnasium.make("counterplay/Leduc-v0")`.

    Example:
        >>> import counterplay as cp, gymnasium
        >>> cp.interop.register_environments()
        >>> gymnasium.make("counterplay/Kuhn-v0", opponent="uniform", player=1).action_space
        Discrete(2)
    """
    from gymnasium.envs.registration import register, registry

    module = "counterplay.interop.gymnasium_registration"
    for name, game in GAME_BY_ENVIRONMENT.items():
        if f"{NAMESPACE}/{name}" not in registry:
            register(
                f"{NAMESPACE}/{name}",
                entry_point=f"{module}:make_environment",
                vector_entry_point=f"{module}:make_vector_environment",
                kwargs={"game": game},
                disable_env_checker=True,
            )


def make_environment(
    game: str, opponent: str | Policy = "uniform", player: int = 0
) -> BestResponseEnv:
    """Return one seat of a game against an opponent in all other seats.

    Args:
        game: the game.
        opponent: a policy; `uniform`; a file of a policy or a run; or an algorithm, which solves
            the game first.
        player: the seat of the learner.
    """
    from counterplay.interop.gymnasium_env import BestResponseEnv

    return BestResponseEnv(_load_opponent(game, opponent), player)


def make_vector_environment(
    game: str, opponent: str | Policy = "uniform", player: int = 0, num_envs: int = 1, **_: Any
) -> BestResponseVectorEnv:
    """Return many episodes at once of the seat that `make_environment` returns."""
    from counterplay.interop.vector_env import BestResponseVectorEnv

    return BestResponseVectorEnv(_load_opponent(game, opponent), player, num_envs)


def _load_opponent(game: str, opponent: str | Policy) -> Policy:
    from counterplay.errors import ConfigError
    from counterplay.play.agents import AgentLoader
    from counterplay.registry import load_game

    if not isinstance(opponent, str):
        return opponent
    loader = AgentLoader(load_game(game), iterations=None)
    agent: Any = loader.load_agents(opponent)[0]
    if not hasattr(agent, "probabilities") and not hasattr(agent, "tabulate"):
        raise ConfigError(f"opponent is {opponent!r}, must be a policy; searchers have no table")
    table: Policy = agent if hasattr(agent, "probabilities") else agent.tabulate(loader.tree)
    return table
