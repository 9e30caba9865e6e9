"""Games in normal form: a utility for every player and every joint action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from counterplay.core.arena import Floats
from counterplay.core.game import Game
from counterplay.errors import ConfigError
from counterplay.games.matrix_game import MatrixGame
from counterplay.registry import load_game

Profile = tuple[Floats, ...]  # one mixture [A_i], probabilities over actions, per player

MAX_JOINT_ACTIONS = 1_000_000
MAX_ABS_UTILITY = 1e100  # products of two utilities still fit in a float


@dataclass(frozen=True, eq=False)
class NormalForm:
    """A game of P >= 2 players who choose one action each, at the same time.

    `utility[i, a, b, ...]` is the utility of player i when player 0 plays a, player 1 plays b, and
    so on.

    Args:
        utility: a table [P, A_0, ..., A_{P-1}], or player 0's matrix [A_0, A_1] of a two-player
            zero-sum game.
        action_names: names of each player's actions; numbers if empty.

    Raises:
        ConfigError: if the table has a wrong shape, or values that are not finite or too large.

    Example:
        >>> import counterplay as cp
        >>> form = cp.matrix.NormalForm([[0, -1], [1, 0]])
        >>> form.num_players, form.shape, form.is_zero_sum
        (2, (2, 2), True)
    """

    utility: Floats  # [P, A_0, ..., A_{P-1}]
    action_names: tuple[tuple[str, ...], ...] = ()

    if TYPE_CHECKING:  # lists are accepted

        def __init__(
            self, utility: ArrayLike, action_names: Sequence[Sequence[str]] = ()
        ) -> None: ...

    def __post_init__(self) -> None:
        utility = _utility_array(self.utility)
        if utility.ndim == 2:
            utility = np.stack([utility, -utility])
        _check_utility(utility)
        utility.flags.writeable = False
        names = tuple(tuple(map(str, row)) for row in self.action_names)
        names = names or tuple(tuple(map(str, range(n))) for n in utility.shape[1:])
        if tuple(map(len, names)) != utility.shape[1:]:
            raise ConfigError(
                f"action_names has {tuple(map(len, names))} names by player, must have "
                f"{utility.shape[1:]} as utility has actions"
            )
        object.__setattr__(self, "utility", utility)
        object.__setattr__(self, "action_names", names)

    @property
    def num_players(self) -> int:
        """The number of players P."""
        return self.utility.shape[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of actions of each player (A_0, ..., A_{P-1})."""
        return self.utility.shape[1:]

    @property
    def num_joint_actions(self) -> int:
        """The number of joint actions."""
        return self.utility[0].size

    @cached_property
    def utility_range(self) -> Floats:
        """Highest minus lowest utility of each player [P]; 1 where all are equal."""
        spread = np.ptp(self.utility.reshape(self.num_players, -1), axis=1)
        return np.where(spread > 0.0, spread, 1.0)

    @cached_property
    def zero_min_form(self) -> NormalForm:
        """The game with each player's lowest utility shifted to 0; gains are the same."""
        flat = self.utility.reshape(self.num_players, -1)
        shifted = (flat - flat.min(axis=1, keepdims=True)).reshape(self.utility.shape)
        return self._with_utility(shifted)

    @cached_property
    def relative_form(self) -> NormalForm:
        """The game with each player's utility minus that of its best response; at most 0.

        Gains are the same as in the game. Every difference between two actions keeps all its
        digits, however large utilities are elsewhere.
        """
        tables = [
            self.utility[player] - self.utility[player].max(axis=player, keepdims=True)
            for player in range(self.num_players)
        ]
        return self._with_utility(np.stack(tables))

    @cached_property
    def unit_utility(self) -> Floats:
        """Utilities [P, A_0, ...] shifted and scaled to [0, 1] for each player."""
        return self.zero_min_form.utility / self.utility_range.reshape(-1, *(1 for _ in self.shape))

    @cached_property
    def is_constant_sum(self) -> bool:
        """Whether the players' utilities always have the same sum."""
        total = self.zero_min_form.utility.sum(axis=0)
        return bool(np.ptp(total) <= 1e-9 * self.zero_min_form.utility.max())

    @cached_property
    def is_zero_sum(self) -> bool:
        """Whether the players' utilities always sum to zero."""
        total = np.abs(self.utility.sum(axis=0)).max()
        return self.is_constant_sum and bool(total <= 1e-9 * np.abs(self.utility).max())

    def payoff_matrix(self, player: int) -> Floats:
        """Return a player's utilities as a matrix: own actions by joint actions of all others."""
        return np.moveaxis(self.utility[player], player, 0).reshape(self.shape[player], -1)

    def action_values(self, player: int, profile: Profile) -> Floats:
        """Return the value of each action [A_i] of a player against the others' mixtures."""
        table = self.utility[player]
        for other in reversed(range(self.num_players)):
            if other != player:
                table = np.tensordot(table, profile[other], axes=(other, 0))
        return table

    def values(self, profile: Profile) -> Floats:
        """Return every player's expected utility [P]."""
        pairs = [(profile[p], self.action_values(p, profile)) for p in range(self.num_players)]
        return np.array([float(mixture @ values) for mixture, values in pairs])

    def joint_distribution(self, profile: Profile) -> Floats:
        """Return the probability of each joint action [A_0, ...] if players mix independently."""
        product = np.ones(())
        for mixture in profile:
            product = np.multiply.outer(product, mixture)
        return product

    def restrict(self, actions: Sequence[Sequence[int]]) -> NormalForm:
        """Return the game in which player i has only the actions `actions[i]`, in that order."""
        names = tuple(
            tuple(self.action_names[p][a] for a in actions[p]) for p in range(self.num_players)
        )
        return NormalForm(self.utility[np.ix_(range(self.num_players), *actions)], names)

    def _with_utility(self, utility: Floats) -> NormalForm:
        """Return the game with other utilities, without checks."""
        form = object.__new__(NormalForm)
        object.__setattr__(form, "utility", utility)
        object.__setattr__(form, "action_names", self.action_names)
        return form

    def to_game(self) -> MatrixGame:
        """Return the rules of this game, for `build_tree`."""
        return MatrixGame(tuple(self.utility.tolist()), self.action_names)


