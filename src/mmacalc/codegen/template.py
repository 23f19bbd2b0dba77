"""The source of a kernel with marks in place of what depends on modifiers and on the orders in memory.

The page fills them in (page/src/kernel.ts), so that it can show the kernel of any instruction:

    @{A digits}  @{A loads}  @{D stores}     lines: the pattern and digits of an operand, its loads, its stores
    @{A slots}  @{A words}                   elements and registers of an operand
    @{A order}                               "row by row" or "column by column"
    @{cbsz field}  @{selector hex}           the value of a modifier
    @{name}  @{kernel}  @{title}  @{wave}  @{builtin}
"""

from __future__ import annotations

from ..errors import Error
from . import cuda, hip
from .source import Request, kernel_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Instruction

__all__ = ["template"]


def template(instruction: Instruction, wave: int) -> tuple[str, str]:
    """The template of an instruction's kernel and the name of its builtin, "" if there is none.

    Raises:
        Error: no kernel can be generated around the instruction.

    >>> import mmacalc
    >>> text, builtin = template(mmacalc.instruction("gfx942", "v_mfma_f32_16x16x16_f16"), 64)
    >>> builtin, [line.strip() for line in text.splitlines() if "@{D" in line][1:]
    ('mfma_f32_16x16x16f16', ['@{D digits}', '@{D stores}'])
    """
    family = instruction.architecture.family
    if {"wgmma", "wmma"} & set(instruction.features):
        raise Error(f"the loads of {instruction.name} do not follow from layouts of registers alone")
    family.require("generate", instruction.architecture.title)
    language = family.language
    builtin = _builtin(instruction, wave) if language == "hip" else ""
    fields = instruction.resolved({})
    request = Request(instruction, wave, fields, "row", "col", False, language, template=True)
    source = {"cuda": cuda, "hip": hip}[language].kernel(request)
    names = {
        "builtin": builtin, "name": instruction.name, "kernel": kernel_name(instruction),
        "title": instruction.architecture.title, "wave": f"wave{wave}",
    }  # fmt: skip
    for mark, text in names.items():
        if text:
            source = source.replace(text, f"@{{{mark}}}")
    return source, builtin


def _builtin(instruction: Instruction, wave: int) -> str:
    return hip.reached(instruction, wave).builtin.builtin.removeprefix("__builtin_amdgcn_")
