"""Code objects against llvm-readelf 22 and llvm-objdump 22; damaged ones are refused."""

from __future__ import annotations

import contextlib
import random
import re
import struct
import subprocess
from pathlib import Path

import pytest

import mmacalc
from compiled_kernels import LEVELS, TARGETS, compiled
from llvm_mc import object_for, tool
from mmacalc.asm.targets import MACHINES
from samples import sized

OBJECT = Path(__file__).parent / "data" / "llvm" / "scale_gfx942.hsaco"
# llvm-objdump's names of what the descriptor has
DIRECTIVES = {
    "group_segment_fixed_size": "group_segment_size", "private_segment_fixed_size": "private_segment_size",
    "kernarg_size": "kernarg_size", "float_round_mode_32": "round_f32", "float_round_mode_16_64": "round_f16_f64",
    "float_denorm_mode_32": "denormals_f32", "float_denorm_mode_16_64": "denormals_f16_f64",
    "dx10_clamp": "dx10_clamp", "ieee_mode": "ieee_mode", "fp16_overflow": "fp16_overflow",
    "system_vgpr_workitem_id": "work_item_id", "uses_dynamic_stack": "uses_dynamic_stack",
    "accum_offset": "accum_offset", "enable_private_segment": "private_segment",
}  # fmt: skip


def printed(name, *arguments):
    return subprocess.run([tool(name), *arguments], capture_output=True, text=True, check=True).stdout


# Machine numbers that LLVM 22 does not print: those before MI300X's final one (LLVM 17, AMDGPUUsage), and those since
# (LLVM 24; `test_asm_triton` asks an assembler of that version).
OTHER_MACHINES = {
    0x40: "gfx940", 0x4B: "gfx941", 0x50: "gfx1310", 0x57: "gfx1154", 0x5C: "gfx1172", 0x5D: "gfx1170", 0x5E: "gfx1171",
}  # fmt: skip


def test_every_machine_number_is_the_one_that_readobj_names(tmp_path):
    paths = [tmp_path / f"{number:02x}" for number in range(256)]
    for number, path in enumerate(paths):
        fields = struct.pack("<HHIQQQIHHHHHH", 3, 224, 1, 0, 0, 0, number, 64, 0, 0, 0, 0, 0)
        path.write_bytes(b"\x7fELF" + bytes([2, 1, 1, 64, 4]) + bytes(7) + fields)
    shown = re.findall(r"EF_AMDGPU_MACH_AMDGCN_(\w+) \(0x(\w+)\)", printed("llvm-readobj", "--file-headers", *paths))
    named = {int(number, 16): name.lower().replace("_", "-") for name, number in shown}
    assert {**named, **OTHER_MACHINES} == MACHINES


