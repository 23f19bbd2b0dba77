"""Answers as JSON with stable keys.

Every answer is one object with `schema_version` and `query`. One about an instruction also has `architecture`,
`instruction` and `provenance`; a list of instructions has these in each of its `instructions`. The schema version
rises when a key changes its meaning or goes away, not when one is added.
"""

from __future__ import annotations

import json

from ..json_form import encoded

__all__ = ["SCHEMA_VERSION", "document"]

SCHEMA_VERSION = 2


def document(query: str, answer: object) -> str:
    """An answer as one JSON object, a line of text."""
    return json.dumps({"schema_version": SCHEMA_VERSION, "query": query, **encoded(answer)}) + "\n"
