"""`python -m mmacalc`."""

import sys

status: int
try:
    from mmacalc.cli import main

    status = main(sys.argv[1:])
except KeyboardInterrupt:  # while it was imported
    status = 130
sys.exit(status)
