"""What the names of memory instructions say, against the operands that LLVM gives them."""

from __future__ import annotations

import pytest

from mmacalc.asm.decoded import RegisterOperand
from mmacalc.asm.tables import FAMILY_OF, table
from mmacalc.kernels.amd.memory import Access, access_of

DATA = {"DATA", "DATA0", "DATA1", "VDATA", "SDATA", "VDST"}


def data_registers(target):
    """(name, field) -> how many registers the field has, of every memory instruction; without that of TFE."""
    found = {}
    for row in table(target, FAMILY_OF[target][2]).every():
        for slot in row.slots if access_of(row.name) else ():
            if slot.field is not None and slot.field.name in DATA and not slot.style:
                count = next(one.count for one in slot.entries[0] if isinstance(one, RegisterOperand))
                key = row.name, slot.field.name
                found[key] = min(count, found.get(key, count))
    return found


@pytest.mark.parametrize("target", ["gfx908", "gfx950", "gfx1100", "gfx1250"])
def test_the_registers_of_every_memory_instruction_hold_what_its_name_moves(target):
    for (name, field), count in data_registers(target).items():
        access = access_of(name)
        words = max(1, access.size // 4)
        if access.to_lds or "_from_lds_" in name:
            assert (field, count) in (("VDST", 1), ("DATA", 1)), name  # the address in LDS
            continue
        both = access.pair and field == "VDST"  # two values are read
        compared = access.action == "cmpswap" and access.unit != "ds" and field != "VDST"  # and the new one
        assert count == words * (2 if both or compared else 1), (name, field)
    assert len(data_registers(target)) > 200


def test_the_words_of_a_name_say_what_else_is_done():
    """ISA guides: ds_read2st64 counts offsets in 64 elements; d16 loads fill one half; narrow loads extend the sign."""
    wanted = {
        "ds_read2_b32": Access("ds", "load", 4, pair=4), "ds_write2st64_b32": Access("ds", "store", 4, pair=256),
        "ds_load_2addr_stride64_b64": Access("ds", "load", 8, pair=512),
        "ds_store_2addr_b64": Access("ds", "store", 8, pair=8),
        "global_load_sbyte": Access("global", "load", 1, True), "flat_load_ushort": Access("flat", "load", 2),
        "s_load_i8": Access("scalar", "load", 1, True), "s_buffer_load_u16": Access("scalar buffer", "load", 2),
        "global_load_d16_hi_i8": Access("global", "load", 1, True, 1),
        "ds_read_u8_d16": Access("ds", "load", 1, half=0),
        "scratch_load_short_d16_hi": Access("scratch", "load", 2, half=1),
        "buffer_store_byte": Access("buffer", "store", 1),
        "global_load_lds_dword": Access("global", "load", 4, to_lds=True), "s_load_b96": Access("scalar", "load", 12),
        "global_atomic_smax": Access("global", "max", 4, kind="i32"),
        "ds_max_rtn_i64": Access("ds", "max", 8, kind="i64"),
        "buffer_atomic_umin_x2": Access("buffer", "min", 8, kind="u64"),
        "ds_add_u32": Access("ds", "add", 4, kind="u32"), "ds_cmpst_b64": Access("ds", "cmpswap", 8, kind="u64"),
        "global_atomic_min_num_f64": Access("global", "min", 8, kind="f64"),
        "flat_atomic_pk_add_bf16": Access("flat", "pk_add", 4, kind="bf16"),
        "ds_storexchg_rtn_b32": Access("ds", "swap", 4, kind="u32"),
        "ds_wrxchg_rtn_b64": Access("ds", "swap", 8, kind="u64"), "v_add_f32": None, "s_add_u32": None,
        "buffer_load_format_x": None,
    }  # fmt: skip
    assert {name: access_of(name) for name in wanted} == wanted
