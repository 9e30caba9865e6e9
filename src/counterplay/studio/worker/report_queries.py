"""Reports over flops in a worker: a spot solved flop by flop, with the tables so far."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from counterplay.arenas.holdem.flop_report import (
    FlopReport,
    ReportSettings,
    report_flops,
    solve_flop_report,
)
from counterplay.arenas.holdem.spot import Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.studio.worker.queries import Call, JsonObject, query
from counterplay.studio.worker.spot_study import SpotStudy, read_target

if TYPE_CHECKING:
    from counterplay.studio.worker.studio_worker import StudioWorker


@query("flop_report")
def solve_report(worker: StudioWorker, call: Call) -> JsonObject:
    """Solve a spot on a set of flops, and return the report; a stopped one is not finished.

    Solved flops are kept in the folder `folder`, so that a later call goes on with the others.
    """
    worker.report_compilation()
    spot, flops = Spot.from_dict(call["spot"]), str(call.get("flops", "25"))
    first = report_flops(flops)[1][0].name
    SpotStudy.from_arena(SpotArena(replace(spot, board=first)))  # refuses what does not fit
    worker.stop_requested.clear()

    def show(report: FlopReport) -> None:
        worker.last_report_time = 0.0
        worker.report_progress(
            "solving flops", len(report.results), report.num_flops, report=describe_report(report)
        )

    report = solve_flop_report(
        spot,
        flops,
        ReportSettings(target=read_target(call) * spot.pot / 100.0),
        folder=call.get("folder"),
        report=show,
        stop=worker.stop_requested.is_set,
    )
    return describe_report(report)


def describe_report(report: FlopReport) -> JsonObject:
    """Return the nodes and tables of a report."""
    data = report.to_json()
    return {
        "flops": report.flops,
        "num_flops": report.num_flops,
        "finished": report.is_finished,
        "nodes": data["nodes"],
        **(data["tables"] if report.results else {"rows": [], "groups": {}, "average": None}),
    }
