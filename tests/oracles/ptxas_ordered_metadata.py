"""Record what ptxas makes of mma.sp with and without ::ordered_metadata: python ptxas_ordered_metadata.py > TABLE

Each instruction is compiled in a kernel that loads its operands and stores D. A line has the target, the instruction,
and the number of machine instructions, without the NOP behind them: without and with ::ordered_metadata. ptxas 13.0
must be in PATH, and the package and pyelftools importable.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from elftools.elf.elffile import ELFFile

import mmacalc

TARGETS = ("sm_90a", "sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a")
NOP = 0x918  # the low 12 bits of an instruction are its opcode
KERNEL = """.version 9.0
.target {target}
.address_size 64
.visible .entry kernel(.param .u64 p) {{
.reg .u64 %p; .reg .b32 %r<64>; .reg .f32 %f<64>;
ld.param.u64 %p, [p]; cvta.to.global.u64 %p, %p;
{lines}
ret; }}
"""


def kernel(inst: mmacalc.Instruction, name: str, target: str) -> str:
    """A kernel around the instruction under another name: A, B, C and the metadata are loaded, D is stored."""
    loads, texts, register = [], {}, 0
    for operand in ("A", "B", "C", "K", "D"):
        letter, kind = ("f", "f32") if inst.formats.get(operand) == "f32" else ("r", "b32")
        names = [f"%{letter}{register + at}" for at in range(inst.operand(operand).registers)]
        verb = "st.global.{0} [%p+{1}], {2};" if operand == "D" else "ld.global.{0} {2}, [%p+{1}];"
        loads += [verb.format(kind, 4 * (register + at), name) for at, name in enumerate(names)]
        texts[operand] = names[0] if operand == "K" else f"{{{', '.join(names)}}}"
        register += len(names)
    product = f"{name} {texts['D']}, {texts['A']}, {texts['B']}, {texts['C']}, {texts['K']}, 0x0;"
    stores = inst.operand("D").registers
    return KERNEL.format(target=target, lines="\n".join([*loads[:-stores], product, *loads[-stores:]]))


def count(source: str, target: str) -> int:
    """The machine instructions of a kernel."""
    with tempfile.TemporaryDirectory() as folder:
        text, code = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        text.write_text(source)
        subprocess.run(["ptxas", f"-arch={target}", "-o", str(code), str(text)], check=True, capture_output=True)
        with code.open("rb") as stream:
            data = ELFFile(stream).get_section_by_name(".text.kernel").data()
    words = [int.from_bytes(data[at : at + 2], "little") for at in range(0, len(data), 16)]
    return sum(word & 0xFFF != NOP for word in words)


def main() -> None:
    """Write the table."""
    print("target", "instruction", "without", "with", sep="\t")
    for target in TARGETS:
        listed = {inst.name: inst for inst in mmacalc.instructions(target)}
        for name, inst in listed.items():
            ordered = name.replace("mma.sp.", "mma.sp::ordered_metadata.")
            if name != ordered and ordered in listed:
                print(target, name, *[count(kernel(inst, one, target), target) for one in (name, ordered)], sep="\t")


if __name__ == "__main__":
    main()
