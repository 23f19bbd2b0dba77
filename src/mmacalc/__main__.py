"""`python -m mmacalc`."""

import sys

try:
    from mmacalc.cli import script

    script()
except KeyboardInterrupt:  # while it was imported
    sys.exit(130)
