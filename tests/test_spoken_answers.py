"""Every answer is an object that speaks: its str is its text, notebooks show it, it is a dictionary, it is pickled."""

import html
import importlib
import json
import pickle
import pkgutil
import shlex
import subprocess
import sys

import numpy as np
import pytest

import mmacalc
from mmacalc import TEXTS
from mmacalc import command as command_package
from mmacalc.base.records import text_of
from mmacalc.cli import answer, command, commands
from test_schema import SAMPLES, files  # noqa: F401 (a fixture)

sys.path.insert(0, "tools")
MFMA = mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16")
LINES = "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], v[0:3]\nv_add_f32 v6, v0, v1"
A = np.arange(256.0).reshape(16, 16) % 7
PYTHON = {
    "lint": lambda: mmacalc.lint(LINES, "gfx942"),
    "diagnose": lambda: mmacalc.diagnose(MFMA, np.eye(16), A, d=A.T.astype(np.float32)),
    "explain": lambda: mmacalc.explain("HMMA.16816.F32 R4, R8, R12, R4"),
    "estimate": lambda: mmacalc.estimate("gfx942", 256, 256, 256, "f16"),
    "memory": lambda: mmacalc.memory(MFMA.operand("A"), ld=64),
    "chain": lambda: mmacalc.chain(MFMA, MFMA)[0],
    "compare": lambda: mmacalc.compare(MFMA, MFMA),
    "numerics": lambda: mmacalc.numerics(MFMA),
    "intrinsic": lambda: mmacalc.intrinsic(MFMA),
    "wait_states": lambda: mmacalc.wait_states(*LINES.split("\n"), "gfx942"),
    "instruction_descriptor": lambda: mmacalc.instruction_descriptor("f16", 128, 256),
    "compare_numerics": lambda: mmacalc.compare_numerics(["H100", "MI300X"], type="f16", shape=(4, 4, 32)),
}  # fmt: skip


def speaks(found):
    """What holds of every answer."""
    text = str(found)
    assert text
    assert text_of(found)
    assert not text.endswith("\n")
    shown = found._repr_html_()
    assert shown.startswith(("<pre>", "<ul>"))
    assert html.escape(text.split("\n")[0], quote=False) in shown
    assert text in found.to_markdown()
    json.dumps(found.to_dict())
    assert str(pickle.loads(pickle.dumps(found))) == text


@pytest.mark.parametrize("name", PYTHON)
def test_the_answers_of_python_speak(name):
    speaks(PYTHON[name]())


@pytest.mark.parametrize(("query", "line"), [(query, lines[0]) for query, lines in SAMPLES.items()])
def test_the_str_of_every_answer_is_what_the_command_line_prints(query, line, files, monkeypatch):  # noqa: F811
    """The record that a command shows, of a sample of every kind of answer."""
    if query == "help":
        return  # a text about the command line, and no answer
    seen = []

    def show(as_json, query, answer, text, status=0, notes=()):
        seen.append((query, answer))
        return command_package.Reply(status, "", "")

    words = shlex.split(line.format(**files))
    questions = [each.name for each in pkgutil.walk_packages(mmacalc.questions.__path__, "mmacalc.questions.")]
    for name in (*questions, "mmacalc.cli.help"):
        importlib.import_module(name)  # one that is imported later would keep the other `show`
    for module in [
        module for name, module in sys.modules.items() if name.startswith("mmacalc.") and hasattr(module, "show")
    ]:
        monkeypatch.setattr(module, "show", show)
    assert answer(words).status < 2
    [(asked, found)] = seen
    assert asked == query
    speaks(found)


def test_every_record_that_a_command_answers_with_has_its_text():
    from schema import _alternatives, _answer_type

    for name in ("", *commands()):
        for text in command(name).every_answer().values():
            for kind in _alternatives(_answer_type(text)):
                key = f"{kind.__module__}.{kind.__name__}".removeprefix("mmacalc.")
                assert key in TEXTS or kind.__module__ == "mmacalc.cli.help", key


def test_other_records_are_dictionaries_too_and_their_str_is_their_repr():
    [place] = MFMA.operand("A").locate(i=3, k=9)
    assert place.to_dict() == {"lane": 35, "item": 1, "register": 0, "lsb": 16, "width": 16}
    assert str(place) == repr(place)
    assert place._repr_html_() is None


def test_a_failing_assertion_shows_the_diagnosis():
    from mmacalc.testing import assert_matches

    with pytest.raises(AssertionError, match="transposed"):
        assert_matches(A.T.astype(np.float32), instruction=MFMA, a=np.eye(16), b=A)


def test_asking_for_a_str_costs_a_query_nothing():
    code = "import mmacalc, sys; mmacalc.instruction('gfx942', 'v_mfma_f32_16x16x16_f16')\n"
    code += "print([name for name in sys.modules if name.startswith('mmacalc.questions')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
