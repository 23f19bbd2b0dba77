"""The version of mmacalc."""

__version__ = "1.0.0"
