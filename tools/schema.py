"""Makes src/mmacalc/schema.json, the JSON schema of all answers, of the records that the commands answer with.

    python tools/schema.py            writes it
    python tools/schema.py --check    says whether it is as it would be written

What is in a record is what its annotations say; the descriptions are those of `mmacalc.base.records.json_keys`.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import reduce
from importlib import import_module
from importlib.util import resolve_name
from inspect import getattr_static, signature
from operator import or_
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from mmacalc.base.errors import KINDS
from mmacalc.base.json_form import TEXT, keys_of
from mmacalc.base.records import FORMS
from mmacalc.cli import command, commands
from mmacalc.cli.batch import Line
from mmacalc.command.json import SCHEMA_VERSION, ErrorAnswer
from mmacalc.model.architecture import PROVENANCES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mmacalc.command import Command

FILE = Path(__file__).parents[1] / "src/mmacalc/schema.json"
ABOUT = (
    "What mmacalc prints with --json: one object for each answer. Keys may be added without notice; schema_version "
    "rises when one changes its meaning or goes away. Since version 2: mend is nops, and given is elapsed (lint); open "
    "is caveats (lds-transpose); the architecture of waits, assemble and disassemble is the canonical name, with the "
    "name that was given as target; numerics of many instructions is numerics-overview."
)
SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"}, int: {"type": "integer"}, bool: {"type": "boolean"}, NoneType: {"type": "null"},
    object: {}, Any: {}, float: {"$ref": "#/$defs/float"},
}  # fmt: skip
FLOAT = {"anyOf": [{"type": "number"}, {"enum": ["nan", "inf", "-inf"]}]}
PROVENANCE = {"enum": list(PROVENANCES), "description": "how sure the answer is, or the part that it stands beside"}
_names: dict[str, dict[str, Any]] = {}


def names_of(module: str) -> dict[str, Any]:
    """The names of a module as a type checker knows them: also those that it imports for annotations only."""
    if module not in _names:
        names = _names[module] = dict(vars(import_module(module)))
        file = names.get("__file__")
        tree = ast.parse(Path(file).read_text(encoding="utf-8")) if file else ast.Module([], [])
        for block in tree.body:
            if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
                for each in block.body:
                    _define(each, names)
    return _names[module]


def _define(statement: ast.stmt, names: dict[str, Any]) -> None:
    """Carry out a statement that is for type checkers."""
    if isinstance(statement, ast.ImportFrom):
        home = "." * statement.level + (statement.module or "")
        found = names_of(resolve_name(home, names["__package__"]))
        for alias in statement.names:
            names[alias.asname or alias.name] = found.get(alias.name, Any)
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
        with suppress(NameError):  # a type variable bound to a protocol beside it, which no record has
            exec(compile(ast.Module([statement], []), names["__file__"], "exec"), names)


def _evaluated(annotation: Any, module: str) -> Any:
    try:
        return eval(annotation, names_of(module)) if isinstance(annotation, str) else annotation
    except NameError as unknown:
        raise TypeError(f"{module}: {unknown}") from None


def _attribute(kind: type, name: str) -> Any:
    """The type of an attribute: a field's, or what a property returns."""
    for base in kind.__mro__:
        if name in vars(base).get("__annotations__", {}):
            return _evaluated(base.__annotations__[name], base.__module__)
        if name in vars(base):
            held = getattr_static(base, name)
            function = getattr(held, "fget", None) or getattr(held, "function", None)
            if function is not None:
                return _evaluated(function.__annotations__["return"], function.__module__)
    raise TypeError(f"{kind.__name__} has no attribute '{name}' with a type")


def _alternatives(found: Any) -> tuple[Any, ...]:
    return get_args(found) if get_origin(found) in (Union, UnionType) else (found,)


def _at(kind: Any, path: Sequence[str]) -> Any:
    """The type that a path of attributes leads to; None where one of them may be None."""
    for name in path:
        kinds = [NoneType if each is NoneType else _attribute(each, name) for each in _alternatives(kind)]
        kind = reduce(or_, kinds)
    return kind


