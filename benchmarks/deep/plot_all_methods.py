"""All deep methods together: exploitability against episodes and against seconds, log-log.

    python benchmarks/gradients/family.py

Reads the curves of benchmarks/deep, benchmarks/gradients and benchmarks/deep_hedge (its own
settings), and draws kuhn.png and leduc.png here: of every method the median over seeds of the
policy that it is judged by. Walks of external sampling, which see all actions of one player, count
as one episode each. Seconds are those of one core; those of the regret methods hold compilation and
judging, those of the others do not, and Deep-Hedge's are those of a clock on a busy machine.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
BESIDE = HERE.parent
GAMES = {"kuhn": "Kuhn poker", "leduc": "Leduc poker"}
FAMILIES = {  # methods, and the colours between which they are spread
    "regrets": ("deep_cfr sd_cfr dream escher vr_deep_dcfr_plus vr_deep_pdcfr_plus", "Blues"),
    "gradients": ("qpg rpg rmpg neurd ach ppo deep_mmd r_nad", "YlOrRd"),
    "fictitious": ("nfsp nfsp_ppo nfsp_sac", "Greens"),
    "hedge": ("deep_hedge", "Greys"),
}
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)), (0, (3, 1)))
JUDGED_BY = {"deep_mmd": "smoothed", "r_nad": "current", "deep_cfr": "network"} | dict.fromkeys(
    ("nfsp", "nfsp_ppo", "nfsp_sac", "vr_deep_dcfr_plus", "vr_deep_pdcfr_plus"), "network"
)


def curves(game: str) -> dict[str, list[list[dict]]]:
    """By method, the records of every seed: episodes, seconds and exploitability."""
    places = [
        *BESIDE.glob(f"deep/*_{game}.*.jsonl"),
        *HERE.glob(f"*_{game}.*.jsonl"),
        *BESIDE.glob(f"deep_hedge/{game}{'_2p' if game == 'kuhn' else ''}_own.*.jsonl"),
    ]
    found = defaultdict(list)
    for path in sorted(places):
        head, *records = [json.loads(line) for line in path.read_text().splitlines()]
        config = head.get("config", head)  # the oldest curves name the algorithm alone
        method, spec = config["algorithm"].split("(")[0], config.get("spec", {"episodes": 500})
        policy = judged_by(method, game)
        found[method].append(
            [
                {
                    "episodes": r.get("step", r.get("iteration")) * episodes(method, spec),
                    "seconds": r["seconds"],
                    "found": r[policy],
                }
                for r in records
            ]
        )
    return found


def judged_by(method: str, game: str) -> str:
    if method == "ppo" and game == "leduc":
        return "current"
    return JUDGED_BY.get(method, "average")


def episodes(method: str, spec: dict) -> int:
    """Of an iteration, everybody's."""
    if method == "deep_hedge":
        one = spec["player_traversals"] + spec["player_update_freq"] * spec["baseline_traversals"]
        return 2 * one
    return 2 * spec["traversals"] if "traversals" in spec else spec["episodes"]


def middle(runs: list[list[dict]], along: str) -> tuple[list[float], list[float]]:
    """The median over seeds, as far as all of them go."""
    rows = list(zip(*runs, strict=False))
    xs = [median(r[along] for r in row) for row in rows]
    return xs, [median(r["found"] for r in row) for row in rows]


def draw(game: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    found = curves(game)
    figure, axes = pyplot.subplots(1, 2, figsize=(12, 6.2), sharey=True, layout="constrained")
    for methods, colours in FAMILIES.values():
        known = [method for method in methods.split() if method in found]
        for number, method in enumerate(known):
            shade = 0.45 + 0.5 * number / max(len(known) - 1, 1)
            colour = "black" if colours == "Greys" else matplotlib.colormaps[colours](shade)
            runs, policy = found[method], judged_by(method, game)
            dashes = DASHES[number % len(DASHES)]
            label = f"{method} ({policy}, {len(runs)})"
            for axis, along in zip(axes, ("episodes", "seconds"), strict=True):
                xs, ys = middle(runs, along)
                axis.plot(xs, ys, color=colour, linestyle=dashes, linewidth=1.5, label=label)
                axis.plot(xs[-1:], ys[-1:], "o", color=colour, markersize=4)
    for axis, label in zip(axes, ("episodes", "seconds of one core"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel=label)
        axis.grid(alpha=0.3, which="both", linewidth=0.5)
        axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
        axis.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes[0].set(ylabel="exploitability", xlim=(1e4, None))
    shown = axes[0].get_legend_handles_labels()
    figure.legend(*shown, loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    figure.suptitle(f"{GAMES[game]}: medians; in brackets the policy and the number of seeds")
    figure.savefig(HERE / f"{game}.png", dpi=90)
    pyplot.close(figure)


if __name__ == "__main__":
    for game in GAMES:
        draw(game)
