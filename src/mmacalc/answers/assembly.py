"""Assembled text: the bytes of every statement, and what each field of its encoding means."""

from __future__ import annotations

from ..asm.assembler import assemble_lines
from ..asm.disassembler import disassemble
from ..asm.reader import named_targets
from ..asm.targets import agreed, own_assembler, target
from ..catalog import entry
from ..records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..asm.fields import Encoding
    from ..asm.forms import InstructionForm

__all__ = ["Assembly", "EncodedField", "Statement", "assembly"]


class EncodedField(Record):
    """One field of an encoded instruction: its bits as the ISA guides number them, its value, and what that means."""

    name: str
    bits: str
    value: int
    meaning: str


class Statement(Record):
    """One statement of a text.

    Attributes:
        target, wave: what it was assembled for. code: its bytes in memory order.
        encoding: how its bits are divided; None for data (.long), and where the fields were not asked for.
        fields: of the encoding, the lowest bits first.
    """

    target: str
    wave: int | None
    code: bytes
    encoding: Encoding | None = None
    fields: tuple[EncodedField, ...] = ()

    @property
    def text(self) -> str:
        """The statement as LLVM disassembles it."""
        return disassemble(self.code, self.target, self.wave)


class Assembly(Record):
    """The statements of a text; architecture: the canonical name, target: the name that was asked for; llvm: the
    version of LLVM whose encodings these are, None where they are iga64's."""

    architecture: str
    target: str
    statements: tuple[Statement, ...]
    llvm: int | None


def assembly(
    text: str, arch: str | None, wave: int | None = None, *, llvm: int | None = None, fields: bool = False
) -> Assembly:
    """Assemble a text, as LLVM does.

    Args:
        text: lines of assembly. arch: the architecture or target; None where the text names it.
        wave: the wave size; the default if left out.
        llvm: the LLVM version whose encodings and rules are meant; the newest if left out.
        fields: whether to explain the fields of every encoding.

    Raises:
        Error: a line is wrong; says where and what would be right.

    >>> found = assembly("v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15]", "gfx942", fields=True)
    >>> found.statements[0].code.hex(), found.statements[0].fields[0].meaning
    ('0080ccd310250204', 'D: the first register; D = a[0:15]')
    """
    arch = agreed(arch, named_targets(text) if arch is None else (), "the text")
    lines = assemble_lines(text, arch, wave, llvm)
    statements = [
        Statement(arch, wave, line.code, *(_explained(line.form, line.values) if fields and line.form else ()))
        for line in lines
    ]
    version = None if own_assembler(arch) else target(arch, wave, llvm).llvm
    return Assembly(entry(arch).architecture.name, arch, tuple(statements), version)


def _explained(form: InstructionForm, values: Mapping[str, int]) -> tuple[Encoding, tuple[EncodedField, ...]]:
    encoding = form.encoding
    found = sorted(encoding.fields.values(), key=lambda field: min(low for _, low in field.pieces))
    return encoding, tuple(
        EncodedField(field.name, field.bits, values[field.name], form.meaning(field, values)) for field in found
    )
