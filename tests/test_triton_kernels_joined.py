"""A kernel of Triton as a whole: its GPU IR joined with its assembly by the lines of the program."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from mmacalc.cli import answer
from mmacalc.questions.explain.triton_kernel import grouped, joined

KERNELS = zipfile.ZipFile(Path(__file__).parent / "data/triton/attend.zip")
ASSEMBLY = {"gfx942": "amdgcn", "sm_80": "ptx", "sm_90a": "ptx"}


def unpacked(target, folder):
    """The paths of a kernel's IR and assembly, in a folder."""
    paths = []
    for ending in ("ttgir", ASSEMBLY[target]):
        path = folder / f"attend.{ending}"
        path.write_bytes(KERNELS.read(f"{target}/attend.{ending}"))
        paths.append(str(path))
    return paths


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
    kernel = joined(*unpacked(target, tmp_path))
    dots = [step for step in kernel.steps if step.instruction]
    assert [step.instruction for step in dots] == [instruction] * 2
    assert [step.foretold for step in dots] == [step.products for step in dots] == counts
    assert sum(counts) == counted(target, mnemonic)
    assert [step.source for step in dots] == ["attend.py:13", "attend.py:16"]


@pytest.mark.parametrize(("target", "lanes"), [("gfx942", 64), ("sm_80", 32), ("sm_90a", 32)])
def test_no_instruction_of_the_assembly_is_counted_twice_or_lost(target, lanes, tmp_path):
    kernel = joined(*unpacked(target, tmp_path))
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
    kernel = joined(*unpacked("sm_80", tmp_path))
    first, last = [step for step in kernel.steps if step.conversion]
    assert (first.conversion, first.shared_bytes, dict(first.assembly)) == ("identical", 0, {})
    # 64 x 64 f16 are stored once and loaded once, 128 bytes a cycle.
    assert (last.conversion, last.shared_bytes, last.cycles) == ("shared memory", 8192, 2 * 8192 // 128)
    assert last.assembly["st.shared.v4.b32"] == 4  # 4 warps x 32 lanes x 4 stores x 16 bytes
    assert last.shared_bytes == 4 * 32 * 4 * 16


def test_a_folder_and_its_files_are_one_answer_and_other_files_are_explained_after_it(tmp_path):
    ttgir, ptx = unpacked("sm_80", tmp_path)
    (tmp_path / "attend.llir").write_text("; LLVM IR of the same kernel")
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
    assert grouped(["x/a.ttgir", "x/b.ptx", "y/a.amdgcn", "y/a.ttgir"]) == [("y/a.ttgir", "y/a.amdgcn")]
    assert answer(["explain", "v_mfma_f32_32x32x8_f16 a[0:15], v[16:17], v[18:19], a[0:15]", "s_nop 1"]).status == 0
