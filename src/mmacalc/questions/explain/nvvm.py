"""Calls of clang's builtins and of LLVM's intrinsics for NVIDIA's matrix instructions, explained: see `explain`.

The arguments of a call are put in the order of PTX's operands, and explained as those are. The layouts, the kind, the
CTA group and the packing, which PTX has in the name, are constants of the call.

Source: the declarations of LLVM 22.1.8 (IntrinsicsNVVM.td) and clang 22.1.8 (BuiltinsNVPTX.td, NVPTX.cpp); a test
compares the operands of every intrinsic with what llc 22.1.8 makes of its arguments.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ...base.errors import Error, did_you_mean, plural
from ...compiler.builtins import meant, plain_name
from ...compiler.c_text import LONGEST, calls, constant
from ...model.tensor_memory import TensorMemoryMove
from . import ptx, tensor_memory
from .answer import MANAGEMENT, ExplainedLine, ExplainedOperand, purpose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...catalog import Entry
    from ...compiler.c_text import Call
    from ...model import Instruction, Product

__all__ = ["function_calls", "function_line", "has_function"]

_NAME = re.compile(
    r"__(?:[hibd]mma_m|mma_(?:bf16_|tf32_)?m)\d\w*|llvm\.nvvm\.(?:w?mma|ldmatrix|stmatrix|wgmma|tcgen05)\.[\w.]+"
)
_LAST = re.compile(r"[%@][\w.$-]+|-?\d\S*|true|false|undef|poison|zeroinitializer")
LLVM = "llvm.nvvm."
RESULT = "the result"
LAYOUTS = (("row", "row"), ("row", "col"), ("col", "row"), ("col", "col"))  # clang's 0 to 3
KINDS = ("f16", "tf32", "f8f6f4", "i8")
USES = ("discard", "lastuse", "fill", "use")  # of the collector buffer
SHIFTED = "its rows moved down by one (ashift)"
LEADING = "stride of rows or columns, in elements"


class _Arguments:
    """The arguments of a call, taken one after another, and the constants that choose the instruction."""

    def __init__(self, texts: Sequence[str], llvm: bool) -> None:
        self.texts, self.llvm, self.at, self.problem = tuple(texts), llvm, 0, ""

    def take(self, count: int = 1) -> tuple[str, ...]:
        """The next arguments, without their types."""
        self.at += count
        return self.texts[self.at - count : self.at]

    def one(self) -> str:
        """The next argument; "" after the last."""
        return (*self.take(), "")[0]

    def chosen(self, what: str, values: Sequence[object]) -> object:
        """Which of some values the next argument chooses; the first where the text does not say it."""
        text = self.one()
        try:
            number = constant(text, self.llvm)
        except Error as refused:
            self.problem = self.problem or f"{what}: {refused}"
            return values[0]
        if number is None:
            spoken = f"the value of {what}, '{text}', is not in the text; it is explained for {values[0]}"
            self.problem = self.problem or (spoken if text else "")
            return values[0]
        if not 0 <= number < len(values) or values[number] is None:
            known = ", ".join([f"{at} ({value})" for at, value in enumerate(values) if value is not None])
            self.problem = self.problem or f"{what} is {number}; it takes {known}"
            return next(value for value in values if value is not None)
        return values[number]


def function_calls(text: str) -> list[Call]:
    """The calls of NVIDIA's matrix functions in C++ or LLVM IR.

    >>> function_calls("__hmma_m16n16k16_mma_f32f32(d, a, b, c, 1, 0);")[0].arguments
    ('d', 'a', 'b', 'c', '1', '0')
    """
    return calls(text, _NAME.fullmatch) if _NAME.search(text) else []


@lru_cache(maxsize=64)
def _known(arch: str) -> Mapping[str, list[Instruction]]:
    return {name: [inst for inst, _, _ in found] for name, found in meant(arch).items()}


def has_function(known: Entry, name: str) -> bool:
    """Whether a target has a builtin or intrinsic, or the instruction around products that it is."""
    if what := _around(name):
        return any(one.startswith(what.partition(".")[0]) for one in (*known.names, *known.tensor_memory_names))
    return plain_name(name) in _known(known.architecture.name)


def _around(name: str) -> str:
    """The PTX instruction, of those that order, wait or allocate, that an intrinsic is; "" if it is none of these."""
    own = plain_name(name).removeprefix(LLVM)
    words = own.replace("relinq.alloc.permit", "relinquish_alloc_permit").replace("wait.", "wait::")
    words = words.replace("fence.before.thread.sync", "fence::before_thread_sync")
    words = words.replace("fence.after.thread.sync", "fence::after_thread_sync")
    found = ".".join(words.split(".")[:2])
    return found if found in MANAGEMENT else ""


def function_line(known: Entry, product: Product | None, call: Call) -> ExplainedLine:
    """The explanation of one call."""
    name, number = plain_name(call.name), call.number
    if what := _around(name):
        roles = ("destination", "number of columns") if what.endswith(".alloc") else ("argument",) * 3
        operands = [ExplainedOperand(role, text) for role, text in zip(roles, _plain(call))]
        return ExplainedLine(number, call.text, "builtin", operands=tuple(operands), purpose=purpose(what))
    own = _known(known.architecture.name)
    if name not in own:
        title = known.architecture.title
        problem = f"{title} has no matrix builtin '{name}'.{did_you_mean(name, list(own))}"
        return ExplainedLine(number, call.text, "builtin", problem=problem)
    llvm = name.startswith(LLVM)
    given = _Arguments(_plain(call), llvm)
    reader = _tensor_memory if name.startswith(f"{LLVM}tcgen05") else _declared if llvm else _of_clang
    inst, words, spoken, remarks = reader(name, own[name], given)
    if not given.texts:
        return ptx.instruction_line(inst, product, number, call.text, [], "builtin")
    line = ptx.instruction_line(inst, product, number, call.text, [word for word in words if word], "builtin")
    problem = given.problem or line.problem
    if given.at != len(given.texts):
        problem = f"it takes {plural(given.at, 'argument')}; got {len(given.texts)}"
    operands = [
        _changed(one, spoken.get(one.text, one.text), remarks.get(one.role.removeprefix("descriptor of ")[:1], ()))
        for one in line.operands
    ]
    operands += [ExplainedOperand(LEADING, text) for text in [spoken.get(LEADING, "")] if text]
    return ExplainedLine(**{**vars(line), "operands": tuple(operands), "problem": problem})


def _changed(operand: ExplainedOperand, text: str, remarks: tuple[str, ...]) -> ExplainedOperand:
    return ExplainedOperand(**{**vars(operand), "text": text, "remarks": (*operand.remarks, *remarks)})


def _plain(call: Call) -> tuple[str, ...]:
    """The arguments; those of LLVM IR without their types and attributes. Commas in <...> are those of a vector."""
    if not call.name.startswith(LLVM):
        return call.arguments
    parts: list[str] = []
    for text in call.readings[-1]:
        if parts and parts[-1].count("<") > parts[-1].count(">"):
            parts[-1] = f"{parts[-1]}, {text}"[:LONGEST]
        else:
            parts.append(text)
    last = [(text, text.rpartition(" ")[2]) for text in parts]
    return tuple([word if _LAST.fullmatch(word) else text for text, word in last])


_Read = tuple["Instruction", list[str], dict[str, str], dict[str, tuple[str, ...]]]


def _list(registers: Sequence[str]) -> str:
    return f"{{{', '.join(registers)}}}" if registers else ""


def _result(count: int, spoken: dict[str, str]) -> str:
    """The registers of what a function returns, as an operand."""
    made = _list([f"register {at}" for at in range(count)])
    spoken[made] = RESULT
    return made


def _pointed(text: str, count: int, spoken: dict[str, str]) -> str:
    """What a pointer, or a vector, has of each register."""
    name = text if re.fullmatch(r"[\w.>%-]+", text) else f"({text})"
    made = _list([f"{name}[{at}]" for at in range(count)]) if text and "," not in text else ""
    spoken[made] = text
    return made or text


def _of_clang(name: str, candidates: list[Instruction], given: _Arguments) -> _Read:
    """(d, a, b, c, layouts, satfinite), (destination, source, stride, layout)."""
    inst, spoken = candidates[0], dict[str, str]()
    if "_mma_" in name.removeprefix("__mma"):
        texts = [given.one() for _ in "DABC"]
        having = [layouts if any(one.layouts == layouts for one in candidates) else None for layouts in LAYOUTS]
        layouts = given.chosen("the layouts", having) if len(given.texts) > 4 else next(filter(None, having))
        own = [one for one in candidates if one.layouts == layouts]
        finite = given.chosen("satfinite", (False, True)) if not name.startswith("__bmma") else False
        fits = [one for one in own if ("satfinite" in one.name) == finite]
        if not fits:
            given.problem = given.problem or f"PTX ISA has no {own[0].name} with satfinite"
        inst = (fits or own)[0]
        return inst, [_pointed(text, _count(inst, role), spoken) for role, text in zip("DABC", texts)], spoken, {}
    target, source, stride = given.one(), given.one(), given.one()
    spoken[LEADING] = stride
    layout = given.chosen("the layout", ("row", "col"))
    inst = next((one for one in candidates if one.layouts == (layout,)), inst)
    role = inst.register_operands[0]
    if "_st_" in name:
        return inst, [f"[{target}]", _pointed(source, _count(inst, role), spoken)], spoken, {}
    return inst, [_pointed(target, _count(inst, role), spoken), f"[{source}]"], spoken, {}


def _declared(name: str, candidates: list[Instruction], given: _Arguments) -> _Read:
    """LLVM's mma, wmma, ldmatrix and stmatrix: a register is an argument; D is the result."""
    inst, spoken, words = candidates[0], dict[str, str](), list[str]()
    if "move" in inst.features:
        role = next(role for role in inst.register_operands if role != "P")
        words = [f"[{given.one()}]"]
        if "stmatrix" in name or ".store." in name:
            words.append(_list(given.take(_count(inst, role))))
        else:
            words.insert(0, _result(_count(inst, role), spoken))
        if "stride" in name.split("."):
            spoken[LEADING] = given.one()
        return inst, words, spoken, {}
    words = [_result(_count(inst, "D"), spoken), *[_list(given.take(_count(inst, role))) for role in "ABC"]]
    if inst.sparse:
        words += [_list(given.take()), given.one()]
    for _ in ("SA", "SB") if inst.scaled else ():
        words += [_list(given.take()), _list(given.take(2))]
    return inst, words, spoken, {}


