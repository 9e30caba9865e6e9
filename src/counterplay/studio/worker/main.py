"""The worker process of the studio: it holds one game, its tree and policies, and answers calls.

Calls and answers are JSON objects, one per line. The process may be killed at any time without
harm; it ends when the studio does.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading

from counterplay.errors import CounterplayError
from counterplay.studio.worker.studio_worker import StudioWorker


def main() -> None:
    """Answer calls until the studio ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the output of a game must not look like an answer
    lock, waiting = threading.Lock(), queue.SimpleQueue[str]()

    def send(value: dict[str, object]) -> None:
        with lock:
            try:
                out.write(json.dumps(value) + "\n")
                out.flush()
            except OSError:
                os._exit(0)

    def read_calls() -> None:
        for line in sys.stdin:
            waiting.put(line)
        os._exit(0)

    threading.Thread(target=read_calls, daemon=True).start()
    root, *options = sys.argv[1:] or ["."]
    if "--read-only" in options:
        from counterplay.core.trust import forbid_code

        forbid_code("this studio was started with --read-only and runs no code of games")
    worker = StudioWorker(send, root)
    while True:
        call = json.loads(waiting.get())
        try:
            send({"id": call["id"], "found": worker.handle_call(call)})
        except CounterplayError as error:
            send({"id": call["id"], "error": str(error), "kind": type(error).__name__})
        except MemoryError:
            problem = "out of memory; choose smaller parameters"
            send({"id": call["id"], "error": problem, "kind": "RunError"})
        except Exception as error:  # of a game's rules, or of a call written by hand
            problem = f"{type(error).__name__}: {error}"
            send({"id": call["id"], "error": problem[:500], "kind": "Internal"})


if __name__ == "__main__":
    main()
