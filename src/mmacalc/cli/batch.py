"""Answer one command line per input line, a line of JSON each.

Each line of standard input (or of the files) is a command line as a shell would split it, with or without
`mmacalc` in front; blank lines and lines that begin with # are passed over. Each answer is one line of JSON:
{"argv": [...], "status": 0, "stdout": "...", "stderr": "..."}; where the command answered with JSON (--json),
"answer" holds that object instead of "stdout". For example:

    echo "-a cdna3 -i v_mfma_f32_16x16x16_f16 -A -g -I 3 -K 9" | mmacalc batch
"""

from __future__ import annotations

import json
import shlex
import sys

from ..errors import Error
from . import Answer, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from .parser import Parser


def add_arguments(parser: Parser) -> None:
    """The input files."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="files of command lines; standard input if none")


def run(options: Namespace) -> tuple[str, int]:
    """Answer every line; the status is the largest of theirs."""
    answers = [_answered(line) for line in _lines(options.files)]
    text = "".join(json.dumps(found) + "\n" for found in answers)
    return text, max((found["status"] for found in answers), default=0)


def _lines(files: list[str]) -> list[str]:
    texts = []
    for file in files:
        try:
            with open(file, encoding="utf-8") as stream:
                texts.append(stream.read())
        except (OSError, UnicodeDecodeError) as problem:
            raise Error(f"cannot read '{file}': {problem}") from None
    if not files:
        if sys.stdin is None:
            raise Error("standard input is closed; give command lines there, or files that hold them")
        texts.append(sys.stdin.read())
    whole = "\n".join(texts)
    return [line for line in map(str.strip, whole.splitlines()) if line and not line.startswith("#")]


def _answered(line: str) -> dict[str, Any]:
    try:
        argv = shlex.split(line)
    except ValueError as problem:
        return {"argv": [line], **Answer(2, "", f"mmacalc: '{line}' cannot be split: {problem}\n")._asdict()}
    if argv[:1] in (["mmacalc"], ["matrix_calculator.py"], ["./matrix_calculator.py"]):
        del argv[0]
    if argv[:1] == ["batch"]:
        reply = Answer(2, "", "mmacalc: a batch cannot hold another batch\n")
    else:
        reply = answer(argv)
    found: dict[str, Any] = {"argv": argv, "status": reply.status}
    # Help and version are texts, whatever else the line asks for.
    if "--json" in argv and reply.status == 0 and reply.out.startswith("{"):
        found["answer"] = json.loads(reply.out)
    else:
        found["stdout"] = reply.out
    return {**found, "stderr": reply.err}
