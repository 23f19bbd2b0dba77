#!/usr/bin/env python3
"""The classic script: AMD's Matrix Instruction Calculator's command line, from a clone, nothing installed."""

import os
import sys

if sys.version_info < (3, 10):  # noqa: UP036 (this file is the one that an older Python can still read)
    sys.stderr.write("mmacalc needs Python 3.10 or later; this is %d.%d\n" % sys.version_info[:2])  # noqa: UP031
    sys.exit(2)

# The real path: this script may be reached through a symbolic link, say from ~/bin.
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "src"))

if __name__ == "__main__":
    import mmacalc.__main__  # noqa: F401 (it answers)
