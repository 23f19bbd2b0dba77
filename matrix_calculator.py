#!/usr/bin/env python3
"""The classic script: AMD's Matrix Instruction Calculator's command line, from a clone, nothing installed."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "src"))

from mmacalc.cli import main

if __name__ == "__main__":
    sys.exit(main())
