import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no fault of the tests: no example has to be quick.
settings.register_profile("mmacalc", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mmacalc")

for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):  # of the terminal that runs the tests, which say their own
    os.environ.pop(name, None)

sys.path.insert(0, str(Path(__file__).parent))
collect_ignore = ["oracles"]  # scripts that made records, by programs that the tests do without


def pytest_collection_finish(session):
    """What the test modules made stays: looking through it for garbage took a sixth of the processor time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session")
def page_file(tmp_path_factory):
    """The page, as `mmacalc page` writes it; made once for all test processes."""
    from browser import made_once
    from mmacalc.questions.page import page

    base = tmp_path_factory.getbasetemp()
    return made_once(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base, "layouts.html", page)


@pytest.fixture(scope="session")
def browser():
    """One headless Chromium for all tests of a process."""
    from browser import chromium

    with chromium() as found:
        yield found
