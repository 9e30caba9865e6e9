"""A page with the report of a spot over flops: sortable tables and pictures in one HTML file."""

from __future__ import annotations

import json
from pathlib import Path

from counterplay.arenas.holdem.flop_report import FlopReport
from counterplay.arenas.holdem.node_view import action_colours

TEMPLATE_FILE = Path(__file__).with_name("flop_report.html")


def flop_report_page(report: FlopReport) -> str:
    """Return a report as a self-contained HTML page.

    It needs no network: styles, script and numbers are in the page.
    """
    data = report.to_json()
    del data["results"]
    for node in data["nodes"]:
        node["colours"] = action_colours(node["actions"])
    content = json.dumps(data).replace("<", "\\u003c")  # no tag can end the script element
    return TEMPLATE_FILE.read_text().replace("__REPORT__", content)
