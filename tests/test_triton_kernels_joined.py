"""A kernel of Triton as a whole: its stages, from .ttir to assembly, joined by the lines of the program."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from mmacalc.cli import answer
from mmacalc.questions.explain.triton_kernel import _calls, grouped, joined

KERNELS = zipfile.ZipFile(Path(__file__).parent / "data/triton/attend.zip")
STAGES = zipfile.ZipFile(Path(__file__).parent / "data/triton/stages.zip")
ASSEMBLY = {"gfx942": "amdgcn", "sm_80": "ptx", "sm_90a": "ptx"}


def stages(kernel, folder, *left_out):
    """The paths of a recorded kernel's stages, by their endings, in a folder."""
    paths = {}
    for name in STAGES.namelist():
        if name.startswith(f"{kernel}/") and not name.endswith(left_out):
            path = folder / Path(name).name
            path.write_bytes(STAGES.read(name))
            paths[path.suffix] = str(path)
    return {ending: paths[ending] for ending in (".ttir", ".ttgir", ".llir", ".amdgcn", ".ptx") if ending in paths}


def unpacked(target, folder):
    """The paths of a kernel's IR and assembly, in a folder."""
    paths = []
    for ending in ("ttgir", ASSEMBLY[target]):
        path = folder / f"attend.{ending}"
        path.write_bytes(KERNELS.read(f"{target}/attend.{ending}"))
        paths.append(str(path))
    return paths


def by_ending(paths):
    return {Path(path).suffix: path for path in paths}


def counted(target, pattern):
    """How often a pattern begins a line of the assembly."""
    text = KERNELS.read(f"{target}/attend.{ASSEMBLY[target]}").decode()
    return len(re.findall(rf"^\s*{pattern}", text, re.MULTILINE))


@pytest.mark.parametrize(
    ("target", "instruction", "counts", "mnemonic"),
    [
        ("gfx942", "v_mfma_f32_32x32x8_f16", [32, 16], "v_mfma"),
        ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", [32, 32], "mma"),
        ("sm_90a", "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", [4, 4], "wgmma.mma_async"),
    ],
)
def test_each_dot_meets_as_many_instructions_as_its_layouts_foretell(target, instruction, counts, mnemonic, tmp_path):
    kernel = joined(by_ending(unpacked(target, tmp_path)))
    dots = [step for step in kernel.steps if step.instruction]
    assert [step.instruction for step in dots] == [instruction] * 2
    assert [step.foretold for step in dots] == [step.products for step in dots] == counts
    assert sum(counts) == counted(target, mnemonic)
    assert [step.source for step in dots] == ["attend.py:13", "attend.py:16"]


@pytest.mark.parametrize(("target", "lanes"), [("gfx942", 64), ("sm_80", 32), ("sm_90a", 32)])
def test_no_instruction_of_the_assembly_is_counted_twice_or_lost(target, lanes, tmp_path):
    kernel = joined(by_ending(unpacked(target, tmp_path)))
    every = [step.assembly for step in kernel.steps] + [kernel.elsewhere]
    for pattern in (
        "ds_read",
        "ds_write",
        "s_barrier",
        "ldmatrix",
        "st.shared",
        "cp.async.cg",
        "bar.sync",
        "wgmma.fence",
    ):
        found = sum([count for counts in every for name, count in counts.items() if name.startswith(pattern)])
        assert found == counted(target, re.escape(pattern)), pattern
    assert (kernel.lanes, kernel.dump.warps) == (lanes, 4)


