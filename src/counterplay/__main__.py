"""`python -m counterplay` is the command line."""

import sys

from counterplay.cli.main import main

sys.exit(main())
