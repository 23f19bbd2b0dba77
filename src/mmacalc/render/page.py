"""The interactive page: one HTML file with its style and script, and the catalog as data.

`page.html` beside this module is built from `page/` by esbuild and is part of the package, so that making a page needs
no Node. The data are put in when the page is made, and so architectures of MMACALC_CATALOG are in it.
"""

from __future__ import annotations

import base64
import json
import zlib
from functools import cache
from importlib.resources import files
from typing import Any

from .. import __version__
from ..answers.page_data import page_data
from ..catalog import entry
from . import tensor_memory
from .detail import detail_module
from .spelling import family_text

__all__ = ["page", "page_tables"]

VIEWS = ("chain", "generate", "memory", "waits")  # those of the page that a family can refuse


def page(start: str = "") -> str:
    """The page as HTML.

    Args:
        start: what it shows when it is opened without a link's `#...`, written as such a link without the `#`.
    """
    template = files("mmacalc.render").joinpath("page.html").read_text(encoding="utf-8")
    data = _data_text()
    body = f'<body data-start="{_attribute(start)}">' if start else "<body>"
    marked = 'type="application/octet-stream;base64">'
    return template.replace("<body>", body, 1).replace(marked, marked + data, 1)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


@cache
def _data_text() -> str:
    """The tables as JSON, deflated, in base64: a third of their size, which the browser undoes by itself."""
    text = json.dumps(page_tables(), separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def page_tables() -> dict[str, Any]:
    """The catalog's tables, and how it is spelt; each instruction also has the number of its statement in PTX."""
    data = page_data()
    names = [record[0] for record in data["architectures"]]
    statements: dict[str, int] = {}
    for row in data["instructions"]:
        name, *_, members = row
        inst = entry(names[data["members"][members][0]]).instruction(name)
        text = (tensor_memory if inst.in_tensor_memory else detail_module(inst)).statement(inst)
        row.append(statements.setdefault(text, len(statements)))
    records = [entry(name).architecture for name in names]
    spelt = [(family_text(record.family), record.family.language.upper()) for record in records]
    registers = [[one.REGISTER, *one.NAMES, one.COUNTED, one.NOT_ENCODED, language] for one, language in spelt]
    refused = [
        {
            topic: _sentence(text.format(title=record.title))
            for topic, text in record.family.unsupported_topics.items()
            if topic in VIEWS
        }
        for record in records
    ]
    own = {"version": __version__, "registers": registers, "refused": refused, "statements": list(statements)}
    return {**data, **own}
