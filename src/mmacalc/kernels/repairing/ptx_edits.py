"""Other forms of the statements of a PTX kernel: those that a slip of the pen could have come from."""

from __future__ import annotations

import re

from ...base.checks import whole
from ...ptx.module import Address, Guard, Negated, Number, Pair, Register, Statement, Symbol, is_braced
from ..ptx.kernel import PtxKernel
from .edits import KIND, Edit, numbers_near, opcodes_near, swaps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ...ptx.module import Function, Operand

__all__ = ["changed_kernel", "ptx_edits"]

_ORDERS = {"mma", "wgmma", "sub", "div", "rem", "selp", "set", "setp", "fma", "mad", "shl", "shr", "prmt", "slct"}
"""Statements whose sources may stand in each other's place without doing the same."""
_WEIGHTS = ({"mma", "wgmma", "tcgen05"}, {"shfl", "ldmatrix", "stmatrix", "redux", "vote", "match", "cp", "movmatrix"},
            {"ld", "st", "atom", "red"}, {"setp", "selp", "bra", "mad", "fma"})  # fmt: skip
_NEAR = (1, -1, 2, -2, 4, -4)
_WINDOW = 8
"""Statements before and behind one whose registers it may have meant."""


def changed_kernel(kernel: PtxKernel, edit: Edit) -> PtxKernel:
    """The kernel with a statement in its place."""
    name, index, statement = edit.code
    function = kernel.module.functions[name]
    statements = (*function.statements[:index], statement, *function.statements[index + 1 :])
    functions = {**kernel.module.functions, name: function._replace(statements=statements)}
    return PtxKernel(kernel.module._replace(functions=functions), kernel.name)


def ptx_edits(kernel: PtxKernel, reached: frozenset[int] | None) -> Iterator[Edit]:
    """The edits of the statements that a launch reaches, by their lines; None: of all."""
    for name, function in kernel.module.functions.items():
        for index, statement in enumerate(function.statements):
            if reached is None or statement.line in reached:
                yield from _of_statement(name, function, index, statement)


def _of_statement(name: str, function: Function, index: int, statement: Statement) -> Iterator[Edit]:
    if statement.root in ("bra", "ret", "exit", "call") and statement.guard is None:
        return
    weight = next((at for at, roots in enumerate(_WEIGHTS) if statement.root in roots), len(_WEIGHTS))
    seen = {_text(statement)}
    for cost, kind, new in _others(function, index, statement):
        text = _text(new)
        if text not in seen:
            seen.add(text)
            yield Edit(
                KIND * cost + weight, statement.line, statement.text, text, kind, (name, index, new._replace(text=text))
            )


def _others(function: Function, index: int, statement: Statement) -> Iterator[tuple[int, str, Statement]]:
    """Other statements with how far they are, and what is other in them."""
    opcode, operands = statement.opcode, statement.operands
    for new in opcodes_near(opcode):
        root, *modifiers = new.split(".")
        yield 0, "opcode", statement._replace(root=root, modifiers=tuple(modifiers))
    if statement.guard is not None:
        guard = statement.guard
        yield 0, "predicate", statement._replace(guard=Guard(guard.register, not guard.negated))
    if statement.root in _ORDERS:
        for order in swaps(operands[1:]):
            yield 0, "order of operands", statement._replace(operands=(operands[0], *order))
    for place in range(len(operands)):
        for cost, kind, operand in _other_operands(function, index, operands[place]):
            changed = (*operands[:place], operand, *operands[place + 1 :])
            yield cost, kind, statement._replace(operands=changed)


def _other_operands(function: Function, index: int, operand: Operand) -> Iterator[tuple[int, str, Any]]:
    """Operands with one part that is other."""
    if isinstance(operand, Number):
        for new in () if operand.kind else numbers_near(operand.value):
            yield 1, "number", Number(new)
    elif isinstance(operand, Register):
        for cost, register in _registers(function, index, operand.name):
            yield cost, "register", Register(register)
    elif isinstance(operand, Symbol):
        for new in numbers_near(operand.offset):
            yield 1, "number", operand._replace(offset=new)
    elif isinstance(operand, Address):
        yield from _other_addresses(function, index, operand)
    elif is_braced(operand):
        for order in swaps(operand):
            yield 1, "order of operands", tuple(order)
        for place, part in enumerate(operand):
            for cost, kind, new in _other_operands(function, index, part):
                yield cost, kind, (*operand[:place], new, *operand[place + 1 :])


def _other_addresses(function: Function, index: int, operand: Address) -> Iterator[tuple[int, str, Address]]:
    offsets = dict.fromkeys(
        one.offset for other in function.statements for one in other.operands
        if isinstance(one, Address) and one.base == operand.base
    )  # fmt: skip
    for new in numbers_near(operand.offset, offsets):
        yield 0 if new == 0 else 1, "number", operand._replace(offset=new)
    if isinstance(operand.base, Register):
        for cost, register in _registers(function, index, operand.base.name):
            yield cost, "register", operand._replace(base=Register(register))
    for place, part in enumerate(operand.more):
        for cost, kind, new in _other_operands(function, index, part):
            yield cost, kind, operand._replace(more=(*operand.more[:place], new, *operand.more[place + 1 :]))


def _registers(function: Function, index: int, name: str) -> Iterator[tuple[int, str]]:
    """Registers of the same type: of the next numbers, and of the statements nearby."""
    kind = function.registers.get(name)
    if kind is None:
        return
    found = re.fullmatch(r"(.*?)(\d+)", name)
    near = [f"{found[1]}{whole(found[2], 'a register') + step}" for step in _NEAR] if found else []
    window = function.statements[max(0, index - _WINDOW) : index + _WINDOW]
    far = [one for statement in window for one in _names(statement.operands)]
    for cost, some in ((1, near), (2, far)):
        for one in dict.fromkeys(some):
            if one != name and function.registers.get(one) == kind:
                yield cost, one


def _names(operands: Sequence[Any]) -> Iterator[str]:
    for one in operands:
        if isinstance(one, Register):
            yield one.name
        elif isinstance(one, Address):
            yield from _names((one.base, *one.more))
        elif isinstance(one, Pair):
            yield from _names((one.first, one.second))
        elif isinstance(one, Negated):
            yield from _names((one.operand,))
        elif is_braced(one):
            yield from _names(one)


def _text(statement: Statement) -> str:
    """A statement as PTX has it."""
    guard = statement.guard
    before = "" if guard is None else f"@{'!' if guard.negated else ''}{guard.register} "
    operands = ", ".join(map(_operand, statement.operands))
    return f"{before}{statement.opcode}{' ' if operands else ''}{operands}"


def _operand(operand: Any) -> str:
    """An operand as PTX has it."""
    if isinstance(operand, Register):
        return operand.name
    if isinstance(operand, Number):
        return _number(operand)
    if isinstance(operand, Symbol):
        return operand.name + (f"+{operand.offset}" if operand.offset else "")
    if isinstance(operand, Address):
        base = "" if operand.base is None else _operand(operand.base)
        inner = f"{base}{'+' if base else ''}{operand.offset}" if operand.offset or not base else base
        return f"[{', '.join([inner, *map(_operand, operand.more)])}]"
    if isinstance(operand, Negated):
        return f"!{_operand(operand.operand)}"
    if isinstance(operand, Pair):
        return f"{_operand(operand.first)}|{_operand(operand.second)}"
    return f"{{{', '.join(map(_operand, operand))}}}"


def _number(number: Number) -> str:
    if number.kind == "f32":
        return f"0f{number.value:08X}"
    return f"0d{number.value:016X}" if number.kind else str(number.value)
