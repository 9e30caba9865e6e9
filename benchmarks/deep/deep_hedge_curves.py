"""Keep the metrics of finished runs here, thinned, draw them and print the table of results.

    python benchmarks/deep_hedge/collect.py runs/kuhn_2p runs/kuhn_2p_own ...

Every run becomes <name>.<seed>.jsonl with some 200 records and the config in its first line; the
plots, docs/deep_hedge_<game>.svg, and the table are over all files that are here.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
MOST = 200


def keep(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    if records[-1]["step"] < config["spec"]["max_steps"]:
        print(f"{folder}: not finished, left out")
        return
    every = config["spec"]["max_steps"] // MOST
    thin = [r for r in records if r["step"] % every == 0 or r in (records[0], records[-1])]
    path = HERE / f"{config['name']}.{config['spec']['seed']}.jsonl"
    lines = [json.dumps({"config": config}), *(json.dumps(_rounded(r)) for r in thin)]
    path.write_text("\n".join(lines) + "\n")


def _rounded(record):
    kept = {k: v for k, v in record.items() if k != "crc32"}  # of the whole file, which is thinned
    return {k: v if isinstance(v, int) else float(f"{v:.5g}") for k, v in kept.items()}


def table() -> str:
    groups = defaultdict(list)
    for path in sorted(HERE.glob("*.jsonl")):
        head, *records = [json.loads(line) for line in path.read_text().splitlines()]
        groups[head["config"]["name"]].append(records)
    rows = [
        "| run | seeds | steps | median | best seed | worst seed | current | steps/s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, runs in groups.items():
        last = [records[-1] for records in runs]
        average = [r["average"] for r in last]
        current = median(r["current"] for r in last)
        rate = median(r["step"] / r["seconds"] for r in last)
        cells = [name, len(runs), f"{last[0]['step']:,}"]
        cells += [f"{x:.4f}" for x in (median(average), min(average), max(average), current)]
        rows.append("| " + " | ".join(map(str, [*cells, f"{rate:,.0f}"])) + " |")
    return "\n".join(rows)


def draw() -> None:
    """A plot per game: the author's settings, our own, and the author's curves."""
    from counterplay.experiment.plots.run_plots import plot_runs

    author = HERE / "author.json"
    keys = json.loads(author.read_text())
    with TemporaryDirectory() as root:
        for path in HERE.glob("*.jsonl"):
            head, *lines = path.read_text().splitlines()
            folder = Path(root, path.stem)
            folder.mkdir()
            (folder / "config.json").write_text(json.dumps(json.loads(head)["config"]))
            (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
        for game in ("kuhn_2p", "kuhn_3p", "leduc", "goofspiel"):
            runs = sorted(Path(root).glob(f"{game}*"))
            output = HERE.parent.parent / "docs" / f"deep_hedge_{game}.svg"
            plot_runs(runs, output, references=[f"{author}:{key}" for key in keys if game in key])


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        root = Path(argument)
        for config in sorted(root.rglob("config.json")):
            keep(config.parent)
    draw()
    print(table())
