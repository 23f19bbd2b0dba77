"""Compiles a function of PTX to steps: one closure for each statement, over arrays of threads.

Functions that are called are put in place of the call. Everything that is not covered is found here, before anything
runs: `compile_kernel` raises with the line, `uncovered` lists all of it.
"""

from __future__ import annotations

import re
from math import gcd

import numpy as np

from ...base.errors import Error, abbreviated, plural
from ...base.records import Cache
from ...ptx.module import Address, Negated, Number, Pair, Register, Statement, Symbol, Variable, bits_of, is_braced
from ..device.launch import collector_paused
from . import arithmetic, grammar
from .constants import wrong_constant
from .operation import DTYPES
from .program import ASKED, ASKING, Program, Step
from .signatures import fault, operation_kinds, signature
from .warps import in_whole_warps, wants_whole_warps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from ...ptx.module import Function, Module, Operand
    from .machine import Machine
    from .operation import Operation
    from .program import Run
    from .signatures import Kind
    from .threads import Threads

    Array = NDArray[Any]
    Getter = Callable[[Machine, Threads], Array]
    Setter = Callable[[Machine, Threads, Array], None]

__all__ = ["Compiler", "compile_kernel", "function_address", "uncovered"]

_NAME = re.compile(r"[A-Za-z_$%][\w$]*")
FUNCTION_BASE = 0x7C_0000_0000_0000
"""Where functions are in the generic address space."""
DEPTH = 16
"""How deep calls may be nested."""


class _Frame:
    """A function as it is put in place: its register numbers, variables in local memory, and labels."""

    bound: dict[str, int]
    function: Function

    def __init__(self, compiler: Compiler, function: Function, bound: Mapping[str, int]) -> None:
        self.function, self.bound = function, dict(bound)
        self.registers: dict[str, int] = {}
        self.compiler = compiler
        for variable in function.variables:
            if variable.space in ("local", "param"):
                self.bound[variable.name] = compiler.reserve_local(variable)

    def register(self, name: str) -> int:
        number = self.registers.get(name)
        if number is None:
            kind = self.function.registers[name]
            bits = bits_of(kind)
            # 128 bits are held as a complex number, which NumPy copies as it is.
            dtype = np.dtype(bool if kind == "pred" else "c16" if bits == 128 else f"u{bits // 8}")
            number = self.registers[name] = len(self.compiler.program.registers)
            self.compiler.program.registers.append(dtype)
            self.compiler.program.names.append(name.partition("@")[0])
        return number


class _Operands(tuple["Operand", ...]):
    """The operands of a statement, which note what is looked at while it is compiled: one that nothing reads would be
    ignored in silence."""

    def __init__(self, given: tuple[Operand, ...]) -> None:
        self._read: set[int] = set()

    def __getitem__(self, place: Any) -> Any:
        self._read.update(range(len(self))[place] if isinstance(place, slice) else [range(len(self))[place]])
        return super().__getitem__(place)

    def __iter__(self) -> Iterator[Operand]:
        for place in range(len(self)):
            yield self[place]

    def unread(self) -> int | None:
        """The first operand that was not looked at; None if all were."""
        return next((place for place in range(len(self)) if place not in self._read), None)


