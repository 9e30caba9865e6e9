"""How the proposals of a study stand, as the folders of their runs tell."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.distributed.run_units import exploitability_at
from counterplay.distributed.study import Study, is_game_key, load_study
from counterplay.errors import ConfigError, FileError, RunError
from counterplay.registry import get_spec

STUDY_FILE, PROPOSALS_FILE = "study.json", "proposals.json"
SEARCH_FOLDER, JUDGEMENT_FOLDER = "search", "judged"  # folders of runs
CONFIDENCE_LEVEL = 0.95  # of intervals


@dataclass(frozen=True)
class MeanInterval:
    """The mean over seeds, and the interval around it (Student's t) in which the true one lies."""

    value: float
    low: float
    high: float
    num_seeds: int

    @classmethod
    def from_values(cls, values: Iterable[float]) -> MeanInterval:
        found = np.array(list(values), float)
        mean = float(found.mean())
        if found.size < 2 or not np.isfinite(found).all():
            return cls(mean, math.nan, math.nan, found.size)
        from scipy.stats import t

        half = float(t.ppf(0.5 + CONFIDENCE_LEVEL / 2, found.size - 1) * found.std(ddof=1))
        half /= math.sqrt(found.size)
        return cls(mean, mean - half, mean + half, found.size)

    def __str__(self) -> str:
        if math.isnan(self.low):
            return f"{self.value:.3e}"
        return f"{self.value:.3e} [{self.low:.2e}, {self.high:.2e}]"


@dataclass(frozen=True)
class RankedProposal:
    """A proposal and how it does."""

    number: int
    settings: Mapping[str, Any]
    mean_by_rung: Mapping[int, MeanInterval] = field(
        repr=False
    )  # those that all of its seeds have reached
    game: str = ""

    @property
    def last_rung(self) -> int:
        """The last rung reached."""
        return max(self.mean_by_rung, default=0)

    @property
    def last_mean(self) -> MeanInterval:
        """Over its seeds, there."""
        return (
            self.mean_by_rung[self.last_rung]
            if self.mean_by_rung
            else MeanInterval(math.inf, math.nan, math.nan, 0)
        )

    @property
    def settings_text(self) -> str:
        """Its settings as a person writes them."""
        return describe_settings(self.settings)


@dataclass(frozen=True)
class StudyRanking:
    """A study as it stands."""

    folder: Path
    study: Study
    proposals: list[RankedProposal]  # game by game, the best of each first
    judgement_by_config: Mapping[
        str, MeanInterval
    ]  # "winner" and "base" on unseen seeds; with the game, if it varies

    @property
    def tables(self) -> dict[str, list[RankedProposal]]:
        """The ranking of each game; results of different games are not comparable."""
        tables: dict[str, list[RankedProposal]] = {}
        for one in self.proposals:
            tables.setdefault(one.game, []).append(one)
        return tables

    @property
    def best_by_game(self) -> dict[str, RankedProposal]:
        """The best proposal of each game so far."""
        best = {game: table[0] for game, table in self.tables.items()}
        if not best or not all(one.mean_by_rung for one in best.values()):
            raise RunError(f"{self.folder}: no proposal has reached a rung yet")
        return best

    @property
    def best(self) -> RankedProposal:
        """The best proposal so far, of a study of one game."""
        best = self.best_by_game
        if len(best) > 1:
            games = ", ".join(best)
            raise ConfigError(f"{self.folder} is a study of {games}; best_by_game has each's best")
        return next(iter(best.values()))

    @property
    def is_complete(self) -> bool:
        """Return True if the winners have been judged, or the study does not ask for that."""
        tables = self.tables.values()
        reached = bool(tables) and all(t[0].last_rung == self.study.rungs[-1] for t in tables)
        return reached and (
            len(self.judgement_by_config) == 2 * len(tables) or not self.study.judge
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "complete": self.is_complete,
            "table": [
                {"number": one.number, "game": one.game, "settings": dict(one.settings)}
                | {"steps": one.last_rung}
                | _mean_to_json(one.last_mean)
                for one in self.proposals
            ],
            "judged": {
                name: _mean_to_json(mean) for name, mean in self.judgement_by_config.items()
            },
        }


def describe_settings(settings: Mapping[str, Any]) -> str:
    """Settings as a person writes them."""
    shown = []
    for key, value in settings.items():
        text = f"{value:.4g}" if isinstance(value, float) else json.dumps(value)
        shown.append(f"{key.split('.')[-1]}={text}")
    return ", ".join(shown)


def search_run_folder(folder: Path, number: int, seed: int) -> Path:
    """Where the run of a proposal with a seed lives."""
    return folder / SEARCH_FOLDER / f"{number:05}" / f"seed-{seed}"


def judgement_run_folder(folder: Path, config_name: str, seed: int) -> Path:
    """The folder of the winner, or the base, with a seed that the search has not used."""
    return (
        folder
        / JUDGEMENT_FOLDER
        / re.sub(r"[^A-Za-z0-9_.=,()-]", "_", config_name)
        / f"seed-{seed}"
    )


def suffixes(study: Study) -> dict[str, str]:
    """What is added to "winner" and "base" for each game, by suffix; "" if the game is the same."""
    if not study.varies_game:
        return {"": get_spec(study.base.game)}
    return {f" on {game}": game for game in study.game_settings()}


def is_study_folder(folder: str | Path) -> bool:
    """Whether a study lives there."""
    return (Path(folder) / STUDY_FILE).is_file()


def read_proposals(folder: Path, study: Study) -> list[dict[str, Any]]:
    """The settings proposed so far."""
    path = folder / PROPOSALS_FILE
    if not path.exists():
        return []
    try:
        found = json.loads(path.read_bytes())
        keys = {one.key for one in study.vary}
        good = isinstance(found, list) and all(
            isinstance(settings, dict)
            and set(settings) == keys
            and all(varied.contains(settings[varied.key]) for varied in study.vary)
            for settings in found
        )
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    if not good:
        raise FileError(f"{path} is damaged: not the proposals of this study; remove it to go on")
    return found


def load_study_ranking(folder: str | Path) -> StudyRanking:
    """Read how a study stands; it may be going on."""
    place = Path(folder)
    if not is_study_folder(place):
        raise ConfigError(f"{place} is not the folder of a study")
    study = load_study(place / STUDY_FILE)
    return rank_proposals(place, study, read_proposals(place, study))


def rank_proposals(folder: Path, study: Study, proposals: list[dict[str, Any]]) -> StudyRanking:
    """Rank the proposals of each game: those that came further first, then the lower mean."""
    table = []
    games = list(dict.fromkeys(study.game_of(settings) for settings in proposals))
    for number, settings in enumerate(proposals):
        rungs: dict[int, MeanInterval] = {}
        for rung in study.rungs:
            places = [search_run_folder(folder, number, seed) for seed in range(study.seeds)]
            values = [exploitability_at(place, rung, study.policy) for place in places]
            if None in values:
                break
            rungs[rung] = MeanInterval.from_values(x for x in values if x is not None)
        table.append(RankedProposal(number, settings, rungs, study.game_of(settings)))
    table.sort(
        key=lambda one: (games.index(one.game), -one.last_rung, one.last_mean.value, one.number)
    )
    judged = {}
    for who in (f"{role}{suffix}" for suffix in suffixes(study) for role in ("winner", "base")):
        places = [judgement_run_folder(folder, who, seed) for seed in judgement_seeds(study)]
        values = [exploitability_at(place, study.rungs[-1], study.policy) for place in places]
        if values and None not in values:
            judged[who] = MeanInterval.from_values(x for x in values if x is not None)
    return StudyRanking(folder, study, table, judged)


def judgement_seeds(study: Study) -> range:
    """The seeds that the search does not use."""
    return range(study.seeds, study.seeds + study.judge)


def setting_importance(ranking: StudyRanking) -> dict[str, float]:
    """How much of the variance of the logarithm at the first rung each setting explains, 0 to 1.

    There all proposals have a value. A setting's values are taken in up to four groups of equal
    size; what as many groups would explain by luck is taken off (epsilon squared, Kelley, 1935).
    """
    first = ranking.study.rungs[0]
    there = [
        one
        for one in ranking.proposals
        if first in one.mean_by_rung and one.mean_by_rung[first].value > 0.0
    ]
    logs = np.log([one.mean_by_rung[first].value for one in there])
    for game in ranking.tables:  # only differences within a game say something about settings
        same = np.array([one.game == game for one in there], bool)
        logs[same] -= logs[same].mean() if same.any() else 0.0
    shares = {}
    for varied in ranking.study.vary:
        if is_game_key(varied.key):
            continue
        if varied.choices:
            groups = np.array([varied.choices.index(one.settings[varied.key]) for one in there])
        else:
            order = np.argsort(np.argsort([one.settings[varied.key] for one in there]))
            groups = order * min(4, max(len(there) // 3, 1)) // max(len(there), 1)
        shares[varied.key] = _variance_explained(logs, groups)
    return shares


def _variance_explained(values: Any, groups: Any) -> float:
    count, kinds = values.size, np.unique(groups)
    total = ((values - values.mean()) ** 2).sum() if count else 0.0
    if count <= kinds.size or total <= 0.0:
        return 0.0
    within = sum(((values[groups == k] - values[groups == k].mean()) ** 2).sum() for k in kinds)
    spread = within / (count - kinds.size)
    return float(max(0.0, (total - within - (kinds.size - 1) * spread) / total))


def _mean_to_json(mean: MeanInterval) -> dict[str, Any]:
    """Numbers that JSON has."""
    found = {"mean": mean.value, "low": mean.low, "high": mean.high}
    finite = {name: x if math.isfinite(x) else None for name, x in found.items()}
    return finite | {"seeds": mean.num_seeds}
