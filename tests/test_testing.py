"""`mmacalc.testing` and the pytest plugin: a test with a finding or a wrong result fails, and says why."""

import re
from pathlib import Path

import numpy as np
import pytest

import mmacalc
from llvm_mc import tool
from mmacalc.testing import Ignored, assert_clean, assert_matches
from ptx_cases import CASES, DELETIONS, recorded, without
from samples import sampled

pytest_plugins = ["pytester"]

WRONG = without(next(one for one in DELETIONS if one["kernel"] == "transpose"))
TEST = """
import numpy as np, mmacalc
def test_transpose(mmacalc_launch):
    x, y = np.arange(3500, dtype=np.float32).reshape(70, 50), np.zeros((50, 70), np.float32)
    kernel = mmacalc.load("transpose.ptx")["transpose"]
    mmacalc_launch(kernel, (2, 3), (32, 8), x, y, np.int32(70), np.int32(50))
    assert (y == x.T).all()
"""


@pytest.fixture(autouse=True)
def found_from_any_folder(monkeypatch):
    """The package, which tests of pytester's folder import."""
    monkeypatch.setenv("PYTHONPATH", str(Path(mmacalc.__file__).parents[1]))


def report_of(text):
    case = CASES["transpose"]()
    return mmacalc.launch(mmacalc.load(text)["transpose"], (2, 3), (32, 8), *case.arguments)


def test_a_report_is_clean_or_each_finding_is_in_the_message_unless_it_is_ignored_with_a_reason():
    assert_clean(report_of(recorded("transpose.ptx")))
    with pytest.raises(AssertionError, match=r"4 findings:\nrace: line \d+"):
        assert_clean(report_of(WRONG))
    assert_clean(report_of(WRONG), ["race: line: this test wants it"])
    assert_clean(report_of(WRONG), [("^race", "this test wants it")])
    for entry, why in (("race", "needs a reason"), ("race: ", "needs a reason"), ("(: why", "no|is not a regular")):
        with pytest.raises(mmacalc.Error, match=why):
            Ignored.of(entry)


def test_a_wrong_product_is_diagnosed_in_the_message():
    inst = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
    a, b = np.random.default_rng(0).standard_normal((2, 16, 16)).astype(np.float16)
    d = inst.multiply(a, b)
    assert_matches(d, instruction=inst, a=a, b=b)
    assert_matches(d, a.astype(float) @ b.astype(float), rtol=1e-6)
    with pytest.raises(AssertionError, match=r"(?s)differ, by up to .* at \[\d+, \d+\].*D\[j\]\[i\] was stored as"):
        assert_matches(d.T, instruction=inst, a=a, b=b)
    with pytest.raises(AssertionError, match=r"1 of 4 elements differ, by up to nan at \[0, 1\]"):
        assert_matches([[1, np.nan], [3, 4]], [[1, 2], [3, 4]], atol=9)
    assert_matches([np.nan, np.inf], [np.nan, np.inf])
    with pytest.raises(mmacalc.Error, match="the shape"):
        assert_matches(d, d[:3])
    with pytest.raises(mmacalc.Error, match="takes the right result"):
        assert_matches(d)


@sampled(
    ("text", "options", "outcome"),
    [
        (recorded("transpose.ptx"), ["--mmacalc-schedules", "0,1"], {"passed": 1}),
        (WRONG, [], {"failed": 1}),
        (WRONG, ["--mmacalc-ignore", "race: of no matter here"], {"passed": 1}),
        (WRONG, ["--mmacalc-ignore", "race: of no matter here", "--mmacalc-schedules", "0,1"], {"failed": 1}),
        (WRONG, ["--mmacalc-ignore", "race"], {"errors": 1}),
    ],
    2,
    ids=["right", "wrong", "ignored", "another result", "no reason"],
)
def test_the_plugin_fails_a_test_with_a_finding_or_another_result_in_another_order(pytester, text, options, outcome):
    (pytester.path / "transpose.ptx").write_text(text)
    pytester.makepyfile(TEST)
    found = pytester.runpytest_subprocess("-p", "mmacalc.pytest_plugin", *options)
    found.assert_outcomes(**outcome)


def test_the_page_shows_tests_that_pass(pytester):
    page = (Path(__file__).parents[1] / "docs" / "testing.md").read_text()
    code = re.search(r":caption: test_kernels.py\n(.*?)```", page, re.S)[1]
    source = re.search(r":caption: reverse.cu\n(.*?)```", page, re.S)[1]
    (pytester.path / "reverse.cu").write_text(source)
    (pytester.path / "saxpy.hip").write_text(re.search(r":caption: saxpy.hip\n(.*?)```", page, re.S)[1])
    hip, cuda = re.search(r"```sh\n(clang.*?)\n(nvcc.*?)\n", page).groups()
    assert pytester.run(tool("clang"), *hip.split()[1:]).ret == 0
    assert pytester.run(*cuda.split()).ret == 0
    pytester.makepyfile(test_kernels=code)
    found = pytester.runpytest_subprocess("-p", "mmacalc.pytest_plugin")
    found.assert_outcomes(passed=2)
