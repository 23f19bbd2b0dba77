"""The source of a kernel with marks in place of what depends on the instruction, its modifiers and orders in memory.

The page fills them in (page/src/kernel.ts), so that it can show the kernel of any instruction:

    @{A digits}  @{A loads}  @{D stores}     lines: the pattern and digits of an operand, its loads, its stores
    @{A slots}  @{A words}                   elements and registers of an operand
    @{A type}  @{A value}                    the C type of its elements, and of what the builtin takes or returns
    @{A order}                               "row by row" or "column by column"
    @{D outputs}  @{A inputs}                the registers of an operand as constraints of inline assembly
    @{A numbers}  @{next}                    their numbers in the text of inline assembly, and the next number
    @{cbsz field}  @{selector hex}           the value of a modifier; a modifier without a mark is not carried out
    @{neg bit 0}                             a bit of a modifier, 1 if it is left out: whether A (1: B) is signed
    @{list 110 4}  @{end}                    a list to be broken into lines (see `mmacalc.codegen.marks`)
    @{name}  @{kernel}  @{title}  @{wave}  @{builtin}
    @{typedefs}                              the declarations of the types that the builtin takes or returns
"""

from __future__ import annotations

from ..base.errors import Error
from ..base.records import TupleRecord
from ..formats import FORMATS
from . import cuda, hip
from .marks import named
from .source import AS_WORDS, CONSTRAINTS, Request, kernel_name, memory_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..model import Instruction

__all__ = ["Template", "carried", "template"]


class Template(TupleRecord):
    """The source with marks; of HIP the name of the builtin, in which @{kernel} is the kernel's name, and the C types
    in which it takes A, B and C and returns D, each with its declaration, "" where none is needed."""

    source: str
    builtin: str = ""
    values: tuple[tuple[str, str], ...] = ()


def template(instruction: Instruction, wave: int) -> Template:
    """The template of an instruction's kernel.

    Raises:
        Error: no kernel can be generated around the instruction.

    >>> import mmacalc
    >>> found = template(mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16"), 64)
    >>> found.builtin, [line.strip() for line in found.source.splitlines() if "@{D" in line][2:]
    ('mfma_f32_16x16x16f16', ['@{D digits}', '@{D stores}'])
    """
    family = instruction.architecture.family
    if {"wgmma", "wmma"} & set(instruction.features):
        raise Error(f"the loads of {instruction.name} do not follow from layouts of registers alone")
    family.require("generate", instruction.architecture.title)
    fields = instruction.resolved({})
    request = Request(instruction, wave, fields, "row", "col", False, family.language)
    if family.language == "cuda":
        return Template(named(cuda.kernel(request)))
    call = hip.reached(instruction, wave)
    builtin = call.builtin.builtin.removeprefix(hip.PREFIX).replace(kernel_name(instruction), "@{kernel}")
    return Template(named(hip.source(request, call)), builtin, tuple(hip.values(call.builtin).values()))


def carried(language: str) -> Mapping[str, tuple[str, str, str]]:
    """How kernels carry the elements of each format: the C type, and how inline PTX takes registers, as a constraint
    of a member of the union; "" stands for all formats that are not listed.

    >>> carried("cuda")["f16"], carried("cuda")["f64"]
    (('unsigned short', 'r', 'word'), ('double', 'd', 'element'))
    """
    every = {name: (memory_type(name, language), *CONSTRAINTS.get(name, AS_WORDS)) for name in ("", *FORMATS)}
    return {name: each for name, each in every.items() if name == "" or each != every[""]}