class _Schema:
    """The definitions so far."""

    def __init__(self) -> None:
        self.defs: dict[str, Any] = {"float": FLOAT, "provenance": PROVENANCE}
        self.kinds: dict[str, type] = {}

    def of(self, kind: Any, null: bool = False) -> dict[str, Any]:
        """What describes a value of a type."""
        each = [one for one in _alternatives(kind) if one is not NoneType]
        parts = [self._one(one) for one in each]
        if null or len(each) < len(_alternatives(kind)):
            parts.append({"type": "null"})
        distinct = [part for at, part in enumerate(parts) if part not in parts[:at]]
        if all(set(part) == {"type"} and isinstance(part["type"], str) for part in distinct) and len(distinct) > 1:
            return {"type": [part["type"] for part in distinct]}
        return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}

    def _one(self, kind: Any) -> dict[str, Any]:
        try:
            return dict(SCALARS[kind])
        except (KeyError, TypeError):
            pass
        if FORMS.get(kind) == TEXT:
            return {"type": "string"}
        origin, inside = get_origin(kind) or kind, get_args(kind)
        if origin is Literal:
            return {"enum": list(inside)}
        if isinstance(origin, type) and keys_of(origin) is not None:
            return {"$ref": f"#/$defs/{self.record(origin)}"}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            counts = {"type": "integer"} if origin is Counter else {}
            values = self.of(inside[1]) if len(inside) > 1 else counts
            return {"type": "object", **({"additionalProperties": values} if values else {})}
        if origin is tuple and inside and inside[-1] is not Ellipsis:
            return {"type": "array", "prefixItems": [self.of(each) for each in inside], "minItems": len(inside),
                    "maxItems": len(inside)}  # fmt: skip
        if isinstance(origin, type) and issubclass(origin, (Sequence, range)):
            whole = {"type": "integer"} if origin is range else self.of(inside[0]) if inside else {}
            return {"type": "array", **({"items": whole} if whole else {})}
        if getattr(origin, "__module__", "").startswith("numpy"):
            return {"type": "array"}
        raise TypeError(f"{kind} has no form in JSON")

    def record(self, kind: type) -> str:
        """The name of the definition of a record, which is made if it is not there."""
        name = kind.__name__
        if self.kinds.setdefault(name, kind) is not kind:
            raise TypeError(f"two records of JSON are called {name}: {kind} and {self.kinds[name]}")
        if name not in self.defs:
            self.defs[name] = {}
            self.defs[name] = self.object(kind)
        return name

    def object(self, kind: type) -> dict[str, Any]:
        """What describes a record: its keys, and which of them are always there."""
        properties: dict[str, Any] = {}
        required: list[str] = []
        for key in keys_of(kind) or ():
            found = _at(kind, key.path)
            if not key.name:
                each = _alternatives(found)
                parts = [self.object(one) for one in each if one is not NoneType]
                for part in parts:
                    properties |= part["properties"]
                always = [name for name in parts[0]["required"] if all(name in part["required"] for part in parts)]
                required += [name for name in always if name not in required and NoneType not in each]
                continue
            sure = key.name.endswith("provenance") and found is str
            about = {"description": key.about} if key.about else {}
            properties[key.name] = {
                **({"$ref": "#/$defs/provenance"} if sure else self.of(found, key.null)), **about
            }  # fmt: skip
            if not key.left_out and key.name not in required:
                required.append(key.name)
        return {"type": "object", "properties": properties, "required": required}


def _answer_type(text: Callable[..., str]) -> Any:
    """The record that a function writes: the type of its first parameter."""
    first = next(iter(signature(text).parameters.values()))
    return _evaluated(first.annotation, text.__module__)


def schema(commands: Iterable[Command], others: Mapping[str, type]) -> dict[str, Any]:
    """The schema of the answers of commands; others: records by the names of their definitions."""
    made, queries = _Schema(), dict[str, list[dict[str, Any]]]()
    for one in commands:
        for query, text in one.every_answer().items():
            queries.setdefault(query, []).extend([made.object(each) for each in _alternatives(_answer_type(text))])
    for query, parts in queries.items():
        made.defs[f"answer {query}"] = parts[0] if len(parts) == 1 else {"anyOf": parts}
    for name, kind in others.items():
        made.defs[name] = made.object(kind)
    made.defs["error"]["properties"]["kind"] = {"enum": list(KINDS)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mmacalc answers",
        "description": ABOUT,
        "type": "object",
        "properties": {
            "schema_version": {"const": SCHEMA_VERSION},
            "query": {"enum": list(queries)},
            "error": {"$ref": "#/$defs/error", "description": "of a refusal, which has no query"},
        },
        "required": ["schema_version"],
        "oneOf": [{"required": ["query"]}, {"required": ["error"]}],
        "allOf": [
            {
                "if": {"properties": {"query": {"const": query}}, "required": ["query"]},
                "then": {"$ref": f"#/$defs/answer%20{query}"},
            }
            for query in queries
        ],
        "$defs": made.defs,
    }  # fmt: skip


def written(found: Mapping[str, Any]) -> str:
    """A schema as the text of schema.json: a definition in each line."""
    *first, (_, defs) = found.items()
    head = "".join([f"{json.dumps(name)}: {json.dumps(value)},\n" for name, value in first])
    lines = ",\n".join([f"{json.dumps(name)}: {json.dumps(value)}" for name, value in defs.items()])
    return f'{{\n{head}"$defs": {{\n{lines}\n}}\n}}\n'


def made() -> str:
    """The text of schema.json."""
    return written(
        schema([found for name in ("", *commands()) if (found := command(name))], {"batch": Line, "error": ErrorAnswer})
    )


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if FILE.read_text(encoding="utf-8") == made() else "schema.json is another: run tools/schema.py")
    FILE.write_text(made(), encoding="utf-8")
