"""Store the metrics of finished Deep-Hedge runs, draw them and print the table.

    python -m benchmarks.deep.deep_hedge_curves runs/kuhn_2p runs/kuhn_2p_own ...

Each run becomes a curve of about 200 records in results/deep_hedge.jsonl. The table and the plots,
docs/deep_hedge_<game>.svg, are of all stored curves; the author's own curves are in
results/deep_hedge_author.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.result_files import (
    RESULTS_FOLDER,
    Record,
    Run,
    group_by_name,
    load_family,
    save_run,
)
from benchmarks.timing import first_paragraph, format_head, format_row

FAMILY = "deep_hedge"
AUTHOR_CURVES = RESULTS_FOLDER / "deep_hedge_author.json"
DOCS = Path(__file__).parents[2] / "docs"
PLOTS = ("kuhn_2p", "kuhn_3p", "leduc", "goofspiel")
MAX_RECORDS = 200


def store_run(folder: Path) -> None:
    """Store the metrics of a run folder, if the run is finished."""
    from counterplay.experiment.config import load_config
    from counterplay.registry import get_spec

    config = json.loads((folder / "config.json").read_text())
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    if records[-1]["step"] < config["spec"]["max_steps"]:
        print(f"{folder}: not finished, left out")
        return
    interval = max(config["spec"]["max_steps"] // MAX_RECORDS, 1)
    ends = records[0], records[-1]
    thinned = [record for record in records if record["step"] % interval == 0 or record in ends]
    game = get_spec(load_config(config).game)
    rounded = [round_record(record) for record in thinned]
    seed = config["spec"]["seed"]
    save_run(FAMILY, Run(config["name"], config["algorithm"], game, seed, rounded, config))


def round_record(record: Record) -> Record:
    """Return a record with five digits of each number, without the checksum of its file."""
    values = {key: value for key, value in record.items() if key != "crc32"}
    return {k: v if isinstance(v, int) else float(f"{v:.5g}") for k, v in values.items()}


def format_table(groups: dict[str, list[Run]]) -> str:
    """Return one row per config: exploitability of the average, and of the current policy."""
    columns = ["run", "seeds", "steps", "median", "best seed", "worst seed", "current", "steps/s"]
    rows = [format_head(columns)]
    for name, runs in groups.items():
        last = [run.last for run in runs]
        average = [record["average"] for record in last]
        current = median(record["current"] for record in last)
        rate = median(record["step"] / record["seconds"] for record in last)
        cells = [name, len(runs), f"{last[0]['step']:,}"]
        cells += [f"{x:.4f}" for x in (median(average), min(average), max(average), current)]
        rows.append(format_row([*cells, f"{rate:,.0f}"]))
    return "\n".join(rows)


def draw_plots(runs: list[Run]) -> None:
    """Save a plot per game: stored curves and the author's."""
    from counterplay.experiment.plots.run_plots import plot_runs

    author = json.loads(AUTHOR_CURVES.read_text())
    with TemporaryDirectory() as root:
        # without the game: the author's Goofspiel is `goofspiel(forgetful=true)` here
        curves = {name: {"curve": entry["curve"]} for name, entry in author.items()}
        reference_file = Path(root, "author.json")
        reference_file.write_text(json.dumps(curves))
        for run in runs:
            folder = Path(root, f"{run.run}.{run.seed}")
            folder.mkdir()
            (folder / "config.json").write_text(json.dumps(run.config))
            lines = [json.dumps(record) for record in run.records]
            (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
        for game in PLOTS:
            references = [f"{reference_file}:{name}" for name in author if game in name]
            folders = sorted(Path(root).glob(f"{game}*"))
            plot_runs(folders, DOCS / f"deep_hedge_{game}.svg", references=references)


def main() -> None:
    """Store runs, then draw and print all stored curves."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("folders", nargs="*", type=Path, help="run folders, or folders of them")
    args = parser.parse_args()
    for root in args.folders:
        for config in sorted(root.rglob("config.json")):
            store_run(config.parent)
    runs = load_family(FAMILY)
    draw_plots(runs)
    print(format_table(group_by_name(runs)))


if __name__ == "__main__":
    main()
