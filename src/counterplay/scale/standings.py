"""How the proposals of a study stand, as the folders of their runs tell."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.errors import ConfigError, RunError
from counterplay.scale.running import value_at
from counterplay.scale.study import Study, load_study

STUDY, PROPOSALS = "study.json", "proposals.json"
SEARCH, JUDGED = "search", "judged"  # folders of runs
CONFIDENCE = 0.95  # of intervals


@dataclass(frozen=True)
class Mean:
    """The mean over seeds, and the interval around it (Student's t) in which the true one lies."""

    value: float
    low: float
    high: float
    seeds: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Mean:
        found = np.array(list(values), float)
        mean = float(found.mean())
        if found.size < 2 or not np.isfinite(found).all():
            return cls(mean, math.nan, math.nan, found.size)
        from scipy.stats import t

        half = float(t.ppf(0.5 + CONFIDENCE / 2, found.size - 1) * found.std(ddof=1))
        half /= math.sqrt(found.size)
        return cls(mean, mean - half, mean + half, found.size)

    def __str__(self) -> str:
        if math.isnan(self.low):
            return f"{self.value:.3e}"
        return f"{self.value:.3e} [{self.low:.2e}, {self.high:.2e}]"


@dataclass(frozen=True)
class Standing:
    """A proposal and how it does."""

    number: int
    settings: Mapping[str, Any]
    rungs: Mapping[int, Mean] = field(repr=False)  # those that all of its seeds have reached

    @property
    def steps(self) -> int:
        """The last rung reached."""
        return max(self.rungs, default=0)

    @property
    def mean(self) -> Mean:
        """Over its seeds, there."""
        return self.rungs[self.steps] if self.rungs else Mean(math.inf, math.nan, math.nan, 0)

    @property
    def text(self) -> str:
        """Its settings as a person writes them."""
        return describe(self.settings)


@dataclass(frozen=True)
class Standings:
    """A study as it stands."""

    folder: Path
    study: Study
    table: list[Standing]  # the best first
    judged: Mapping[str, Mean]  # "winner" and "base" on unseen seeds, as soon as they are there

    @property
    def best(self) -> Standing:
        """The best proposal so far."""
        if not self.table or not self.table[0].rungs:
            raise RunError(f"{self.folder}: no proposal has reached a rung yet")
        return self.table[0]

    @property
    def complete(self) -> bool:
        """Whether the winner has been judged, or nobody wants that."""
        reached = bool(self.table) and self.table[0].steps == self.study.rungs[-1]
        return reached and (len(self.judged) == 2 or not self.study.judge)

    def to_json(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "complete": self.complete,
            "table": [
                {"number": one.number, "settings": dict(one.settings), "steps": one.steps}
                | _plain(one.mean)
                for one in self.table
            ],
            "judged": {name: _plain(mean) for name, mean in self.judged.items()},
        }


def describe(settings: Mapping[str, Any]) -> str:
    """Settings as a person writes them."""
    shown = []
    for key, value in settings.items():
        text = f"{value:.4g}" if isinstance(value, float) else json.dumps(value)
        shown.append(f"{key.split('.')[-1]}={text}")
    return ", ".join(shown)


def run_folder(folder: Path, number: int, seed: int) -> Path:
    """Where the run of a proposal with a seed lives."""
    return folder / SEARCH / f"{number:05}" / f"seed-{seed}"


def judged_folder(folder: Path, who: str, seed: int) -> Path:
    """Where the winner, or the base, is run with a seed that nobody has seen before."""
    return folder / JUDGED / who / f"seed-{seed}"


def is_study(folder: str | Path) -> bool:
    """Whether a study lives there."""
    return (Path(folder) / STUDY).is_file()


def read_proposals(folder: Path, study: Study) -> list[dict[str, Any]]:
    """The settings proposed so far."""
    path = folder / PROPOSALS
    if not path.exists():
        return []
    try:
        found = json.loads(path.read_bytes())
        keys = {one.key for one in study.vary}
        good = isinstance(found, list) and all(
            isinstance(settings, dict)
            and set(settings) == keys
            and all(varied.admits(settings[varied.key]) for varied in study.vary)
            for settings in found
        )
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise RunError(f"cannot read {path}: {error}") from error
    if not good:
        raise RunError(f"{path} is damaged: not the proposals of this study; remove it to go on")
    return found


def standings(folder: str | Path) -> Standings:
    """Read how a study stands; it may be going on."""
    place = Path(folder)
    if not is_study(place):
        raise ConfigError(f"{place} is not the folder of a study")
    study = load_study(place / STUDY)
    return stand(place, study, read_proposals(place, study))


def stand(folder: Path, study: Study, proposals: list[dict[str, Any]]) -> Standings:
    """The proposals in order: those that came further first, among them the lower mean."""
    table = []
    for number, settings in enumerate(proposals):
        rungs: dict[int, Mean] = {}
        for rung in study.rungs:
            places = [run_folder(folder, number, seed) for seed in range(study.seeds)]
            values = [value_at(place, rung, study.policy) for place in places]
            if None in values:
                break
            rungs[rung] = Mean.of(x for x in values if x is not None)
        table.append(Standing(number, settings, rungs))
    table.sort(key=lambda one: (-one.steps, one.mean.value, one.number))
    judged = {}
    for who in ("winner", "base"):
        places = [judged_folder(folder, who, seed) for seed in unseen(study)]
        values = [value_at(place, study.rungs[-1], study.policy) for place in places]
        if values and None not in values:
            judged[who] = Mean.of(x for x in values if x is not None)
    return Standings(folder, study, table, judged)


def unseen(study: Study) -> range:
    """The seeds that the search does not use."""
    return range(study.seeds, study.seeds + study.judge)


def importance(found: Standings) -> dict[str, float]:
    """How much of the variance of the logarithm at the first rung each setting explains, 0 to 1.

    There all proposals have a value. A setting's values are taken in up to four groups of equal
    size; what as many groups would explain by luck is taken off (epsilon squared, Kelley, 1935).
    """
    first = found.study.rungs[0]
    there = [one for one in found.table if first in one.rungs and one.rungs[first].value > 0.0]
    logs = np.log([one.rungs[first].value for one in there])
    shares = {}
    for varied in found.study.vary:
        if varied.values:
            groups = np.array([varied.values.index(one.settings[varied.key]) for one in there])
        else:
            order = np.argsort(np.argsort([one.settings[varied.key] for one in there]))
            groups = order * min(4, max(len(there) // 3, 1)) // max(len(there), 1)
        shares[varied.key] = _explained(logs, groups)
    return shares


def _explained(values: Any, groups: Any) -> float:
    count, kinds = values.size, np.unique(groups)
    total = ((values - values.mean()) ** 2).sum() if count else 0.0
    if count <= kinds.size or total <= 0.0:
        return 0.0
    within = sum(((values[groups == k] - values[groups == k].mean()) ** 2).sum() for k in kinds)
    spread = within / (count - kinds.size)
    return float(max(0.0, (total - within - (kinds.size - 1) * spread) / total))


def _plain(mean: Mean) -> dict[str, Any]:
    """Numbers that JSON has."""
    found = {"mean": mean.value, "low": mean.low, "high": mean.high}
    finite = {name: x if math.isfinite(x) else None for name, x in found.items()}
    return finite | {"seeds": mean.seeds}
