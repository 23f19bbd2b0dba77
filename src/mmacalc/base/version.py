"""The version of mmacalc."""

__version__ = "2.0.0"
