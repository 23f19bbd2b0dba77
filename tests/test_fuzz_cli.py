"""No command line, however wrong, ends in anything but an answer or a clear refusal."""

from hypothesis import given, settings
from hypothesis import strategies as st

import mmacalc
from mmacalc.cli import SUBCOMMANDS, answer, classic

OPTIONS = [*sorted(classic._MEANINGS), "-h", "-v", "--", "-x", "--no-such", "-gA", "--lane=3", "-I-1"]
VALUES = [
    "0",
    "1",
    "3",
    "4",
    "7",
    "15",
    "31",
    "32",
    "63",
    "64",
    "-1",
    "1.5",
    "",
    " ",
    "0x1f",
    "\uff19",
    "1" * 30,
    "fp6",
    "é" * 900,
]
ARCHITECTURES = [name for known, aliases in mmacalc.architectures().items() for name in (known, *aliases[:1])]
INSTRUCTIONS = [
    inst.name for arch in ("cdna1", "cdna3", "rdna3", "rdna4", "cdna4") for inst in mmacalc.instructions(arch)
]
BATCHABLE = sorted(set(SUBCOMMANDS) - {"batch"})  # batch would read standard input


words = st.one_of(
    st.sampled_from(OPTIONS), st.sampled_from(VALUES), st.sampled_from(ARCHITECTURES), st.sampled_from(INSTRUCTIONS)
)


@st.composite
def command_lines(draw):
    """Half-sensible command lines: mostly an architecture, an instruction, a matrix and an action, then noise."""
    argv = []
    if draw(st.booleans()):
        argv += ["-a", draw(st.sampled_from(ARCHITECTURES)), "-i", draw(st.sampled_from(INSTRUCTIONS))]
    if draw(st.booleans()):
        argv += [
            draw(st.sampled_from(["-A", "-B", "-C", "-D", "-k"])),
            draw(st.sampled_from(["-g", "-m", "--pattern"])),
        ]
    for _ in range(draw(st.integers(0, 3))):
        argv += [draw(st.sampled_from(OPTIONS)), draw(st.sampled_from(VALUES))]
    return argv + draw(st.lists(words, max_size=3))


def check(argv):
    status, out, err = answer(argv)
    assert status in (0, 2), argv
    if status == 2:
        assert out == ""
        assert 1 <= err.count("\n") <= 3
        assert len(err) < 3000, err
        assert "Traceback" not in err
    else:
        assert out


@settings(max_examples=400, deadline=None)
@given(command_lines())
def test_every_classic_command_line_is_answered_or_refused(argv):
    check(argv)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(BATCHABLE), st.lists(words, max_size=4))
def test_every_subcommand_answers_or_refuses(name, argv):
    check([name, *argv])
