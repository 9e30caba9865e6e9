"""`counterplay upi`: answer PioSOLVER's text protocol for hold'em spots."""

from __future__ import annotations

import sys

from counterplay.cli.options import ThreadsOption


def upi(threads: ThreadsOption = None) -> None:
    """Answer UPI commands on standard input, for hold'em spots.

    Scripts that talk to PioSOLVER set a board, ranges, pot, stack and betting lines, build the
    tree, solve it and read strategies and EVs; `exit` ends the program.
    """
    from counterplay.interop.upi import serve
    from counterplay.kernels.runtime.threads import set_num_threads

    set_num_threads(threads)
    serve(sys.stdin, sys.stdout)
