"""Decoded instructions of AMD GPUs: what `mmacalc.asm.decoder.decode` yields, for programs that execute code.

    for instruction in decode(code, "gfx942", address):
        if instruction.name == "v_add_f32":
            d, (a, b) = instruction.destinations[0], instruction.sources

Names are LLVM 22's mnemonics of the target without _e32, _e64, _dpp, _sdwa: the same operation has one name in all of
its encodings, but its old and new names differ ("ds_read_b128" of gfx942, "ds_load_b128" of gfx1100).

Operands are in the order of LLVM's assembly. After them come those that the text does not name:

- what is read of the destination: the accumulator of v_fmac_f32, v_dot2c_f32_f16 and v_pk_fmac_f16 with DPP and SDWA
  too, the registers of which v_writelane_b32 and v_cvt_pk_fp8_f32 keep a part, S3 of `s_addk_i32 s3, 5`; it is the last
  of the sources. v_swap_b32 and v_permlane32_swap_b32 have two destinations and read both;
- VCC of v_div_fmas_f32, SCC of s_cselect_b32, s_addc_u32 and s_cbranch_scc0, EXEC of s_and_saveexec_b64, M0 of
  s_movrels_b32 and of loads to LDS; VCC and EXEC that v_cmp and v_cmpx write, SCC that scalar instructions write.

Not listed: EXEC, which every vector instruction reads; the registers of which s_bitset1_b32, s_cmov_b32 and d16 loads
keep a part (`mmacalc.asm.operations` has them, except that of s_cmov_b32); FLAT_SCRATCH and M0 of flat and ds
instructions. v_cmpx writes VCC and EXEC on CDNA, EXEC only on RDNA and CDNA5, where a vop3 form has no destination in
the text.

Memory instructions:

- flat: sources (address, [data]); global and scratch: (vector address or off, [data], scalar address or off). Data is
  the second source of stores and atomics; flat instructions of gfx1250 have a scalar address last if they use one.
- buffer: loads (vector address or off, descriptor, scalar offset), stores and atomics with data first.
- ds: (address, [data0, [data1]]). smem: (base, [register offset]); RDNA3 has null there for an offset of 0. Constant
  offsets are modifiers ("offset", signed;
  "offset0", "offset1" of ds_read2 are as encoded, in elements).
- An operand that LLVM prints as off is RegisterOperand("off", 0, 0).

Modifiers: a name that is missing means 0. Bit masks count sources from bit 0.

- vop3: "neg", "abs" (masks), "clamp", "omod" (1: times 2, 2: times 4, 3: divided by 2), "op_sel" (mask; bit 3 is the
  destination). vop3p: "op_sel", "op_sel_hi" (always there), "neg_lo", "neg_hi", "clamp"; of
  v_fma_mix and v_mad_mix "neg_lo" are the signs, "neg_hi" the absolute values, and "op_sel_hi" chooses f16 over f32.
- dpp16: "dpp_ctrl" (the 9-bit code; always there), "row_mask", "bank_mask" (always there), "bound_ctrl", "fi".
  dpp8: "dpp8" (24 bits; lane n of eight reads lane (dpp8 >> 3 * n & 7); always there), "fi".
- sdwa: "dst_sel", "dst_unused", "src0_sel", "src1_sel" (codes of the ISA guide; those that it has are always there),
  "sext" (mask), and those of vop3.
- sopp, sopk: "simm16" (as encoded, unsigned; always there); branches have "target", the address in bytes.
- memory: "offset", "offset0", "offset1", "gds", "glc", "slc", "dlc", "sc0", "sc1", "nt", "th", "scope", "nv", "lds",
  "offen", "idxen", "tfe", "format", "scale_offset", ...

Of 16-bit operations of RDNA3 and newer, `half` and `bits` of a register say which half is meant, also where bits of
"op_sel" chose it; of CDNA the sources are whole registers, and "op_sel" or "src0_sel" says which part is read. On RDNA4
and CDNA5 "op_sel" also holds what LLVM prints as byte_sel and scale_sel in conversions of 8-bit formats.
"""

from __future__ import annotations

from ..base.records import TupleRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ConstantOperand", "DecodedInstruction", "RegisterOperand"]


class RegisterOperand(TupleRecord):
    """Consecutive 32-bit registers of one file.

    file: "v", "a", "s", "ttmp"; "vcc", "exec", "flat_scratch", "xnack_mask", "flat_scratch_base" (index 1: the high
        half); "m0", "scc", "null"; values of the hardware by their names: "shared_base", "shared_limit",
        "private_base", "private_limit", "pops_exiting_wave_id", "vccz", "execz", "lds_direct"; "off": no register.
    index, count: the first register, and how many (0 of "off").
    half: 1 where a 16-bit operand is the high half of its register (gfx11 and newer), else 0.
    bits: 16 where the operand is one half of a register, else 32 * count.
    """

    file: str
    index: int  # type: ignore[assignment]  # not tuple's method
    count: int  # type: ignore[assignment]
    half: int = 0
    bits: int = 32


class ConstantOperand(TupleRecord):
    """A constant: the pattern that the operation reads, and whether it is a literal.

    bits: an unsigned pattern of `width` bits. An inline constant is that of the operand's type: 1.0 is 0x3c00 of an
        f16 operand, 0x3f800000 of an f32 or 32-bit integer one. A 32-bit literal of a 64-bit operand is extended as
        the hardware does: f64 has it as its high half, signed integers with their sign, others with zeros.
    literal: whether it takes words of its own.
    width: 16, 32 or 64. Packed 16-bit operands have 32 bits. A literal of a 16-bit operand keeps its 32 bits, of which
        the operation reads the lower half.
    """

    bits: int
    literal: bool
    width: int = 32


class DecodedInstruction(TupleRecord):
    """One instruction.

    address, size: in bytes.
    name: the mnemonic without the suffix of its encoding; mnemonic: with it, as llvm-objdump prints it.
    encoding: "sop1", "sop2", "sopk", "sopc", "sopp", "smem", "vop1", "vop2", "vopc", "vop3", "vop3p", "vopd", "ds",
        "flat", "global", "scratch", "buffer" ...; "dpp16", "dpp8" and "sdwa" of vop1, vop2 and vopc, and
        "vop3_dpp16", "vop3_dpp8", "vop3p_dpp16", "vop3p_dpp8".
    destinations, sources: RegisterOperand and ConstantOperand in the order of LLVM's assembly; see the module.
    modifiers: by LLVM's names; see the module.
    second: the other half of a vopd instruction: both halves read their sources before either writes.
    form: the row of the tables that it was decoded with.
    """

    address: int
    size: int
    name: str
    mnemonic: str
    encoding: str
    destinations: tuple[RegisterOperand, ...]
    sources: tuple[RegisterOperand | ConstantOperand, ...]
    modifiers: Mapping[str, int | str]
    second: DecodedInstruction | None = None
    form: object = None
