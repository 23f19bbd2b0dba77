"""The pytest plugin: the fixture `mmacalc_launch`, and the options --mmacalc-schedules and --mmacalc-ignore.

It is found by its entry point once mmacalc is installed; else by `-p mmacalc.pytest_plugin`.
"""

from __future__ import annotations

import pytest

from .base.checks import whole
from .testing import Ignored, assert_clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["mmacalc_launch", "pytest_addoption"]

IGNORE = "findings that are fine, each as PATTERN: REASON; the pattern is a regular expression"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("mmacalc", "kernels on the emulator")
    group.addoption(
        "--mmacalc-schedules", metavar="SEEDS", default="",
        help="run each compiled kernel in these orders of its waves, too, such as 0,1,2, and compare the results",
    )  # fmt: skip
    group.addoption("--mmacalc-ignore", metavar="ENTRY", action="append", default=[], help=IGNORE)
    parser.addini("mmacalc_ignore", IGNORE, type="linelist", default=[])


@pytest.fixture
def mmacalc_launch(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`mmacalc.launch`, which fails the test where the launch has a finding, in any of the schedules asked for."""
    import mmacalc

    config = request.config
    entries = [*config.getini("mmacalc_ignore"), *config.getoption("--mmacalc-ignore")]
    ignore = [Ignored.of(entry) for entry in entries]
    words = str(config.getoption("--mmacalc-schedules")).split(",")
    seeds = [whole(word.strip(), "a seed of --mmacalc-schedules") for word in words if word.strip()]

    def launch(kernel: Any, grid: Any, block: Any, *args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        import numpy as np

        before = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
        report = mmacalc.launch(kernel, grid, block, *args, **options)
        assert_clean(report, ignore)
        for seed in () if callable(kernel) else seeds:  # a function in Python has one order
            again = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in before]
            assert_clean(mmacalc.launch(kernel, grid, block, *again, **{**options, "schedule": seed}), ignore)
            for number, (one, other) in enumerate(zip(args, again), 1):
                if isinstance(one, np.ndarray) and one.tobytes() != other.tobytes():
                    raise AssertionError(
                        f"argument {number} is another in schedule {seed}: it depends on the order of waves"
                    )
        return report

    return launch
