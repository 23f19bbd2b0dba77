"""The lines of a listing that no assembler accepts: operands and modifiers of matrix instructions, unknown mnemonics.

Operands are checked by the assembler itself (`mmacalc.asm.assembler`), so of matrix instructions, moves of AccVGPRs and
loads of scales only. A line is accepted if LLVM 22 or LLVM 24 takes it, in the wave size that fits most lines. Lines
whose registers depend on symbols without a value, macro arguments or placeholders of inline assembly are not checked.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..asm.assembler import problems
from ..asm.forms import form_of
from ..asm.reader import AMD_MNEMONICS
from ..asm.tables import instruction_names
from ..asm.targets import LLVM_VERSIONS, target
from ..errors import Error, did_you_mean
from .register_use import is_matrix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..asm.reader import Listing, Statement
    from ..asm.targets import Target

__all__ = ["OTHER_NAMES", "invalid_lines"]

_OPEN = re.compile(r"\[(?=[^][]*\])[^][]*?(?<![\w.])[A-Za-z_.$@]|\\\w|[%$]\d", re.ASCII)
_SUFFIXES = re.compile(r"(_e64_dpp|_e32|_e64|_dpp|_sdwa)$")
# Of the names in LLVM 22.1.8's assembler those that the tables lack and that a target from gfx908 to gfx1251 knows:
# older spellings, and what the decoder leaves out.
OTHER_NAMES = """
    buffer_atomic_csub buffer_atomic_fcmpswap buffer_atomic_fmax buffer_atomic_fmin ds_add_gs_reg_rtn
    ds_direct_load ds_gws_barrier ds_gws_init ds_gws_sema_br ds_gws_sema_p ds_gws_sema_release_all ds_gws_sema_v
    ds_ordered_count ds_param_load ds_sub_gs_reg_rtn flat_atomic_fcmpswap flat_atomic_fmax flat_atomic_fmin
    global_atomic_csub global_atomic_fcmpswap global_atomic_fmax global_atomic_fmin global_load_dword_addtid
    global_store_dword_addtid lds_direct_load lds_param_load s_andn1_saveexec_b32 s_andn1_wrexec_b32
    s_andn2_saveexec_b32 s_andn2_wrexec_b32 s_inst_prefetch s_max_f16 s_max_f32 s_min_f16 s_min_f32
    s_orn1_saveexec_b32 s_orn2_saveexec_b32 tensor_save tensor_stop v_fma_legacy_f32 v_fmac_legacy_f32
    v_mul_lo_i32
    """
_UNTABLED = ("image_", "tbuffer_", "exp", "export", "v_interp_", "v_dual_", "v_illegal")
"""Beginnings of names of which the tables do not have all: graphics, halves of pairs."""


def invalid_lines(listing: Listing, arch: str) -> Iterator[tuple[int, str]]:
    """The faults of the statements that no assembler accepts: (number of the statement, message).

    Args:
        listing: from `mmacalc.asm.reader`. arch: any name of an AMD architecture or target.
    """
    waves = target(arch).entry.architecture.waves
    by_wave = [dict(_wrong(listing, [target(arch, wave, llvm) for llvm in _versions(arch)])) for wave in waves]
    fewest = min(by_wave, key=lambda wrong: sum(first in wrong for first in listing.alike))
    for at, first in enumerate(listing.alike):
        for message in fewest.get(first, ()):
            yield at, message


@lru_cache(maxsize=256)
def _versions(arch: str) -> tuple[int, ...]:
    """The LLVM versions that know a target."""
    found = []
    for version in LLVM_VERSIONS:
        try:
            target(arch, None, version)
        except Error:
            continue
        found.append(version)
    return tuple(found)


def _wrong(listing: Listing, targets: list[Target]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The messages for targets of one wave size, by the first of the statements that read alike."""
    for at, (statement, first) in enumerate(zip(listing.statements, listing.alike)):
        if first == at and (found := _faults(statement, listing.resolved[at], listing, targets)):
            yield at, found


def _faults(statement: Statement, text: str, listing: Listing, targets: list[Target]) -> tuple[str, ...]:
    forms = any(form_of(statement.mnemonic, where) is not None for where in targets)
    if not forms and not is_matrix(statement.mnemonic):
        return _unknown(statement.mnemonic, listing)
    if _OPEN.search(text):
        return ()
    found = [problems(text, where, listing.symbols) for where in targets]
    return () if () in found else found[0]


def _unknown(mnemonic: str, listing: Listing) -> tuple[str, ...]:
    """The message for a name that no target has; none where one has it, or it is a macro."""
    name = _SUFFIXES.sub("", mnemonic)
    if not name.startswith(AMD_MNEMONICS) or name.startswith(_UNTABLED) or mnemonic in listing.macros:
        return ()
    known = instruction_names()
    if name in known or name in OTHER_NAMES.split():
        return ()
    return (f"unknown instruction '{mnemonic}'.{did_you_mean(name, known)}",)