def normal_form_from_game(game: Game | str) -> NormalForm:
    """Return the normal form of a matrix game, or of one by name, such as "chicken".

    For a game in extensive form use `pure_policies(build_tree(game)).normal_form`.
    """
    game = load_game(game) if isinstance(game, str) else game
    if not isinstance(game, MatrixGame):
        name = type(game).__name__
        raise ConfigError(f"{name} is not a matrix game; pure_policies(build_tree(game)) makes one")
    return NormalForm(np.array(game.payoffs), game.action_names)


def pure_profile(form: NormalForm, joint_action: Sequence[int]) -> Profile:
    """Return the profile in which player i plays `joint_action[i]` with probability 1."""
    return tuple(np.eye(n)[a] for n, a in zip(form.shape, joint_action, strict=True))


def uniform_profile(form: NormalForm) -> Profile:
    """Return the profile of uniform mixtures."""
    return tuple(np.full(n, 1.0 / n) for n in form.shape)


def check_profile(form: NormalForm, profile: Sequence[ArrayLike]) -> Profile:
    """Return a profile as arrays; raise ConfigError unless it has a mixture for every player."""
    if len(profile) != form.num_players:
        raise ConfigError(f"{len(profile)} mixtures for {form.num_players} players")
    mixtures = tuple(np.asarray(mixture, np.float64) for mixture in profile)
    for player, mixture in enumerate(mixtures):
        if mixture.shape != (form.shape[player],) or not _is_distribution(mixture):
            raise ConfigError(
                f"the mixture of player {player} is {mixture}, must be {form.shape[player]} "
                "probabilities"
            )
    return mixtures


def check_joint(form: NormalForm, joint: ArrayLike) -> Floats:
    """Return a distribution over joint actions as an array; raise ConfigError for others."""
    distribution = np.asarray(joint, np.float64)
    if distribution.shape != form.shape or not _is_distribution(distribution):
        raise ConfigError(f"joint must be probabilities that sum to 1, of shape {form.shape}")
    return distribution


def _is_distribution(values: Floats) -> bool:
    return bool(values.min(initial=0.0) >= -1e-12 and abs(values.sum() - 1.0) <= 1e-6)


def _check_utility(utility: Floats) -> None:
    """Raise ConfigError unless a table [P, A_0, ...] is the utility of a normal form."""
    num_players = utility.shape[0] if utility.ndim else 0
    if num_players == 1 or utility.ndim == 1:
        raise ConfigError(
            "a normal form needs at least two players; a single one takes its largest utility"
        )
    if utility.ndim != num_players + 1 or not utility.size:
        raise ConfigError(
            f"utility has shape {utility.shape}; for {num_players} players it must have one "
            f"table each with {num_players} dimensions, none of them empty"
        )
    if utility[0].size > MAX_JOINT_ACTIONS:
        size = f"{' x '.join(map(str, utility.shape[1:]))} = {utility[0].size:,}"
        raise ConfigError(
            f"{size} joint actions are too many; at most {MAX_JOINT_ACTIONS:,} are allowed"
        )
    wrong = np.argwhere(~np.isfinite(utility))
    if wrong.size:
        player, *joint = map(int, wrong[0])
        value = utility[tuple(wrong[0])]
        raise ConfigError(
            f"the utility of player {player} at joint action {tuple(joint)} is {value}, must be "
            "finite"
        )
    size = np.abs(utility.reshape(num_players, -1)).max(axis=1)
    if ((size > MAX_ABS_UTILITY) | ((size > 0.0) & (size < 1.0 / MAX_ABS_UTILITY))).any():
        raise ConfigError(
            f"the largest utilities by player are {size}, must be between "
            f"{1 / MAX_ABS_UTILITY:g} and {MAX_ABS_UTILITY:g} for floats to hold their products; "
            "measure them in other units"
        )


def _utility_array(utility: Any) -> Floats:
    """Return the tables as one new array; `MatrixGame` raises the error of ragged tables."""
    try:
        return np.array(utility, np.float64)
    except (ValueError, TypeError) as error:
        MatrixGame((utility, utility) if _nesting_depth(utility) == 2 else utility)
        raise ConfigError(f"utility is not a table of numbers ({error})") from error


def _nesting_depth(values: Any) -> int:
    return 1 + _nesting_depth(values[0]) if isinstance(values, (list, tuple)) and values else 0
