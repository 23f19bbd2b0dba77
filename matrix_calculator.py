#!/usr/bin/env python3
"""The classic script: AMD's Matrix Instruction Calculator's command line, from a clone, nothing installed."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "src"))

if sys.version_info < (3, 10):  # noqa: UP036 (older ones stop at the package's syntax)
    sys.stderr.write("mmacalc needs Python 3.10 or later; this is %d.%d\n" % sys.version_info[:2])  # noqa: UP031
    sys.exit(2)

if __name__ == "__main__":
    import mmacalc.__main__  # noqa: F401 (it answers)
