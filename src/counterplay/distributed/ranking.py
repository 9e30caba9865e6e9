"""Ranking of the proposals of a study, from the folders of their runs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from counterplay.core.arena import Floats, Ints
from counterplay.distributed.run_units import exploitability_at
from counterplay.distributed.study import Settings, Study, is_game_key, load_study
from counterplay.errors import ConfigError, FileError, RunError
from counterplay.experiment.config import JsonObject
from counterplay.registry import get_spec

STUDY_FILE, PROPOSALS_FILE = "study.json", "proposals.json"
SEARCH_FOLDER, JUDGEMENT_FOLDER = "search", "judged"
CONFIDENCE_LEVEL = 0.95


@dataclass(frozen=True)
class MeanInterval:
    """The mean over seeds with its confidence interval (Student's t)."""

    value: float
    low: float
    high: float
    num_seeds: int

    @classmethod
    def from_values(cls, values: Iterable[float]) -> MeanInterval:
        """Return the mean of values; its interval is NaN for fewer than two finite values."""
        array = np.array(list(values), float)
        mean = float(array.mean())
        if array.size < 2 or not np.isfinite(array).all():
            return cls(mean, math.nan, math.nan, array.size)
        from scipy.stats import t

        half = float(t.ppf(0.5 + CONFIDENCE_LEVEL / 2, array.size - 1) * array.std(ddof=1))
        half /= math.sqrt(array.size)
        return cls(mean, mean - half, mean + half, array.size)

    def __str__(self) -> str:
        if math.isnan(self.low):
            return f"{self.value:.3e}"
        return f"{self.value:.3e} [{self.low:.2e}, {self.high:.2e}]"


@dataclass(frozen=True)
class RankedProposal:
    """A proposal and its exploitability at the rungs that all of its seeds have reached."""

    number: int
    settings: Settings
    mean_by_rung: Mapping[int, MeanInterval] = field(repr=False)
    game: str = ""

    @property
    def last_rung(self) -> int:
        """The last rung reached, or 0."""
        return max(self.mean_by_rung, default=0)

    @property
    def last_mean(self) -> MeanInterval:
        """The mean at the last rung; infinite before the first."""
        return (
            self.mean_by_rung[self.last_rung]
            if self.mean_by_rung
            else MeanInterval(math.inf, math.nan, math.nan, 0)
        )

    @property
    def settings_text(self) -> str:
        """The settings as text."""
        return describe_settings(self.settings)


@dataclass(frozen=True)
class StudyRanking:
    """The ranked proposals of a study so far."""

    folder: Path
    study: Study
    proposals: list[RankedProposal]  # game by game, the best of each first
    # of "winner" and "base" on unseen seeds; with the game in the key if it varies
    judgement_by_config: Mapping[str, MeanInterval]

    @property
    def tables(self) -> dict[str, list[RankedProposal]]:
        """The ranking of each game; results of different games are not comparable."""
        tables: dict[str, list[RankedProposal]] = {}
        for proposal in self.proposals:
            tables.setdefault(proposal.game, []).append(proposal)
        return tables

    @property
    def best_by_game(self) -> dict[str, RankedProposal]:
        """The best proposal of each game so far."""
        best = {game: table[0] for game, table in self.tables.items()}
        if not best or not all(proposal.mean_by_rung for proposal in best.values()):
            raise RunError(f"{self.folder}: no proposal has reached a rung yet")
        return best

    @property
    def best(self) -> RankedProposal:
        """The best proposal so far, of a study of one game."""
        best = self.best_by_game
        if len(best) > 1:
            games = ", ".join(best)
            raise ConfigError(f"{self.folder} is a study of {games}; use best_by_game")
        return next(iter(best.values()))

    @property
    def is_complete(self) -> bool:
        """Whether all winners are known and, if the study requires it, judged."""
        tables = self.tables.values()
        reached = bool(tables) and all(t[0].last_rung == self.study.rungs[-1] for t in tables)
        return reached and (
            len(self.judgement_by_config) == 2 * len(tables) or not self.study.judge
        )

    def to_json(self) -> JsonObject:
        """Return the ranking as a JSON object."""
        return {
            "folder": str(self.folder),
            "complete": self.is_complete,
            "table": [
                {
                    "number": proposal.number,
                    "game": proposal.game,
                    "settings": dict(proposal.settings),
                    "steps": proposal.last_rung,
                    **_mean_to_json(proposal.last_mean),
                }
                for proposal in self.proposals
            ],
            "judged": {
                name: _mean_to_json(mean) for name, mean in self.judgement_by_config.items()
            },
        }


def describe_settings(settings: Settings) -> str:
    """Return settings as text, such as "epsilon=0.1, num_workers=4"."""
    parts = []
    for key, value in settings.items():
        text = f"{value:.4g}" if isinstance(value, float) else json.dumps(value)
        parts.append(f"{key.split('.')[-1]}={text}")
    return ", ".join(parts)


def search_run_folder(folder: Path, number: int, seed: int) -> Path:
    """Return the folder of a proposal's run with a seed."""
    return folder / SEARCH_FOLDER / f"{number:05}" / f"seed-{seed}"


def judgement_run_folder(folder: Path, config_name: str, seed: int) -> Path:
    """Return the folder of the winner's or the base's run with an unseen seed."""
    name = re.sub(r"[^A-Za-z0-9_.=,()-]", "_", config_name)
    return folder / JUDGEMENT_FOLDER / name / f"seed-{seed}"


def game_by_suffix(study: Study) -> dict[str, str]:
    """Return the games of a study by their suffix to "winner" and "base"; "" for a single game."""
    if not study.varies_game:
        return {"": get_spec(study.base.game)}
    return {f" on {game}": game for game in study.game_settings()}


def is_study_folder(folder: str | Path) -> bool:
    """Return True if a folder contains a study."""
    return (Path(folder) / STUDY_FILE).is_file()


def read_proposals(folder: Path, study: Study) -> list[JsonObject]:
    """Return the settings proposed so far.

    Raises:
        FileError: the file is damaged, or is not one of this study.
    """
    path = folder / PROPOSALS_FILE
    if not path.exists():
        return []
    try:
        proposals = json.loads(path.read_bytes())
        keys = {dimension.key for dimension in study.vary}
        is_valid = isinstance(proposals, list) and all(
            isinstance(settings, dict)
            and set(settings) == keys
            and all(dimension.contains(settings[dimension.key]) for dimension in study.vary)
            for settings in proposals
        )
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    if not is_valid:
        raise FileError(
            f"{path} is damaged: not the proposals of this study; remove it to continue"
        )
    return proposals


def load_study_ranking(folder: str | Path) -> StudyRanking:
    """Load the ranking of a study from its folder; the study may be running."""
    path = Path(folder)
    if not is_study_folder(path):
        raise ConfigError(f"{path} is not the folder of a study")
    study = load_study(path / STUDY_FILE)
    return rank_proposals(path, study, read_proposals(path, study))


def rank_proposals(folder: Path, study: Study, proposals: list[JsonObject]) -> StudyRanking:
    """Rank the proposals of each game by the last rung reached, then by the mean there."""
    table = []
    games = list(dict.fromkeys(study.game_of(settings) for settings in proposals))
    for number, settings in enumerate(proposals):
        rungs: dict[int, MeanInterval] = {}
        for rung in study.rungs:
            runs = [search_run_folder(folder, number, seed) for seed in range(study.seeds)]
            mean = _mean_at(runs, rung, study.policy)
            if mean is None:
                break
            rungs[rung] = mean
        table.append(RankedProposal(number, settings, rungs, study.game_of(settings)))
    table.sort(key=lambda p: (games.index(p.game), -p.last_rung, p.last_mean.value, p.number))
    judgements = {}
    for suffix in game_by_suffix(study):
        for name in (f"winner{suffix}", f"base{suffix}"):
            runs = [judgement_run_folder(folder, name, seed) for seed in judgement_seeds(study)]
            mean = _mean_at(runs, study.rungs[-1], study.policy)
            if mean is not None:
                judgements[name] = mean
    return StudyRanking(folder, study, table, judgements)


def _mean_at(runs: list[Path], step: int, policy: str | None) -> MeanInterval | None:
    """Return the mean exploitability of runs at a step; None unless all have reached it."""
    values = [exploitability_at(run, step, policy) for run in runs]
    if not values or None in values:
        return None
    return MeanInterval.from_values(value for value in values if value is not None)


def judgement_seeds(study: Study) -> range:
    """Return the seeds that the search does not use."""
    return range(study.seeds, study.seeds + study.judge)


def setting_importance(ranking: StudyRanking) -> dict[str, float]:
    """Return the fraction of variance that each setting explains, from 0 to 1.

    It is the variance of the log exploitability at the first rung, which all proposals reach. The
    values of a range are divided into up to four groups of equal size. The fraction is corrected
    for what the same number of random groups would explain (epsilon squared; Kelley, 1935).
    """
    first = ranking.study.rungs[0]
    proposals = [
        proposal
        for proposal in ranking.proposals
        if first in proposal.mean_by_rung and proposal.mean_by_rung[first].value > 0.0
    ]
    logs = np.log([proposal.mean_by_rung[first].value for proposal in proposals])
    for game in ranking.tables:  # compare settings within each game only
        is_game = np.array([proposal.game == game for proposal in proposals], bool)
        logs[is_game] -= logs[is_game].mean() if is_game.any() else 0.0
    fractions = {}
    for dimension in ranking.study.vary:
        if is_game_key(dimension.key):
            continue
        values = [proposal.settings[dimension.key] for proposal in proposals]
        if dimension.choices:
            groups = np.array([dimension.choices.index(value) for value in values])
        else:
            num_groups = min(4, max(len(values) // 3, 1))
            groups = np.argsort(np.argsort(values)) * num_groups // max(len(values), 1)
        fractions[dimension.key] = _variance_explained(logs, groups)
    return fractions


def _variance_explained(values: Floats, groups: Ints) -> float:
    """Return the fraction (epsilon squared) of the variance of values [n] between groups [n]."""
    count, labels = values.size, np.unique(groups)
    total = ((values - values.mean()) ** 2).sum() if count else 0.0
    if count <= labels.size or total <= 0.0:
        return 0.0
    within = sum(((values[groups == k] - values[groups == k].mean()) ** 2).sum() for k in labels)
    mean_square = within / (count - labels.size)
    return float(max(0.0, (total - within - (labels.size - 1) * mean_square) / total))


def _mean_to_json(mean: MeanInterval) -> dict[str, float | None]:
    """Return a mean as a JSON object, with None for numbers that are not finite."""
    numbers = {"mean": mean.value, "low": mean.low, "high": mean.high}
    finite = {name: x if math.isfinite(x) else None for name, x in numbers.items()}
    return finite | {"seeds": mean.num_seeds}
