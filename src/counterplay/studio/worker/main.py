"""The worker process of the studio: it holds one game, its tree and policies, and answers calls.

Calls and answers are JSON objects, one per line (`core.child_process`). The process may be killed
at any time without harm; it ends when the studio does.
"""

from __future__ import annotations

import sys

from counterplay.core.child_process import ParentConnection, read_json_line, write_json_line
from counterplay.errors import CounterplayError
from counterplay.studio.worker.studio_worker import StudioWorker


def main() -> None:
    """Answer calls until the studio ends."""
    worker: StudioWorker | None = None
    connection = ParentConnection(
        read_json_line,
        write_json_line,
        handle_at_once=lambda call: worker is not None and worker.handle_at_once(call),
    )
    root, *options = sys.argv[1:] or ["."]
    if "--read-only" in options:
        from counterplay.core.trust import forbid_code

        forbid_code("this studio was started with --read-only and runs no code of games")
    worker = StudioWorker(connection.send, root)
    while True:
        call = connection.receive()
        try:
            connection.send({"id": call["id"], "found": worker.handle_call(call)})
        except CounterplayError as error:
            connection.send({"id": call["id"], "error": str(error), "kind": type(error).__name__})
        except MemoryError:
            problem = "out of memory; choose smaller parameters"
            connection.send({"id": call["id"], "error": problem, "kind": "RunError"})
        except Exception as error:  # of a game's rules, or of a call written by hand
            problem = f"{type(error).__name__}: {error}"
            connection.send({"id": call["id"], "error": problem[:500], "kind": "Internal"})


if __name__ == "__main__":
    main()