def _count(inst: Instruction, role: str) -> int:
    return ptx.register_count(inst, role)


def _tensor_memory(name: str, candidates: list[Instruction], given: _Arguments) -> _Read:
    parts, inst, spoken = name.split("."), candidates[0], dict[str, str]()
    if parts[3] in ("ld", "st"):
        return _move(parts, candidates, given)
    if parts[3] != "mma":
        words = [f"[{given.one()}]"]
        return inst, [*words, given.one()] if parts[3] == "cp" else words, spoken, {}
    words = [f"[{given.one()}]", f"[{given.one()}]" if "tensor" in parts else given.one(), given.one()]
    descriptor, condition = given.one(), given.one()
    words += [*[f"[{given.one()}]" for _ in range(inst.sparse)], descriptor]
    words += [f"[{given.one()}]" for _ in range(2 * inst.scaled)]
    divided = given.one() if "scale_d" in parts else ""
    lanes = given.one() if "disable_output_lane" in parts else ""
    zero = given.one() if "zero_col_mask" in parts else ""
    words += [_pointed(lanes, 8 if parts[-1] == "cg2" or "cg2" in parts else 4, spoken), condition, divided or zero]
    group, kind = next((part[2] for part in parts if part.startswith("cg")), ""), ""
    if "block_scale" not in parts:
        kind = str(given.chosen("the kind", [one if _of(candidates, kind=one) else None for one in KINDS]))
    if "ws" in parts:
        group, buffer, use = "1", given.chosen("the buffer of B", range(4)), given.chosen("the collector of B", USES)
        remarks: dict[str, tuple[str, ...]] = {"B": (f"collector::b{buffer}::{use}",)}
    else:
        group = group or str(given.chosen("the CTA group", (None, 1, 2)))
        remarks = {"A": (f"collector::a::{given.chosen('the collector of A', USES[: 2 if 'ashift' in parts else 4])}",)}
    remarks |= {"A": (*remarks.get("A", ()), SHIFTED)} if "ashift" in parts else {}
    return (_of(candidates, kind, group) or candidates)[0], words, spoken, remarks


def _of(insts: list[Instruction], kind: str = "", group: str = "") -> list[Instruction]:
    """Of products those of a kind and a CTA group."""
    names = [f"kind::{kind}"] * bool(kind) + [f"cta_group::{group}"] * bool(group)
    return [inst for inst in insts if {*names} <= {*inst.name.split(".")}]


def _move(parts: list[str], candidates: list[Instruction], given: _Arguments) -> _Read:
    """(address, offset, packed) and (address, offset, registers, unpacked); only 16x32bx2 has an offset."""
    spoken: dict[str, str] = {}
    address = f"[{given.one()}]"
    offset = [given.one()] if parts[4] == "16x32bx2" else []
    data = given.one() if parts[3] == "st" else ""
    packed = given.chosen("the packing", (False, True))
    inst = next(one for one in candidates if ("pack::16b" in one.name) == packed)
    assert isinstance(inst, TensorMemoryMove)
    count = tensor_memory.moved_registers(inst)
    if parts[3] == "ld":
        return inst, [_result(count, spoken), address, *offset], spoken, {}
    held = data if count == 1 else _pointed(data, count, spoken)
    return inst, [address, *offset, held], spoken, {}
