"""Files that runs of population methods write into their folder.

- `pool/000.policy`, `pool/001.policy`, ...: the first policies of all players, the second ones, and
  so on; the last policy of a player with fewer. They are ordinary policy files.
- `population.npz`: the payoffs between the policies, and the meta-strategies of all iterations; for
  XDO and NXDO, the policies over the union of their actions.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from counterplay.algorithms.population.meta_solvers import marginals
from counterplay.algorithms.population.population import (
    Population,
    player_sequences,
    policy_from_plans,
)
from counterplay.algorithms.population.restricted_arena import ActionUnionPopulation
from counterplay.algorithms.population.rules_backend import RulesPopulation, pool_policy
from counterplay.arenas.rules import TabularPolicy
from counterplay.core.archive import read_archive, write_archive, write_file, write_text
from counterplay.core.arena import Floats, Ints
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError, FileError
from counterplay.experiment.plots.figure import MATPLOTLIB_STYLE, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POPULATION_FORMAT = "counterplay population 1"
POOL_FOLDER, POPULATION_FILE = "pool", "population.npz"
PLOT_SUFFIXES = (".png", ".svg")
MAX_ANNOTATED_SIZE = 12  # rows and columns of a matrix whose numbers are drawn, too


@dataclass(frozen=True)
class PopulationTable:
    """The content of `population.npz`."""

    payoffs: Floats  # [P, n_0, ..., n_{P-1}]
    pool_size_history: Ints  # [T, P]
    meta_strategy_history: Floats  # the meta-strategies of all iterations, flattened and joined
    is_joint: bool  # whether a meta-strategy is one distribution over joint policies
    stop_reason: str
    # [P + 1] first sequence of each player, if a meta-strategy is a policy
    sequence_offsets: tuple[int, ...] = ()

    @property
    def meta_strategy_sizes(self) -> list[int]:
        """Number of entries of each meta-strategy [T]."""
        if self.sequence_offsets:
            return [self.sequence_offsets[-1]] * len(self.pool_size_history)
        return [
            int(size.prod() if self.is_joint else size.sum()) for size in self.pool_size_history
        ]

    def mixtures(self, player: int) -> list[Floats]:
        """Return the player's mixture of its pool, or its policy, at each iteration [T]."""
        mixtures, first = [], 0
        if self.sequence_offsets:
            sequences = slice(*self.sequence_offsets[player : player + 2])
            return [
                policy[sequences]
                for policy in self.meta_strategy_history.reshape(len(self.pool_size_history), -1)
            ]
        for sizes, length in zip(
            self.pool_size_history.tolist(), self.meta_strategy_sizes, strict=True
        ):
            part = self.meta_strategy_history[first : first + length]
            first += length
            if self.is_joint:
                mixtures.append(marginals(part.reshape(sizes))[player])
            else:
                mixtures.append(np.split(part, np.cumsum(sizes)[:-1])[player])
        return mixtures

    def two_player_payoffs(self) -> Floats:
        """Return the payoffs [n_0, n_1] of player 0, if others follow the last meta-strategy."""
        payoffs = self.payoffs[0]
        for player in range(payoffs.ndim - 1, 1, -1):
            payoffs = payoffs @ self.mixtures(player)[-1]
        return payoffs


def write_population(folder: Path, arena: Any, memory: object) -> None:
    """Write the pools and payoffs of a population; other memories are ignored."""
    if not isinstance(memory, Population) or not min(memory.pool_sizes):
        return
    (folder / POOL_FOLDER).mkdir(exist_ok=True)
    for number in range(max(memory.pool_sizes)):
        if isinstance(memory, RulesPopulation):
            policy: Policy | TabularPolicy = pool_policy(arena, memory, number)
        else:
            plans = [pool[min(number, len(pool) - 1)] for pool in memory.plans]
            policy = policy_from_plans(arena, plans)
        policy.save(folder / POOL_FOLDER / f"{number:03}.policy")
    content = {
        "payoffs": memory.payoffs,
        "sizes": memory.pool_size_history.reshape(-1, arena.num_players),
        "metas": memory.meta_strategy_history,
        "joint": len(memory.meta_strategy) == 1 != arena.num_players,
        "ending": memory.stop_reason,
    }
    if isinstance(memory, ActionUnionPopulation):
        ends = [player_sequences(arena, player).stop for player in range(arena.num_players)]
        content |= {"sequences": (0, *ends), "joint": False}
    write_archive(folder / POPULATION_FILE, POPULATION_FORMAT, content)


