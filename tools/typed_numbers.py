"""A mypy plugin: int() and float() of text are errors outside the one reader of numbers, `mmacalc.base.checks`.

mypy knows which arguments are text, so no call is missed, `map(int, words)` neither, and none is taken for one. Modules
whose text is our own are in OWN, each with what it reads.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy.errorcodes import ErrorCode
from mypy.nodes import Context
from mypy.plugin import CheckerPluginInterface, FunctionContext, Plugin
from mypy.types import CallableType, Instance, Overloaded, TupleType, Type, UnionType, get_proper_type

CODE = ErrorCode("number-of-text", "int() or float() of text outside mmacalc.base.checks", "Plugin")
OWN = {
    "mmacalc.base.checks": "the reader",
    "mmacalc.asm.encodings": "bit numbers of our encodings",
    "mmacalc.asm.fields": "bit numbers of our encodings",
    "mmacalc.asm.formats": "our tables of formats",
    "mmacalc.asm.decoder": "the styles of our slots",
    "mmacalc.asm.tables": "our tables of instructions",
    "mmacalc.asm.objects": "words of code objects that we keep",
    "mmacalc.chaining.conversions": "our rows of conversions",
    "mmacalc.codegen.check": "the opcodes that our rules give",
    "mmacalc.codegen.gemm_staging": "the name of an architecture",
    "mmacalc.kernels.amd.memory": "mnemonics of the decoder",
    "mmacalc.kernels.amd.narrow_formats": "mnemonics of the decoder",
    "mmacalc.memory_access.banks": "our rows of bank rules",
    "mmacalc.questions.chain": "names of registers that we numbered",
    "mmacalc.questions.estimate": "a number that was just rounded",
    "mmacalc.questions.classic.layouts": "lanes that were just numbered",
    "mmacalc.drawing.scene": "our colours",
    "mmacalc.drawing.terminal": "our colours",
}


def is_text(kind: Type) -> bool:
    """Whether a type is that of text, or of text or something that is no number (a group of a match)."""
    proper = get_proper_type(kind)
    if isinstance(proper, UnionType):
        return any(map(is_text, proper.items)) and not any(map(_is_number, proper.items))
    return isinstance(proper, Instance) and proper.type.fullname in ("builtins.str", "builtins.bytes")


def _is_number(kind: Type) -> bool:
    proper = get_proper_type(kind)
    return isinstance(proper, Instance) and proper.type.fullname in ("builtins.int", "builtins.float")


def _has_text(kind: Type) -> bool:
    proper = get_proper_type(kind)
    if isinstance(proper, TupleType):
        return any(map(is_text, proper.items))
    return is_text(proper) or (isinstance(proper, Instance) and any(map(is_text, proper.args)))


def _makes_number(kind: Type) -> bool:
    proper = get_proper_type(kind)
    if isinstance(proper, Overloaded):
        return any(map(_makes_number, proper.items))
    return isinstance(proper, CallableType) and proper.is_type_obj() and _is_number(proper.ret_type)


def _converted(context: FunctionContext) -> Type:
    if any(is_text(kind) for kind in context.arg_types[0]):
        _refuse(context.api, context.context)
    return context.default_return_type


def _mapped(context: FunctionContext) -> Type:
    function, *iterables = context.arg_types
    if any(map(_makes_number, function)) and any(_has_text(kind) for kinds in iterables for kind in kinds):
        _refuse(context.api, context.context)
    return context.default_return_type


def _refuse(api: CheckerPluginInterface, where: Context) -> None:
    module = api.tree.fullname  # type: ignore[attr-defined]  # the checker is its own interface
    if module not in OWN:
        api.fail("a number is read from text; mmacalc.base.checks has what reads it", where, code=CODE)


class Numbers(Plugin):
    """Looks at each call of int, float and map."""

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        """What looks at the calls of a function."""
        return {"builtins.int": _converted, "builtins.float": _converted, "builtins.map": _mapped}.get(fullname)


def plugin(_version: str) -> type[Plugin]:
    """The plugin, for mypy."""
    return Numbers
