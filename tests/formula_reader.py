"""Evaluates the formulas of a detail page, and holds them against the operand that they describe."""

import re
from functools import cache

from mmacalc.questions.classic import formulas


@cache
def compiled(expression):
    return compile(expression.replace("floor(", "int("), expression, "eval")


def value(expression, variables):
    """The integer that a formula comes to."""
    return eval(compiled(expression), {"int": int, "__builtins__": {}}, variables)


def places(gpr, lane, variables):
    """The (first register, lane, first bit, last bit) that the GPR and Lane formulas name, one for each copy."""
    register, _, bits = gpr.partition(".[")
    if bits:
        high, low = (
            (value(part, variables) for part in bits.removesuffix("]").split(" : "))
            if " : " in bits
            else (value(part, variables) for part in bits.removesuffix("]").split(":"))
        )
    elif register.startswith("["):
        last, first = (value(part, variables) for part in re.split(r" : |:", register[1:-1]))
        register, (low, high) = str(first), (0, 63)
        assert last == first + 1
    else:
        low, high = 0, 31
    lanes = [value(part, variables) for part in re.split(r", and |, | and ", lane)]
    copies = re.split(r", and |, | and ", register[1:-1]) if " and " in register else [register]
    registers = [value(copy, variables) for copy in copies]
    return [(number, each, low, high) for each in lanes for number in registers]


def evaluate(operand):
    """Assert that both directions of the formulas agree with `locate` and `contents` everywhere."""
    forward, backward = formulas.forward(operand), formulas.backward(operand)
    blocks, rows, columns = operand.shape
    first, second = operand.axes[1:]
    for block in range(blocks):
        for row in range(rows):
            for column in range(columns):
                at = {first: row, second: column, "block": block}
                expected = [(x.register, x.lane, x.lsb, x.lsb + x.width - 1) for x in operand.locate(**at)]
                assert places(forward["GPR"], forward["Lane"], at) == expected, (operand, at)
    for register in range(operand.registers):
        for lane in range(operand.lanes):
            for element in operand.contents(register, lane):
                at = {"lane": lane, "GPR_num": register, "GPR_bits": element.lsb}
                for axis, coordinate in zip((first, second, "block"), element):
                    assert coordinate in span(backward[axis], at), (operand, axis, at)


def span(formula, variables):
    """The values that an inverse formula gives: one, or a run `last through first`."""
    if " through " in formula:
        last, start = formula.split(" through ")
        return range(value(start, variables), value(last, variables) + 1)
    return [value(formula, variables)]