@pytest.fixture(scope="module", params=sized(TARGETS, 5, first=1))
def built(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("code") / "kernels.hsaco"
    path.write_bytes(compiled(request.param, LEVELS[request.param]))
    return request.param, path


def test_descriptors_are_those_that_objdump_prints(built):
    target, path = built
    kernels = mmacalc.load(path)
    text = printed("llvm-objdump", "-D", "--section=.rodata", path)
    blocks = dict(re.findall(r"\.amdhsa_kernel (\w+)\n(.*?)\.end_amdhsa_kernel", text, re.S))
    assert set(blocks) <= set(kernels)  # objdump stops at what it takes for padding
    assert len(blocks) > 4
    for name, block in blocks.items():
        given = {key: int(value) for key, value in re.findall(r"\.amdhsa_(\w+) (\d+)", block)}
        ours = kernels[name].descriptor
        shown = {key: int(getattr(ours, DIRECTIVES[key])) for key in given if key in DIRECTIVES}
        assert shown == {key: given[key] for key in shown}
        assert len(shown) > 9
        assert ours.wavefront_size == (32 if given.get("wavefront_size32", 0) else 64)
        users = {key[10:] for key, value in given.items() if key.startswith("user_sgpr_") and value}
        users -= {"count", "kernarg_preload_length", "kernarg_preload_offset"}
        assert {name for name, _, _ in ours.user_sgprs} == users
        if target < "gfx12":
            after = {key[12:] for key, value in given.items() if key.startswith("system_sgpr_workgroup_") and value}
            assert {each for each, _ in ours.workgroup_id_sgprs} >= after


def test_the_metadata_is_what_readelf_prints(built):
    _, path = built
    text = printed("llvm-readelf", "--notes", path)
    for part in text.split("  - .agpr_count")[1:]:
        name = re.search(r"\n    \.name: +(\w+)", part)[1]
        ours = mmacalc.load(path)[name]
        listed = [
            tuple(re.search(rf"\.{key}: +'?([^\n']+)", one)[1] for key in ("offset", "size", "value_kind"))
            for one in re.split(r"\n      - ", part.split("\n    .group_")[0])[1:]
        ]
        assert [(str(one.offset), str(one.size), one.value_kind) for one in ours.arguments] == listed
        assert ours.vgpr_count == int(re.search(r"\.vgpr_count: +(\d+)", part)[1])
        assert ours.maximum_workgroup_size == int(re.search(r"\.max_flat_workgroup_size: +(\d+)", part)[1])


def linked(folder, target, text):
    made, out = folder / "a.o", folder / "a.hsaco"
    made.write_bytes(object_for(target, text))
    subprocess.run([tool("ld.lld"), "-shared", made, "-o", out], check=True, capture_output=True)
    return made, out


KERNEL = """
.text
.globl k
.p2align 8
.type k,@function
k: s_endpgm
.size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
.data
.globl there
.globl pointers
there: .long 7
.p2align 3
pointers: .quad there, k+4, there-8
.section .not_in_memory,"w",@progbits
.long 3
"""


def test_pointers_in_data_are_relocated(tmp_path):
    made, out = linked(tmp_path, "gfx942", KERNEL)
    kernel = mmacalc.load(out)["k"]
    addresses = {
        name: int(at, 16) for at, name in re.findall(r": (\w{16}) .* (\w+)\n", printed("llvm-readelf", "-s", out))
    }
    (data,) = [section for section in kernel.sections if section.name == ".data"]
    at = addresses["pointers"] - data.address
    words = [int.from_bytes(data.data[at + step : at + step + 8], "little") for step in (0, 8, 16)]
    assert words == [addresses["there"], addresses["k"] + 4, addresses["there"] - 8]
    assert len(data.data) == at + 24  # the last relocation ends with the section
    assert ".not_in_memory" not in [section.name for section in kernel.sections]
    assert (kernel.vgpr_count, kernel.accvgpr_count, kernel.sgpr_count, kernel.maximum_workgroup_size) == (0, 0, 0, 0)
    assert (kernel.address, kernel.code) == (addresses["k"], bytes.fromhex("000081bf"))
    with pytest.raises(mmacalc.Error, match="is not linked; link it: ld"):
        mmacalc.load(made)


def test_an_object_that_asks_for_more_than_a_gibibyte_is_not_loaded(tmp_path):
    text = KERNEL + f'.section .big,"aw",@nobits\n.skip {2**30 + 1}\n'
    with pytest.raises(mmacalc.Error, match=rf"its section '\.big' should have {2**30 + 1} bytes"):
        mmacalc.load(linked(tmp_path, "gfx942", text)[1])


@pytest.mark.parametrize(
    ("target", "directives", "users", "count"),
    [
        ("gfx942", "kernarg_preload_length 5\n.amdhsa_user_sgpr_kernarg_preload_offset 3",
         [("kernarg_preload", 0, 5)], 5),
        ("gfx1250", "kernarg_preload_length 20", [("kernarg_preload", 0, 20)], 20),
        ("gfx1200", "dispatch_ptr 1\n.amdhsa_user_sgpr_kernarg_segment_ptr 1",
         [("dispatch_ptr", 0, 2), ("kernarg_segment_ptr", 2, 2)], 4),
    ],
)  # fmt: skip
def test_user_registers_are_in_their_order(target, directives, users, count, tmp_path):
    text = KERNEL.replace(".end_amdhsa_kernel", f".amdhsa_user_sgpr_{directives}\n.end_amdhsa_kernel")
    text = text if target == "gfx942" else text.replace("  .amdhsa_accum_offset 4\n", "")
    descriptor = mmacalc.load(linked(tmp_path, target, text)[1])["k"].descriptor
    assert (list(descriptor.user_sgprs), descriptor.user_sgpr_count) == (users, count)
    assert descriptor.kernarg_preload == (
        (3, 5) if target == "gfx942" else (0, count if "preload" in directives else 0)
    )
    assert descriptor.workgroup_id_sgprs == ((("workgroup_id_x", 5),) if target == "gfx942" else ())


def test_a_descriptor_that_leaves_out_the_bytes_of_the_arguments_has_those_of_the_metadata(tmp_path):
    """As AITER's, which are written by hand; HIP launches by the metadata."""
    (kernel,) = mmacalc.load(OBJECT).values()
    found = kernel.descriptor
    start = struct.pack("<III", found.group_segment_size, found.private_segment_size, found.kernarg_size)
    content = OBJECT.read_bytes()
    assert found.kernarg_size
    assert content.count(start) == 1
    path = tmp_path / "by_hand.hsaco"
    path.write_bytes(content.replace(start, start[:8] + bytes(4)))
    (by_hand,) = mmacalc.load(path).values()
    assert (by_hand.descriptor.kernarg_size, by_hand.argument_bytes) == (0, kernel.argument_bytes)
    assert by_hand.arguments == kernel.arguments


# Directives of LLVM's assembler for AMD's kernel descriptor, and what is then in the descriptor of a target.
EVERY_USER = ("private_segment_buffer", "dispatch_ptr", "queue_ptr", "kernarg_segment_ptr", "dispatch_id",
              "flat_scratch_init", "private_segment_size")  # fmt: skip
USERS = " ".join(f"user_sgpr_{name}=1" for name in EVERY_USER)
IDS = ("workgroup_id_x", "workgroup_id_y", "workgroup_id_z", "workgroup_info")
COMMON = (
    "group_segment_fixed_size=48 private_segment_fixed_size=20 kernarg_size=72 uses_dynamic_stack=1 fp16_overflow=1 "
)
MODES = {"float_round_mode_32": "round_f32", "float_round_mode_16_64": "round_f16_f64",
         "float_denorm_mode_32": "denormals_f32", "float_denorm_mode_16_64": "denormals_f16_f64",
         "system_vgpr_workitem_id": "work_item_id"}  # fmt: skip
FOUND = {
    "group_segment_size": 48, "private_segment_size": 20, "kernarg_size": 72, "uses_dynamic_stack": True,
    "fp16_overflow": True,
}  # fmt: skip
SYSTEM = " ".join(f"system_sgpr_{name}=1" for name in IDS)
PLACED = tuple(
    (name, first, count) for name, first, count in zip(EVERY_USER, (0, 4, 6, 8, 10, 12, 14), (4, 2, 2, 2, 2, 2, 1))
)


@pytest.mark.parametrize(
    ("target", "directives", "found"),
    [
        ("gfx908", f"{USERS} {SYSTEM} ieee_mode=0 system_sgpr_private_segment_wavefront_offset=1",
         {"user_sgprs": PLACED, "ieee_mode": False, "dx10_clamp": True, "private_segment": True, "wavefront_size": 64,
          "workgroup_id_sgprs": (*zip(IDS, (15, 16, 17, 18)), ("private_segment_wave_offset", 19))}),
        ("gfx90a", "accum_offset=24 dx10_clamp=0 system_sgpr_private_segment_wavefront_offset=1",
         {"accum_offset": 24, "ieee_mode": True, "dx10_clamp": False, "fp16_overflow": True,
          "workgroup_id_sgprs": (("workgroup_id_x", 0), ("private_segment_wave_offset", 1))}),
        ("gfx942", "accum_offset=256 enable_private_segment=1 user_sgpr_count=12",
         {"accum_offset": 256, "user_sgpr_count": 12, "workgroup_id_sgprs": (("workgroup_id_x", 12),)}),
        ("gfx950", "accum_offset=4", {"accum_offset": 4, "private_segment": False}),
        ("gfx1100", "wavefront_size32=1 user_sgpr_dispatch_id=1",
         {"wavefront_size": 32, "user_sgprs": (("dispatch_id", 0, 2),), "accum_offset": 0, "dx10_clamp": True}),
        ("gfx1200", "wavefront_size32=0 user_sgpr_count=16",
         {"wavefront_size": 64, "ieee_mode": False, "dx10_clamp": False, "user_sgpr_count": 16,
          "workgroup_id_sgprs": ()}),
        ("gfx1250", "user_sgpr_count=32", {"user_sgpr_count": 32, "ieee_mode": False, "wavefront_size": 32}),
    ],
)  # fmt: skip
def test_every_field_of_a_kernels_descriptor_is_what_the_assembler_was_told(target, directives, found, tmp_path):
    modes = {name: (at + len(target)) % 2 + 1 for at, name in enumerate(MODES)}  # 1 and 2 by turns
    every = (*COMMON.split(), *(f"{name}={value}" for name, value in modes.items()), *directives.split())
    lines = "".join(f"  .amdhsa_{each.replace('=', ' ')}\n" for each in every)
    text = KERNEL.replace("  .amdhsa_accum_offset 4\n", "").replace(".end_amdhsa_kernel", f"{lines}.end_amdhsa_kernel")
    text = text.replace("vgpr 8", "vgpr 512") if "accum" in lines else text
    descriptor = mmacalc.load(linked(tmp_path, target, text)[1])["k"].descriptor
    expected = FOUND | {MODES[name]: value for name, value in modes.items()} | found
    assert {name: getattr(descriptor, name) for name in expected} == expected


def test_what_is_no_code_object_is_refused(tmp_path):
    other = tmp_path / "other"
    for content, why in ((b"text", "is not an ELF object"), (b"\x7fELF", "damaged"), (b"", "is not an ELF object")):
        other.write_bytes(content)
        with pytest.raises(mmacalc.Error, match=why):
            mmacalc.load(other)
    other.write_bytes(linked(tmp_path, "gfx942", "s_nop 0\n")[1].read_bytes())
    with pytest.raises(mmacalc.Error, match="has no kernel"):
        mmacalc.load(other)
    with pytest.raises(mmacalc.Error, match=r"is for gfx942, not for gfx1100"):
        mmacalc.load(OBJECT, "gfx1100")
    with pytest.raises(mmacalc.Error, match=r"unknown kernel 'scael'\. Did you mean scale\?"):
        mmacalc.load(OBJECT)["scael"]


def test_a_damaged_object_is_answered_or_refused(tmp_path):
    rng, content = random.Random(3), OBJECT.read_bytes()
    path = tmp_path / "damaged.hsaco"
    for _ in range(150):
        wrong = bytearray(content[: rng.choice((len(content), rng.randrange(len(content))))])
        for _ in range(rng.randrange(4)):
            if wrong:
                wrong[rng.randrange(len(wrong))] = rng.randrange(256)
        path.write_bytes(wrong)
        with contextlib.suppress(mmacalc.Error):
            mmacalc.load(path)
