"""Answer one command line per input line, a line of JSON each.

Each line of standard input (or of the files) is a command line as a shell would split it, with or without
`mmacalc` in front; blank lines and lines that begin with # are skipped. Each is answered as it comes, with one
line of JSON: {"argv": [...], "status": 0, "answer": null, "stdout": "...", "stderr": "..."}; where the command
answered with JSON (--json), "answer" holds that object and "stdout" is empty. The status is the largest of theirs.
The lines may name files, to read and to write: do not run those of someone whom you do not trust. For example:

    echo "-a cdna3 -i v_mfma_f32_16x16x16_f16 -A -g -I 3 -K 9" | mmacalc batch
"""

from __future__ import annotations

import json
import shlex

from ..base.errors import Error
from ..base.records import TupleRecord
from ..command import Command, Reply, argument
from ..command.files import lines, standard_input_taken
from . import answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..command import Options


PROGRAMS = (["mmacalc"], ["matrix_calculator.py"], ["./matrix_calculator.py"])


def run(options: Options) -> Iterator[Reply]:
    """Answer every line."""
    for line in lines(options.files):
        if isinstance(line, Error):
            yield _written([], Reply(2, "", f"mmacalc: {line}\n"))
        elif (text := line.strip()) and not text.startswith("#"):
            with standard_input_taken("batch"):
                reply = _answered(text)
            yield reply


def _answered(line: str) -> Reply:
    try:
        argv = shlex.split(line)
    except ValueError as problem:
        error = Error(f"'{line}' cannot be split: {problem}")
        return _written([line], Reply(2, "", f"mmacalc: {error}\n"))
    if argv[:1] in PROGRAMS:
        del argv[0]
    if argv[:1] == ["batch"]:
        return _written(argv, Reply(2, "", "mmacalc: a batch cannot hold another batch\n"))
    return _written(argv, answer(argv))


class Line(TupleRecord):
    """A line of a batch; answer: the object, where the command answered with JSON."""

    argv: list[str]
    status: int
    answer: dict[str, Any] | None
    stdout: str
    stderr: str


def _written(argv: list[str], reply: Reply) -> Reply:
    """One line of JSON."""
    # Help and version are texts regardless of --json.
    structured = "--json" in argv and reply.out.startswith("{")
    found = json.loads(reply.out) if structured else None
    line = Line(argv, reply.status, found, "" if structured else reply.out, reply.err)
    return Reply(reply.status, json.dumps(line._asdict()) + "\n", "")


COMMAND = Command(
    "batch", "answer one command line per input line, a line of JSON each", "work with it", __doc__,
    (argument("files", "files of command lines; standard input if none", nargs="*", placeholder="FILE"),),
    run,
)  # fmt: skip
