"""Read and play policies exported by Counterplay. This one file needs only Python and NumPy.

Copy it into any program, together with a file that `counterplay export POLICY policy.npz` wrote:

    policy = counterplay_runtime.load("leduc.npz")
    policy.probabilities(0, "Qs:cr|Kh:")   # {"fold": 0.0, "call": 0.7, "raise": 0.3}
    policy.sample(0, "Qs:cr|Kh:")          # "call"

Tables are asked by player and infoset key. Networks are asked by player, observation and the
numbers of the legal actions. NumPy is imported when a file is loaded, not with this module.
"""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FORMAT = "counterplay portable 1"


class PortableTable:
    """A policy as a table: action probabilities by player and infoset key."""

    def __init__(self, header: Mapping[str, Any], arrays: Mapping[str, Any]):
        self.game: str = header["game"]
        self.partial: bool = header["partial"]
        names: list[str] = header["action_names"]
        offset: list[int] = arrays["offset"].tolist()
        self._names = [names[number] for number in arrays["name_index"].tolist()]
        self._probabilities: list[float] = arrays["probabilities"].tolist()
        slices = pairwise(offset)
        self._rows: list[dict[str, tuple[int, int]]] = [{} for _ in range(header["num_players"])]
        for player, key, row in zip(
            arrays["infoset_player"].tolist(), header["keys"], slices, strict=True
        ):
            self._rows[player][key] = row

    def __len__(self) -> int:
        return sum(map(len, self._rows))

    def probabilities(
        self, player: int, key: str, legal: Sequence[str] | None = None
    ) -> dict[str, float]:
        """Return action name -> probability of a player at an infoset.

        Args:
            player: the player, from 0.
            key: the infoset's key, as the game writes it.
            legal: the names of the legal actions, which are played uniformly at an infoset that a
                policy learned from samples never visited.

        Raises:
            KeyError: the policy has no such infoset.
        """
        row = self._rows[player].get(key)
        if row is None:
            return self._missing(player, key, legal)
        first, last = row
        return dict(zip(self._names[first:last], self._probabilities[first:last], strict=True))

    def sample(
        self,
        player: int,
        key: str,
        legal: Sequence[str] | None = None,
        rng: random.Random | None = None,
    ) -> str:
        """Return the name of an action drawn from the player's probabilities at an infoset."""
        draw = (rng or random).random()
        row = self._rows[player].get(key)
        if row is None:
            names = list(self._missing(player, key, legal))
            return names[int(draw * len(names))]
        first, last = row
        values = self._probabilities
        chosen = first
        for number in range(first, last):
            if values[number] > 0.0:
                chosen = number
                draw -= values[number]
                if draw < 0.0:
                    break
        return self._names[chosen]

    def _missing(self, player: int, key: str, legal: Sequence[str] | None) -> dict[str, float]:
        if not self.partial:
            raise KeyError(f"the policy for {self.game} has no infoset {key!r} of player {player}")
        if not legal:
            raise KeyError(f"infoset {key!r} was never visited; name its legal actions")
        return dict.fromkeys(legal, 1.0 / len(legal))


class PortableNetworks:
    """A policy as networks, one per player; of several sets of networks, one serves an episode."""

    def __init__(self, header: Mapping[str, Any], arrays: Mapping[str, Any]):
        self.game: str = header["game"]
        self.head: str = header["head"]
        self.num_actions: int = header["num_actions"]
        self.weights: list[float] = header["weights"]
        self._nets = [
            [
                [
                    [(arrays[f"{name}/{i}/w"], arrays[f"{name}/{i}/b"]) for i in range(layers)]
                    for name, layers in parts
                ]
                for parts in players
            ]
            for players in header["nets"]
        ]
        self._chosen = 0

    def start_episode(self, rng: random.Random | None = None) -> None:
        """Draw the networks of the next episode by their weights."""
        numbers = range(len(self.weights))
        self._chosen = (rng or random).choices(numbers, self.weights)[0]

    def probabilities(
        self, player: int, observation: Any, legal: Sequence[int]
    ) -> dict[int, float]:
        """Return action number -> probability of a player.

        Args:
            player: the player, from 0.
            observation: the infoset's observation [X], as the game encodes it.
            legal: the numbers of the legal actions.
        """
        import numpy as np

        parts = self._nets[self._chosen][player]
        x = np.asarray(observation, np.float32)
        outputs = _apply_layers(parts[-1], x)
        if len(parts) == 2:  # cumulative and instantaneous regrets
            outputs = np.maximum(_apply_layers(parts[0], x), 0.0) + outputs
        values = outputs[list(legal)].astype(np.float64)
        return dict(zip(legal, _HEADS[self.head](values).tolist(), strict=True))

    def sample(
        self, player: int, observation: Any, legal: Sequence[int], rng: random.Random | None = None
    ) -> int:
        """Return the number of an action drawn from the player's probabilities."""
        row = self.probabilities(player, observation, legal)
        return (rng or random).choices(list(row), list(row.values()))[0]


def _apply_layers(layers: list[tuple[Any, Any]], x: Any) -> Any:
    """Return the outputs of ReLU layers with skip connections and a linear last layer."""
    import numpy as np

    for weights, biases in layers[:-1]:
        y = np.maximum(x @ weights + biases, 0.0)
        width = min(len(x), len(y))
        y[:width] += x[:width]  # the layer's input, cut or padded with zeros
        x = y
    weights, biases = layers[-1]
    return x @ weights + biases


def _softmax(values: Any) -> Any:
    import numpy as np

    exponentials = np.exp(values - values.max())
    return exponentials / exponentials.sum()


def _regret_matching(values: Any) -> Any:
    import numpy as np

    positive = np.maximum(values, 0.0)
    best = positive if positive.sum() > 0.0 else (values == values.max()).astype(np.float64)
    return best / best.sum()


def _greedy(values: Any) -> Any:
    import numpy as np

    return np.eye(len(values))[values.argmax()]


_HEADS = {"softmax": _softmax, "regret_matching": _regret_matching, "greedy": _greedy}


def load(path: str | Path) -> PortableTable | PortableNetworks:
    """Read a policy that `counterplay export` wrote as .npz.

    Raises:
        ValueError: the file is damaged, or not such a policy.
    """
    import zipfile

    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays.pop("header").tobytes())
        if header["format"] != FORMAT:
            raise ValueError(f"its format is {header['format']!r}, not {FORMAT!r}")
        kind = PortableTable if header["kind"] == "table" else PortableNetworks
        return kind(header, arrays)
    except (KeyError, IndexError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a policy exported by Counterplay ({error})") from error