def load_population(folder: str | Path) -> PopulationTable:
    """Load the payoffs and meta-strategies of a run.

    Raises:
        ConfigError: the run has no population.
        FileError: the file is damaged.
    """
    path = Path(folder) / POPULATION_FILE
    if not path.exists():
        raise ConfigError(
            f"{folder} has no population; runs of psro, double_oracle and the like write one"
        )
    content = read_archive(path, POPULATION_FORMAT)
    try:
        table = PopulationTable(
            payoffs=content["payoffs"],
            pool_size_history=content["sizes"],
            meta_strategy_history=content["metas"],
            is_joint=content["joint"],
            stop_reason=content["ending"],
            sequence_offsets=content.get("sequences", ()),
        )
        problem = _find_problem(table)
    except (KeyError, IndexError, AttributeError, TypeError, ValueError) as error:
        raise FileError(f"{path}: not a whole population file ({error})") from error
    if problem:
        raise FileError(f"{path}: not a whole population file ({problem})")
    return table


def _find_problem(table: Any) -> str:
    """Return the problem of a `PopulationTable` whose fields may have any type, or ""."""
    payoffs, sizes, metas, sequences = (
        table.payoffs,
        table.pool_size_history,
        table.meta_strategy_history,
        table.sequence_offsets,
    )
    arrays: dict[str, Any] = {
        "payoffs": (payoffs, "f"),
        "sizes": (sizes, "i"),
        "metas": (metas, "f"),
    }
    for name, (array, kind) in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind != kind:
            return f"{name} is not an array of the right type"
    if not (np.isfinite(payoffs).all() and np.isfinite(metas).all()):
        return "it contains NaN or infinity"
    kinds = type(table.is_joint), type(table.stop_reason)
    if kinds != (bool, str):
        return "joint or ending has another type"
    num_players = payoffs.ndim - 1
    if num_players < 1 or len(payoffs) != num_players or metas.ndim != 1:
        return "payoffs or metas has another shape"
    if sizes.ndim != 2 or not len(sizes) or sizes.shape[1] != num_players or sizes.min() < 1:
        return "sizes has another shape, or an empty pool"
    if payoffs.shape[1:] != tuple(sizes[-1]):
        return "its parts do not fit"
    if sequences:
        if len(sequences) != num_players + 1 or not all(type(end) is int for end in sequences):
            return "sequences has another length or type"
        if sequences[0] != 0 or any(b < a for a, b in pairwise(sequences)):
            return "sequences is not in order"
    if sum(table.meta_strategy_sizes) != metas.size:
        return "its parts do not fit"
    return ""


def draw_payoffs(folder: str | Path, output: str | Path, title: str) -> Path:
    """Draw the payoffs of player 0 against player 1, and the mixtures of both by iteration.

    Further players follow the last meta-strategy.

    Args:
        folder: the folder of a run.
        output: a file that ends in .png or .svg.
    """
    output = Path(output)
    if output.suffix not in PLOT_SUFFIXES:
        raise ConfigError(f"cannot draw payoffs to {output}; the name must end in .png or .svg")
    from matplotlib import rc_context

    table = load_population(folder)
    file = io.BytesIO()
    with rc_context(MATPLOTLIB_STYLE):
        figure = _payoff_figure(table, title)
        save_figure(figure, file, output.suffix[1:])
    if output.suffix == ".svg":
        write_text(output, file.getvalue().decode())
    else:
        write_file(output, lambda handle: handle.write(file.getvalue()))
    return output


def _payoff_figure(table: PopulationTable, title: str) -> Figure:
    from matplotlib.figure import Figure

    payoffs = table.two_player_payoffs()
    figure = Figure(figsize=(11.0, 4.2), layout="constrained")
    left, *others = figure.subplots(1, 3, width_ratios=(1.3, 1.0, 1.0))
    largest = float(np.abs(payoffs).max()) or 1.0
    image = left.imshow(payoffs, cmap="RdBu", vmin=-largest, vmax=largest, interpolation="nearest")
    if max(payoffs.shape) <= MAX_ANNOTATED_SIZE:
        for (row, column), value in np.ndenumerate(payoffs):
            is_dark = abs(value) > 0.6 * largest
            colour = "white" if is_dark else "#333333"
            left.text(column, row, f"{value:.2g}", ha="center", va="center", color=colour, size=7)
    left.set(title=title.replace("$", r"\$"), xlabel="policy of player 1", ylabel="of player 0")
    figure.colorbar(image, ax=left, shrink=0.8, label="utility of player 0")
    for player, axes in enumerate(others):
        mixtures = table.mixtures(player)
        image_rows = np.full((len(mixtures), mixtures[-1].size), np.nan)
        for iteration, mixture in enumerate(mixtures):
            image_rows[iteration, : mixture.size] = mixture
        axes.imshow(
            image_rows.T, cmap="Greens", vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest"
        )
        label = "action" if table.sequence_offsets else "policy"
        axes.set(title=f"player {player}", xlabel="meta-strategy", ylabel=label)
    return figure