class Compiler:
    """Turns statements into steps. Builders of other modules (`statements`) use its operands."""

    module: Module
    program: Program
    frame: _Frame
    prefix: str

    def __init__(self, module: Module, function: Function) -> None:
        from .statements import BUILDERS

        self.builders = BUILDERS
        self.module, self.program = module, Program(module, function)
        self.symbols: dict[str, Callable[[Machine], int]] = {}
        self.frame = _Frame.__new__(_Frame)
        self.problems: list[tuple[Statement, str]] = []
        self.sizes: set[int] = set()
        self.global_sizes: set[int] = set()
        self._pending: list[tuple[Step, Statement, _Frame, str]] = []
        self._labels: dict[str, int] = {}
        self._calls = 0
        self._taken: frozenset[str] | None = None
        self.targets: dict[Step, tuple[str, ...]] = {}

    # --- layout ---

    def reserve_local(self, variable: Variable) -> int:
        start = -(-self.program.local_size // variable.align) * variable.align
        self.program.local_size = start + variable.size
        return start

    def _reached(self) -> list[Function]:
        """The kernel's function and those that it calls, directly or not."""
        found = {self.program.name: self.program.function}
        for function in (left := [self.program.function]):
            for statement in function.statements:
                if statement.root == "call":
                    for operand in statement.operands:
                        other = self.module.functions.get(operand.name) if isinstance(operand, Symbol) else None
                        if other is not None and other.name not in found:
                            found[other.name] = other
                            left.append(other)
        return [*found.values()]

    def _shared_variables(self, functions: list[Function]) -> None:
        """Where the shared variables are that the functions have or name, as ptxas places them: no others."""
        program, dynamic = self.program, []
        words = {word for function in functions for statement in function.statements
                 for word in _NAME.findall(statement.text)}  # fmt: skip
        named = [variable for name, variable in self.module.variables.items() if name in words]
        variables = [*named, *[v for function in functions for v in function.variables]]
        for variable in variables:
            if variable.space != "shared" or variable.name in program.shared:
                continue
            if not variable.size:
                dynamic.append(variable)
                continue
            start = -(-program.shared_static // variable.align) * variable.align
            program.shared[variable.name] = start
            program.shared_static = start + variable.size
        align = max([variable.align for variable in dynamic], default=16)
        program.dynamic = -(-program.shared_static // align) * align
        program.shared.update({variable.name: program.dynamic for variable in dynamic})

    # --- all statements ---

    def compiled(self) -> Program:
        """The program; what is not covered is in `problems`."""
        program = self.program
        self._shared_variables(self._reached())
        self._flatten(self.program.function, {}, "", 0)
        steps = self.program.steps
        for step, statement, frame, prefix in self._pending:
            self.frame, self.prefix = frame, prefix
            try:
                self._build(step, statement)
            except Error as error:
                self.problems.append((statement, str(error)))
            except (AttributeError, LookupError, TypeError, ValueError) as error:  # of operands that no opcode has
                self.problems.append((statement, f"{statement.opcode} does not take these operands ({error})"))
        program.fed = _feeding(steps, program.watched)
        for step in steps:
            if step.statement.root != "wgmma":
                step.watched = (step.reads | step.writes) & program.watched | step.writes & program.fed
        end = Step(len(steps), Statement(0, None, "exit", (), (), None, "exit"))
        self.builders["exit"](self, end.statement, end)
        steps.append(end)
        self.program.granule = gcd(4, *self.sizes) if self.sizes else 4
        self.program.global_granule = gcd(*self.global_sizes) or 16
        return self.program

    def _flatten(self, function: Function, bound: Mapping[str, int], prefix: str, depth: int) -> None:
        if depth > DEPTH:
            raise Error(f"calls of {function.name} are nested deeper than {DEPTH}; recursion is not covered")
        frame = _Frame(self, function, bound)
        places = {}
        for index in range(len(function.statements) + 1):
            places[index] = len(self.program.steps)
            if index == len(function.statements):
                break
            statement = function.statements[index]
            if statement.root == "call":
                self._call(statement, frame, prefix, depth)
            else:
                self._append(statement, frame, prefix)
        for label, at in function.labels.items():
            self._labels[prefix + label] = places[at]
        self._labels[f"{prefix}return"] = places[len(function.statements)]

    def _call(self, statement: Statement, frame: _Frame, prefix: str, depth: int) -> None:
        operands = list(statement.operands)
        results = operands.pop(0) if operands and is_braced(operands[0]) else ()
        callee = operands.pop(0)
        arguments = operands.pop(0) if operands and is_braced(operands[0]) else ()
        name = callee.name if isinstance(callee, Symbol) else ""
        function = self.module.functions.get(name)
        if isinstance(callee, Register):
            self._call_register(statement, frame, prefix, depth, (*results, *arguments))
        elif function is None or function.external:
            self._append(statement, frame, prefix)
        elif bound := self._bound(statement, frame, function, (*results, *arguments)):
            self._calls += 1
            inner = f"{prefix}{name}#{self._calls}."
            if statement.guard is not None:  # around the body of a call with a predicate
                self._append(statement._replace(root="bra", operands=(Symbol("return"),)), frame, inner)
            self._flatten(function, bound[0], inner, depth + 1)

    def _append(self, statement: Statement, frame: _Frame, prefix: str) -> Step:
        """A step that is compiled when all labels are known."""
        step = Step(len(self.program.steps), statement)
        self.program.steps.append(step)
        self._pending.append((step, statement, frame, prefix))
        return step

    def _bound(
        self, statement: Statement, frame: _Frame, function: Function, actual: tuple[Operand, ...]
    ) -> tuple[dict[str, int]] | None:
        """Where the parameters of a function lie that a call names; None where that is not covered."""
        bound = {}
        for variable, given in zip((*function.results, *function.parameters), actual):
            if variable.space == "reg" or not isinstance(given, Symbol):
                self.problems.append((statement, f"{function.name}: parameters in registers are not covered"))
                return None
            if given.name not in frame.bound:
                self.problems.append((statement, f"{frame.function.name} declares no parameter {given.name}"))
                return None
            bound[variable.name] = frame.bound[given.name]
        return (bound,)

    def _call_register(
        self, statement: Statement, frame: _Frame, prefix: str, depth: int, actual: tuple[Operand, ...]
    ) -> None:
        """A call through a register (9.7.12.5): the bodies of all functions that it may mean, one after the other.

        These are those of its .calltargets, or those whose address the module takes and whose parameters fit.
        """
        last = statement.operands[-1]
        named = frame.function.tables.get(last.name, ()) if isinstance(last, Symbol) else ()
        sizes = {variable.name: variable.size for variable in frame.function.variables}
        given = tuple([sizes.get(one.name, 0) for one in actual if isinstance(one, Symbol)])
        candidates = [
            function for name, function in self.module.functions.items()
            if not function.external and not function.entry and (name in named if named else name in self._addressed())
            and tuple([one.size for one in (*function.results, *function.parameters)]) == given
        ]  # fmt: skip
        self._calls += 1
        outer = f"{prefix}call#{self._calls}."
        dispatch = self._append(statement, frame, outer)
        self.targets[dispatch] = tuple([function.name for function in candidates])
        for function in candidates:
            bound = self._bound(statement, frame, function, actual)
            if bound is None:
                return
            inner = f"{outer}{function.name}."
            self._labels[inner[:-1]] = len(self.program.steps)
            self._flatten(function, bound[0], inner, depth + 1)
            self._append(statement._replace(root="bra", guard=None, operands=(Symbol("after"),)), frame, outer)
        self._labels[f"{outer}after"] = len(self.program.steps)

    def _addressed(self) -> frozenset[str]:
        """The functions whose addresses the module takes: by mov, or in an initialiser."""
        if self._taken is None:
            names = {pointer[2].name for variable in self.module.variables.values() for pointer in variable.pointers}
            for function in self.module.functions.values():
                for one in function.statements:
                    names |= {operand.name for operand in one.operands if isinstance(operand, Symbol)} if (
                        one.root == "mov") else set()  # fmt: skip
            self._taken = frozenset(names & self.module.functions.keys())
        return self._taken

    def _build(self, step: Step, statement: Statement) -> None:
        self.accessed: tuple[set[int], set[int]] = (set(), set())
        if statement.guard is not None:
            own = self.frame.function.registers.get(statement.guard.register)
            if own != "pred":
                name = statement.guard.register.partition("@")[0]
                raise Error(f"{statement.opcode} is guarded by {name}, which is a register of .{own}, not of .pred")
            negated = statement.guard.negated != (statement.root == "bra" and statement.text.startswith("@") and
                                                  ".call" in statement.text)  # fmt: skip
            step.guard = self.frame.register(statement.guard.register), negated
        if not grammar.has(self.program.target, statement.root, statement.modifiers):
            needed = grammar.needed(statement.root, statement.modifiers)
            raise Error(f"{statement.opcode} needs {needed}; the module's .target is {self.program.target}")
        builder = self.builders.get(statement.root)
        if builder is not None:
            kinds = signature(statement.root, statement.modifiers)
            if kinds is None:
                raise Error(f"{statement.opcode} is not covered")
            self.check(kinds, statement)
            given = _Operands(statement.operands)
            builder(self, statement._replace(operands=given), step)
            if wants_whole_warps(statement):
                in_whole_warps(step)
            left = given.unread()
            if left is not None and kinds and kinds[0].types == ("*",):
                raise Error(
                    f"{statement.opcode} has no operand {left + 1} here: {_shown(given[left])} would be ignored"
                )
        elif statement.root in arithmetic.roots():
            self._arithmetic(statement, step)
        else:
            raise Error(f"{statement.opcode} is not covered")
        step.reads, step.writes = (frozenset(registers) for registers in self.accessed)

    def check(self, kinds: tuple[Kind, ...], statement: Statement) -> None:
        """Refuse operands of other kinds, types or numbers than the opcode has."""
        if wrong := fault(kinds, statement, self.frame.function.registers.get):
            raise Error(wrong)
        if wrong := wrong_constant(statement.root, statement.modifiers, statement.operands):
            raise Error(wrong)

    # --- operands ---

    def label(self, operand: Operand) -> int:
        """The step of a label."""
        if isinstance(operand, Symbol) and self.prefix + operand.name in self._labels:
            return self._labels[self.prefix + operand.name]
        raise Error(f"{operand} is not a label of {self.frame.function.name}")

    def repeats(self, step: Step, asked: frozenset[str] = ASKED) -> bool:
        """Whether a statement stands in a loop that does no more than ask again."""
        steps, at = self.program.steps, step.index
        for after in steps[at + 1 : at + ASKING]:
            name = after.statement.operands[0] if after.statement.root == "bra" else None
            if isinstance(name, Symbol) and at - ASKING < self._labels.get(self.prefix + name.name, at + 1) <= at:
                return True
            if after.statement.root not in asked:
                return False
        return False

    def number(self, operand: Operand) -> int:
        """An operand that must be an integer constant."""
        if isinstance(operand, Number) and not operand.kind:
            return operand.value
        raise Error(f"{_shown(operand)} must be a constant")

    def source(self, operand: Operand, type_: str) -> Getter:
        """Reads an operand as values of a type."""
        if isinstance(operand, Register):
            return self._register(operand.name, type_)
        if isinstance(operand, Number):
            constant = _constant(operand, type_)
            return lambda machine, threads: constant
        if isinstance(operand, Negated) and type_ == "pred":
            inner = self.source(operand.operand, "pred")
            return lambda machine, threads: ~inner(machine, threads)
        if isinstance(operand, Symbol):
            return self._address_of(operand, type_)
        if is_braced(operand):
            return self._joined(operand, type_)
        raise Error(f"{_shown(operand)} cannot be read as .{type_}")

    def source_as_wide(self, operand: Operand) -> Getter:
        """Reads an address of 32 or 64 bits as 64."""
        registers = self.frame.function.registers
        bits = bits_of(registers[operand.name]) if isinstance(operand, Register) and operand.name in registers else 64
        source = self.source(operand, f"u{bits}")
        return lambda machine, threads: source(machine, threads).astype(np.uint64)

    def _register(self, name: str, type_: str) -> Getter:
        function = self.frame.function
        dtype = DTYPES.get(type_)
        if dtype is None:
            raise Error(f"the type .{type_} is not covered")
        if name not in function.registers:
            from .statements import SPECIAL

            if name not in SPECIAL:
                raise Error(f"the register {name} is not declared, or a special register that is not covered")
            wide = np.dtype(f"u{dtype.itemsize}")
            return lambda machine, threads: machine.special[name][threads.use].astype(wide).view(dtype)
        index = self.frame.register(name)
        self.accessed[0].add(index)
        own = self.program.registers[index]
        if own == dtype:
            return lambda machine, threads: machine.register(index)[threads.use]
        if (own.kind == "b") != (dtype.kind == "b") or own.itemsize < dtype.itemsize:
            raise Error(f"the register {name.partition('@')[0]} of {8 * own.itemsize} bits cannot be read as .{type_}")
        if own.itemsize == dtype.itemsize:
            return lambda machine, threads: machine.register(index)[threads.use].view(dtype)
        narrow = np.dtype(f"u{dtype.itemsize}")
        return lambda machine, threads: machine.register(index)[threads.use].astype(narrow).view(dtype)

    def _joined(self, operands: tuple[Operand, ...], type_: str) -> Getter:
        """{a, b} as one value, the first lowest."""
        bits = _bits_of_part(operands, type_)
        parts = [self.source(operand, f"b{bits}") for operand in operands]
        if type_ == "b128":
            return _pair_of_words(parts)
        dtype = np.dtype(f"u{DTYPES[type_].itemsize}")

        def get(machine: Machine, threads: Threads) -> Array:
            found = dtype.type(0)
            for place, part in enumerate(parts):
                found = found | part(machine, threads).astype(dtype) << dtype.type(bits * place)
            return np.asarray(found).view(DTYPES[type_])

        return get

    def _address_of(self, symbol: Symbol, type_: str) -> Getter:
        """The address of a variable within its space (PTX ISA 9.7.9.8: mov)."""
        dtype = DTYPES[type_]
        place = self._place(symbol.name, 8 * dtype.itemsize)
        unsigned, shared = np.dtype(f"u{dtype.itemsize}"), self._is_shared(symbol.name)

        def get(machine: Machine, threads: Threads) -> Array:
            found = np.array(place(machine) + symbol.offset)
            if shared and machine.launch.cluster_size > 1:
                found = found + machine.window[threads.use]
            return found.astype(unsigned).view(dtype)

        return get

    def _is_shared(self, name: str) -> bool:
        return name not in self.frame.bound and name in self.program.shared

    def _place(self, name: str, bits: int = 64) -> Callable[[Machine], int]:
        if name in self.frame.bound:
            local = self.frame.bound[name]
            return lambda machine: local
        if name in self.program.shared:
            shared = self.program.shared[name]
            return lambda machine: shared
        if name in self.module.variables:
            return lambda machine: machine.launch.addresses[name]
        if name in self.program.parameters:
            start = self.program.parameters[name][0]
            if bits == 32:  # within the space of parameters: cvta.param makes an address of it
                return lambda machine: start
            return lambda machine: machine.launch.parameter_address + start
        if name in self.module.functions:
            place = function_address(self.module, name)
            return lambda machine: place
        raise Error(f"unknown variable or function '{name}'")

    def space_of(self, name: str) -> str:
        """The state space of a variable."""
        if name in self.frame.bound:
            return "local"
        if name in self.program.shared:
            return "shared"
        if name in self.module.variables:
            return self.module.variables[name].space
        return "param"

    def address(self, operand: Operand) -> Getter:
        """The address in brackets, as int64."""
        if not isinstance(operand, Address):
            raise Error(f"{_shown(operand)} must be an address in brackets")
        offset = np.int64(operand.offset)
        if isinstance(operand.base, Register):
            bits = bits_of(self.frame.function.registers.get(operand.base.name, "b64"))
            base = self.source(operand.base, f"b{bits}")
            if bits == 32 and offset:  # 32-bit addresses wrap: nvcc adds what it has subtracted
                return lambda machine, threads: base(machine, threads).astype(np.int64) + offset & np.int64(0xFFFFFFFF)
            return lambda machine, threads: base(machine, threads).astype(np.int64) + offset
        if isinstance(operand.base, Symbol):
            place = self._place(operand.base.name)
            more = offset + operand.base.offset
            if self._is_shared(operand.base.name):
                return lambda machine, threads: place(machine) + more + machine.window[threads.use]
            return lambda machine, threads: np.full(len(threads), place(machine) + more, np.int64)
        return lambda machine, threads: np.full(len(threads), offset, np.int64)

    def sink(self, operand: Operand, type_: str) -> Setter:
        """Writes values of a type to an operand, extended by their sign where the register is wider."""
        if isinstance(operand, Symbol) and operand.name == "_":
            return lambda machine, threads, value: None
        if is_braced(operand):
            return self._parted(operand, type_)
        if not isinstance(operand, Register) or operand.name not in self.frame.function.registers:
            raise Error(f"{_shown(operand)} is not a register that can be written")
        index = self.frame.register(operand.name)
        self.accessed[1].add(index)
        own = self.program.registers[index]

        def put(machine: Machine, threads: Threads, value: Array) -> None:
            fresh = value.base is None
            if own.kind == "b":
                found = value
            elif value.dtype.kind == "b":
                found = value.astype(own)
            elif value.dtype.itemsize == own.itemsize:
                found = value.view(own)
            elif value.dtype.kind == "i":
                found = value.astype(f"i{own.itemsize}").view(own)
            else:
                found = value.view(f"u{value.dtype.itemsize}").astype(own)
            if found.shape != (len(threads),):
                found, fresh = np.broadcast_to(found, (len(threads),)), False
            machine.write(index, threads, found, fresh)

        return put

    def _parted(self, operands: tuple[Operand, ...], type_: str) -> Setter:
        bits = _bits_of_part(operands, type_)
        sinks = [self.sink(operand, f"b{bits}") for operand in operands]
        if type_ == "b128":

            def put_words(machine: Machine, threads: Threads, value: Array) -> None:
                words = np.ascontiguousarray(value).view(np.uint64).reshape(-1, 2)
                for place, sink in enumerate(sinks):
                    sink(machine, threads, words[:, place].copy())

            return put_words
        dtype = np.dtype(f"u{DTYPES[type_].itemsize}")

        def put(machine: Machine, threads: Threads, value: Array) -> None:
            raw = np.broadcast_to(value.view(dtype), (len(threads),))
            for place, sink in enumerate(sinks):
                sink(machine, threads, (raw >> dtype.type(bits * place)).astype(f"u{bits // 8}"))

        return put

    # --- arithmetic ---

    def _arithmetic(self, statement: Statement, step: Step) -> None:
        operation = arithmetic.operation(statement.root, statement.modifiers)
        destinations, *operands = statement.operands or (Symbol("_"),)
        if operation.carry in ("in", "both"):
            operands.append(Register("%carry"))
        operation = _of_three(operation, statement, len(operands), self.program.target)
        carried = operation.carry in ("in", "both")
        self.check(
            operation_kinds(
                statement.root, statement.modifiers, operation.results[: 1 if operation.carry else None],
                operation.sources[: -1 if carried else None],
            ),
            statement,
        )  # fmt: skip
        if len(operands) != len(operation.sources):
            raise Error(f"{statement.opcode} takes {len(operation.sources)} sources; got {len(operands)}")
        sources = []
        for operand, type_ in zip(operands, operation.sources):
            if isinstance(operand, Register) and operand.name == "%carry":
                sources.append(lambda machine, threads: machine.carry[threads.use])
            else:
                sources.append(self.source(operand, type_))
        sinks = self._sinks(destinations, operation)
        step.operation, step.sources, step.sinks = operation, tuple(sources), sinks
        step.run = _arithmetic_run(operation, tuple(sources), sinks)

    def _sinks(self, destinations: Operand, operation: Operation) -> tuple[Setter, ...]:
        if operation.carry in ("out", "both"):
            return self.sink(destinations, operation.results[0]), _put_carry
        if isinstance(destinations, Pair):
            if len(operation.results) != 2:
                raise Error("the instruction has one result; got a pair of destinations")
            first, second = operation.results
            return self.sink(destinations.first, first), self.sink(destinations.second, second)
        return (self.sink(destinations, operation.results[0]),)


def _feeding(steps: list[Step], watched: set[int]) -> set[int]:
    """The registers that mov copies, directly or not, into some registers: ptxas makes one of them."""
    moves = [step for step in steps if step.statement.root == "mov" and step.reads and step.writes]
    found: set[int] = set()
    left = True
    while left and watched:
        left = False
        for step in moves:
            if not step.reads <= found and (not step.writes.isdisjoint(watched) or not step.writes.isdisjoint(found)):
                found |= step.reads
                left = True
    return found - watched


def function_address(module: Module, name: str) -> int:
    """The address of a function: outside of all memory, another one for each."""
    return FUNCTION_BASE + 16 * [*module.functions].index(name)


def _of_three(operation: Operation, statement: Statement, count: int, target: str) -> Operation:
    """min and max of three f32 (9.7.3.11): without .xorsign; .abs alone is theirs."""
    if statement.root not in ("min", "max"):
        return operation
    absolute, signed = ("abs" in statement.modifiers, "xorsign" in statement.modifiers)
    if count == 3 and operation.sources[0] == "f32" and not signed:
        if not grammar.has(target, "add", ("f32x2",)):  # three sources came with these
            raise Error(f"{statement.opcode} with 3 sources needs sm_100 or later; the module's .target is {target}")
        return operation._replace(sources=("f32",) * 3)
    if absolute and not signed:
        raise Error(f"{statement.opcode} takes 3 sources; got {count}")
    return operation


def _pair_of_words(parts: list[Getter]) -> Getter:
    """Two words as one value of 128 bits, the first lowest."""
    if len(parts) != 2:
        raise Error("128 bits are two registers of 64")

    def get(machine: Machine, threads: Threads) -> Array:
        words = [np.broadcast_to(part(machine, threads), (len(threads),)) for part in parts]
        found: Array = np.stack(words, 1).view(np.complex128)[:, 0]
        return found

    return get


def _put_carry(machine: Machine, threads: Threads, value: Array) -> None:
    machine.carry[threads.use] = value


def _arithmetic_run(operation: Operation, sources: tuple[Getter, ...], sinks: tuple[Setter, ...]) -> Run:
    function = operation.function
    if len(operation.results) == 1:
        (sink,) = sinks
        if len(sources) == 1:
            (one,) = sources
            return lambda machine, threads: sink(machine, threads, function(one(machine, threads)))
        if len(sources) == 2:
            one, two = sources
            return lambda machine, threads: sink(
                machine, threads, function(one(machine, threads), two(machine, threads))
            )

    def run(machine: Machine, threads: Threads) -> None:
        found = function(*[source(machine, threads) for source in sources])
        for sink, value in zip(sinks, found if is_braced(found) else (found,)):
            sink(machine, threads, value)

    return run


def _constant(number: Number, type_: str) -> Array:
    """An immediate as a value of a type."""
    dtype = DTYPES.get(type_)
    if dtype is None:
        raise Error(f"the type .{type_} is not covered")
    if dtype.kind == "b":
        return np.array(bool(number.value))
    if number.kind in ("f64", "decimal") and type_ in ("f32", "f16"):
        return np.array(number.value, np.uint64).view(np.float64).astype(dtype)
    if not number.kind and dtype.kind == "f" and type_ != "f16":
        return np.array(float(number.value), dtype)
    raw = np.array(number.value & (1 << 8 * dtype.itemsize) - 1, f"u{dtype.itemsize}")
    return raw.view(dtype)


def _bits_of_part(operands: tuple[Operand, ...], type_: str) -> int:
    """The bits of each of the 2 or 4 (of 8 bits: also 8) parts that a list in braces stands for (9.7.9.2, mov)."""
    bits = 8 * DTYPES[type_].itemsize
    if type_ == "pred" or len(operands) not in (1, 2, 4, 8) or bits // len(operands) < 8:
        raise Error(
            f"a list of {plural(len(operands), 'operand')} in braces cannot stand for one of .{type_}: "
            "it is 2 or 4 parts of 8 bits or more"
        )
    return bits // len(operands)


def _shown(operand: object) -> str:
    if isinstance(operand, (Register, Symbol)):
        return operand.name.partition("@")[0]
    return str(operand)


_known = Cache(8)
"""The programs of the kernels that were launched last, by their module and name; each keeps its module."""


def compile_kernel(module: Module, name: str) -> Program:
    """Compile a kernel; remembered for the next launch.

    Raises:
        Error: a statement is not covered; names the first ones with their lines.
    """

    def compiled() -> Program:
        with collector_paused():
            compiler = Compiler(module, module.functions[name])
            program = compiler.compiled()
        if compiler.problems:
            shown = [f"line {statement.line}: {statement.text}: {why}" for statement, why in compiler.problems]
            raise Error(f"{name} cannot be run: {abbreviated(dict.fromkeys(shown), 4)}")
        return program

    program: Program = _known.get((id(module), name), compiled)
    return program


def uncovered(module: Module) -> Iterator[tuple[Statement, str]]:
    """The statements of all kernels that cannot be run, and why."""
    for function in module.entries:
        compiler = Compiler(module, function)
        compiler.compiled()
        yield from compiler.problems
