"""Answers as JSON with stable keys.

Every answer is one object with `schema_version` and `query`. One about an instruction also has `architecture`,
`instruction` and `provenance`; a list of instructions has these in each of its `instructions`. The schema version
rises when a key changes its meaning or goes away, not when one is added. A refusal has `error` in place of `query`.
"""

from __future__ import annotations

import json
import re

from ..base.checks import number
from ..base.errors import Error, printable
from ..base.json_form import encoded
from ..base.records import TupleRecord

__all__ = ["SCHEMA_VERSION", "ErrorAnswer", "Place", "document", "place", "refusal"]

SCHEMA_VERSION = 2
_LINE = re.compile(r"line (\d{1,9})(?:, column (\d{1,9}))?: ")


def document(query: str, answer: object) -> str:
    """An answer as one JSON object, a line of text."""
    return json.dumps({"schema_version": SCHEMA_VERSION, "query": query, **encoded(answer)}) + "\n"


class Place(TupleRecord):
    """Where an error is: the file ("" if there is none), the line and the column from 1 (0: not known)."""

    file: str
    line: int
    column: int


class ErrorAnswer(TupleRecord):
    """A refusal: what it is about (one of `mmacalc.base.errors.KINDS`), the sentence, names and command lines that may
    be meant, and where in which file."""

    kind: str
    message: str
    suggestions: tuple[str, ...]
    place: Place | None


def place(error: Error) -> Place | None:
    """Where an error is, by how readers of texts begin their messages; None if neither file nor line is known.

    >>> place(Error("line 6: no such instruction", file="kernel.s")), place(Error("no such instruction"))
    (Place(file='kernel.s', line=6, column=0), None)
    """
    found = _LINE.match(error.args[0] if error.args and isinstance(error.args[0], str) else "")
    if found is None and not error.file:
        return None
    line, column = (number(found[1]), number(found[2] or "")) if found else (0, 0)
    return Place(printable(error.file), line or 0, column or 0)


def refusal(error: Error, message: str = "") -> str:
    """A refusal as one JSON object, a line of text; message: the sentence, where it is not the error's own."""
    answer = ErrorAnswer(error.kind, message or str(error), error.suggestions, place(error))
    return json.dumps({"schema_version": SCHEMA_VERSION, "error": encoded(answer)}) + "\n"
