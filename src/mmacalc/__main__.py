"""`python -m mmacalc`."""

import sys

from mmacalc.cli import main

sys.exit(main(sys.argv[1:]))