def test_a_change_of_layout_says_how_far_it_moves_and_what_it_takes(tmp_path):
    kernel = joined(by_ending(unpacked("sm_80", tmp_path)))
    first, last = [step for step in kernel.steps if step.conversion]
    assert (first.conversion, first.shared_bytes, dict(first.assembly)) == ("identical", 0, {})
    # 64 x 64 f16 are stored once and loaded once, 128 bytes a cycle.
    assert (last.conversion, last.shared_bytes, last.cycles) == ("shared memory", 8192, 2 * 8192 // 128)
    assert last.assembly["st.shared.v4.b32"] == 4  # 4 warps x 32 lanes x 4 stores x 16 bytes
    assert last.shared_bytes == 4 * 32 * 4 * 16


def test_a_folder_and_its_files_are_one_answer_and_other_files_are_explained_after_it(tmp_path):
    ttgir, ptx = unpacked("sm_80", tmp_path)
    (tmp_path / "attend.source").write_text("what the JIT read")
    folder, files = answer(["explain", str(tmp_path)]), answer(["explain", ttgir, ptx])
    assert (folder.status, folder.out) == (0, files.out)
    assert "by its layouts 32 x mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 in each warp\n" in folder.out
    assert "1 ttg.convert_layout through shared memory: 8192 bytes, at least 128 cycles" in folder.out
    data = json.loads(answer(["explain", str(tmp_path), "--json"]).out)
    assert (data["query"], data["target"], data["warps"]) == ("triton-kernel", "sm_80", 4)
    (tmp_path / "other.ptx").write_text("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d}, {%a}, {%b}, {%c};\n")
    both = answer(["explain", str(tmp_path)])
    assert both.out.startswith(folder.out)
    assert "8x8x4, f64 f64 -> f64" in both.out


def test_where_assembly_and_layouts_differ_that_is_said(tmp_path):
    ttgir, ptx = unpacked("sm_80", tmp_path)
    text = Path(ptx).read_text()
    Path(ptx).write_text(text.replace("mma.sync.aligned.m16n8k16", "// mma.sync.aligned.m16n8k16", 1))
    out = answer(["explain", ttgir, ptx]).out
    assert "but the assembly has 31 at this place" in " ".join(out.split())


def test_only_files_of_one_kernel_are_joined():
    found = grouped(["x/a.ttgir", "x/b.ptx", "y/a.amdgcn", "y/a.ttgir", "z/a.llir", "z/a.ttir"])
    assert found == [{".ttgir": "y/a.ttgir", ".amdgcn": "y/a.amdgcn"}]
    assert answer(["explain", "v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15]", "s_nop 1"]).status == 0


@pytest.mark.parametrize(
    ("kernel", "dots"),
    [
        ("gfx950/scaled", [("tt.dot_scaled", "v_mfma_scale_f32_32x32x64_f8f6f4", 2)]),
        ("gfx1250/scaled", [("tt.dot_scaled", "v_wmma_scale_f32_16x16x128_f8f6f4", 4)]),
        ("sm_100a/scaled", [("tt.dot_scaled", "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32", 4)]),
        ("gfx1100/attn", [("tt.dot", "v_wmma_f32_16x16x16_f16", 8)] * 2),
        ("sm_100a/attn", [("tt.dot", "tcgen05.mma.cta_group::1.kind::f16", 4)] * 2),
    ],
)
def test_a_dot_is_followed_from_the_ttir_to_the_instructions(kernel, dots, tmp_path):
    found = joined(stages(kernel, tmp_path))
    steps = [step for step in found.steps if step.early]
    assert [(step.early[0].operation, step.instruction, step.foretold) for step in steps] == dots
    assert [step.products for step in steps] == [count for *_, count in dots]
    assert not found.lost
    if "llir" in str(found.files):
        assert [sum(n for name, n in step.llvm.items() if re.search("mma|mfma", name) and "fence" not in name)
                for step in steps] == [count for *_, count in dots]  # fmt: skip


@pytest.mark.parametrize("kernel", ["gfx950/scaled", "gfx1100/attn", "sm_100a/attn"])
def test_no_call_of_the_llvm_ir_is_lost(kernel, tmp_path):
    """The calls at all places are those of the text: counted once more, without their places."""
    files = stages(kernel, tmp_path)
    text = Path(files[".llir"]).read_text()
    defined = "\n".join(line for line in text.splitlines() if not line.startswith("declare"))
    for pattern in ("llvm.amdgcn.wmma", "llvm.amdgcn.mfma", "llvm.amdgcn.s.barrier", "llvm.nvvm.barrier"):
        wanted = defined.count(f"@{pattern}")
        found = sum(count for calls in _calls(text).values() for name, count in calls.items() if pattern in name)
        assert found == wanted, pattern
    stored = len(re.findall(r"^\s*store .*addrspace\(3\)", text, re.M))
    assert sum(calls["store addrspace(3)"] for calls in _calls(text).values()) == stored
    if "sm_" in kernel:
        products = sum(
            count for calls in _calls(text).values() for name, count in calls.items() if "tcgen05.mma" in name
        )
        assert products == len(re.findall(r"tcgen05\.mma\.cta", text)) == 8


def test_a_place_with_several_operations_has_the_tensors_of_each(tmp_path):
    out = answer(["explain", *stages("gfx1100/attn", tmp_path).values()]).out
    place = re.search(r"stages\.py:24:11.*?\n\n", out, re.S)[0]
    head, load, dot = re.split(r"\n  (?=\w)", place)
    assert head == "stages.py:24:11  tt.dot, line 56 of the .ttir"
    assert load.startswith("ttg.local_load, lines 105, 151 of the .ttgir\n")
    assert "which computes the transpose" not in load
    assert "by its layouts 8 x v_wmma_f32_16x16x16_f16 in each warp, which computes the transpose" in " ".join(
        dot.split()
    )


def test_conversions_are_counted_one_by_one_and_barriers_are_no_matrices(tmp_path):
    files = stages("sm_100a/scaled", tmp_path)
    out = answer(["explain", *files.values()]).out
    assert "through shared memory: 2 times 512 bytes" in out
    assert "3 ttg.convert_layout through shared memory: 66560 bytes" in out  # 2 x 128x4 bytes, 128x128 f32
    assert "i64" not in out
    assert "128x128 f32 in Tensor Memory, blocks of 128x128" in answer(["explain", files[".ttgir"]]).out


def test_stages_without_assembly_are_joined_too_and_a_ttir_alone_says_what_it_lacks(tmp_path):
    files = stages("gfx950/scaled", tmp_path, ".amdgcn")
    out = answer(["explain", str(tmp_path)]).out
    assert "LLVM IR: " in out
    assert "2 llvm.amdgcn.mfma.scale.f32.32x32x64.f8f6f4" in out
    assert "assembly" not in out
    alone = answer(["explain", files[".ttir"]])
    assert alone.status == 0
    assert "128x128 f8E4M3FN x 128x4 i8 x 128x32 f8E4M3FN x 32x4 i8 -> 128x32 f32" in " ".join(alone.out.split())
    assert "the .ttgir says which instructions its dots become" in " ".join(alone.out.split())
    text = Path(files[".ttir"]).read_text().replace("stages.py", "other.py")
    Path(files[".ttir"]).write_text(text)
    lost = " ".join(answer(["explain", str(tmp_path)]).out.split())
    assert "tt.dot_scaled, line 50 (other.py:34) of the .ttir: nothing of the .ttgir is at its place" in lost
