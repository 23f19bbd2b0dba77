"""LLVM's and clang's names of NVIDIA's instructions, against all of LLVM 22.1.8, and compiled by clang and llc."""

import gzip
import re
import subprocess
from itertools import count
from pathlib import Path

import pytest

import mmacalc
from llvm_mc import tool
from mmacalc.catalog import architectures, entry
from mmacalc.cli import answer
from mmacalc.compiler.builtins import all_by_name, intrinsics
from mmacalc.questions.explain.tensor_memory import moved_registers
from samples import sampled

NAMES = {*gzip.decompress((Path(__file__).parent / "data/llvm/nvvm_names.txt.gz").read_bytes()).decode().split()}
MANAGEMENT = ("alloc", "dealloc", "commit", "fence", "relinq", "wait")  # of tcgen05 and wgmma: no matrix instructions
LAYOUTS = [("row", "row"), ("row", "col"), ("col", "row"), ("col", "col")]  # clang's argument 0, 1, 2, 3


def nvidia():
    """Every instruction of every target, once."""
    found = {}
    for arch in architectures():
        if entry(arch).architecture.family.sass:
            known = entry(arch)
            for name in (*known.names, *known.tensor_memory_names):
                if name not in found:
                    found[name] = known.instruction(name)
    return found


def nvidia_of(arch):
    """The instructions of a target."""
    known = entry(arch)
    return [(name, known.instruction(name)) for name in (*known.names, *known.tensor_memory_names)]


def test_every_name_exists_in_llvm_and_every_name_of_llvm_is_of_an_instruction():
    made = {}
    for name, inst in nvidia().items():
        for one in intrinsics(inst):
            made |= {known: name for known in (one.llvm_intrinsic, one.builtin) if known}
    assert {name: made[name] for name in made if name not in NAMES} == {}
    rest = [name for name in NAMES - {*made} if name.split(".")[3:4] and not name.split(".")[3].startswith(MANAGEMENT)]
    # PTX ISA 9.1 has no .satfinite for wmma with f16.
    assert [
        name for name in rest if not re.fullmatch(r"llvm\.nvvm\.wmma\..*\.f(16|32)\.f(16|32)\.satfinite", name)
    ] == []
    assert [name for name in NAMES if name.startswith("__") and name not in made] == []


def test_what_llvm_has_not_is_said_to_be_reached_by_inline_assembly():
    without = {name for name, inst in nvidia().items() if not intrinsics(inst)}
    kinds = {name.split(".")[0] for name in without}
    assert kinds == {"mma", "wmma", "wgmma", "movmatrix", "ldmatrix", "tcgen05"}  # tcgen05: kind::ti16 of sm_107a
    assert all(name in without for name in nvidia() if name.startswith(("wgmma", "movmatrix")))
    out = answer(["intrinsic", "-a", "H100", "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"]).out
    assert "LLVM 22 has no intrinsic" in out
    assert "inline assembly" in out


def run(*arguments, text):
    done = subprocess.run(arguments, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:1200]
    return done.stdout


def test_every_product_that_has_a_builtin_is_what_clang_and_llc_make_of_it():
    lines, expected = [], {}
    for inst in mmacalc.instructions("sm_80"):
        for one in intrinsics(inst):
            if one.builtin and "_mma" in one.builtin.removeprefix("__mma"):
                at, last = len(expected), "" if "bmma" in one.builtin else f", {int('satfinite' in inst.name)}"
                expected[f"f{at}"] = (inst.name, one.llvm_intrinsic)
                layout = LAYOUTS.index(inst.layouts)
                lines.append(f"void f{at}(void **p) {{ {one.builtin}(p[0], p[1], p[2], p[3], {layout}{last}); }}")
    options = ["--target=nvptx64-nvidia-cuda", "-O1", "-S", "-emit-llvm", "-w", "-o", "-", "-"]
    features = ["-Xclang", "-target-cpu", "-Xclang", "sm_80", "-Xclang", "-target-feature", "-Xclang", "+ptx71"]
    code = run(tool("clang"), "-x", "c", *features, *options, text="\n".join(lines))
    called = dict(re.findall(r"^define .*?@(f\d+)\(.*?@(llvm\.nvvm\.wmma\.\S*\.mma\.[\w.]+)\(", code, re.M | re.S))
    assert called == {name: intrinsic for name, (_, intrinsic) in expected.items()}
    ptx = run(tool("llc"), "-mcpu=sm_80", "-mattr=+ptx71", "-o", "-", text=code)
    made = dict(re.findall(r"\.func f(\d+)\(.*?(wmma\.mma[\w.]+)", ptx, re.S))
    assert len(expected) > 100
    for name, (mnemonic, _) in expected.items():
        assert sorted(made[name[1:]].split(".")) == sorted(mnemonic.split(".")), mnemonic


@sampled("arch", ["V100", "T4", "A100", "H100", "B200", "RTX 5090"], 2)
@sampled("step", [21, 7], 1, whole=0)
def test_every_name_leads_back_to_its_instruction(arch, step):
    for inst in mmacalc.instructions(arch)[::step]:
        for one in intrinsics(inst):
            for name in filter(None, (one.builtin, one.llvm_intrinsic, f"@{one.llvm_intrinsic}.p3(ptr %p)")):
                assert inst in [found for found, _, _ in all_by_name(arch, name)]
    with pytest.raises(mmacalc.Error, match="Did you mean __hmma_m16n16k16_mma_f32f32"):
        all_by_name(arch, "__hmma_m16n16k16_mma_f32f33")


def test_find_takes_the_names():
    found = mmacalc.find(arch="A100", intrinsic="__imma_m8n8k32_mma_s4")
    assert {inst.formats["A"] for inst in found} == {"i4"}
    assert mmacalc.find(arch="A100", name="llvm.nvvm.mma.m16n8k16.row.col.bf16") == (
        mmacalc.instruction("A100", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
    )


TYPES = {"f16": "<2 x half>", "f32": "float", "f64": "double"}


def register_types(inst, role):
    """LLVM's types of an operand: one for each register of PTX."""
    size = inst.operand(role).registers // (2 if inst.format(role).bits == 64 else 1)
    return [TYPES.get(inst.formats[role], "i32")] * size


def declared(inst, name):
    """The result and the arguments of an intrinsic, as its declaration in LLVM 22.1.8 has them; (type, constant)."""
    parts = name.split(".")
    shared, tensor = "ptr addrspace(3)", "ptr addrspace(6)"
    if parts[2] in ("ldmatrix", "stmatrix") or (parts[2] == "wmma" and "move" in inst.features):
        role = next(role for role in inst.register_operands if role != "P")
        held, stride = register_types(inst, role), [("i32", None)] * ("stride" in parts)
        stores = parts[2] == "stmatrix" or parts[4] == "store"
        return ([], [(shared, None), *[(each, None) for each in held], *stride]) if stores else (
            held, [(shared, None), *stride]
        )  # fmt: skip
    if parts[2] != "tcgen05":
        taken = [(each, None) for role in "ABC" for each in register_types(inst, role)]
        taken += [("i32", None), ("i32", 0)] * inst.sparse
        taken += [("i32", None), ("i16", None), ("i16", None)] * (2 * inst.scaled)
        return register_types(inst, "D"), taken
    if parts[3] in ("ld", "st"):
        size = moved_registers(inst)
        data = "i32" if size == 1 else f"<{size} x i32>"
        between = [("i64", 16)] * (parts[4] == "16x32bx2")
        packed = ("i1", int("pack::16b" in inst.name))
        return ([data], [(tensor, None), *between, packed]) if parts[3] == "ld" else (
            [], [(tensor, None), *between, (data, None), packed]
        )  # fmt: skip
    if parts[3] != "mma":
        return [], [(tensor, None), *[("i64", None)] * (parts[3] == "cp")]
    taken = [(tensor, None), (tensor if "tensor" in parts else "i64", None), ("i64", None), ("i32", None), ("i1", None)]
    taken += [(tensor, None)] * (inst.sparse + 2 * inst.scaled) + [("i64", 3)] * ("scale_d" in parts)
    cg2 = "cta_group::2" in inst.name
    taken += [(f"<{8 if cg2 else 4} x i32>", None)] * ("disable_output_lane" in parts)
    taken += [("i64", None)] * ("zero_col_mask" in parts)
    kind = next((at for at, one in enumerate(("f16", "tf32", "f8f6f4", "i8")) if f"kind::{one}" in inst.name), 0)
    taken += [("i32", kind)] * (not inst.scaled)
    taken += [("i32", 2), ("i32", 3)] if "ws" in parts else [("i32", 1 + cg2)] * ("disable_output_lane" not in parts)
    return [], taken if "ws" in parts else [*taken, ("i32", 1)]


def as_ir(at, inst, name):
    """A function that calls an intrinsic with its own arguments, and its text."""
    result, taken = declared(inst, name)
    pointers = "".join(f".p{kind[-2]}" for kind, _ in taken if "ptr" in kind) if "tcgen05" not in name else ""
    types = ", ".join(result)
    kind = "void" if not result else types if len(result) == 1 else f"{{ {types} }}"
    places = count()
    given = [f"{one} %p{next(places)}" if value is None else f"{one} {value}" for one, value in taken]
    call = f"call {kind} @{name}{pointers}({', '.join(given)})"
    values = ", ".join(one for one in given if "%p" in one)
    stored = f"%r = {call}\n store {kind} %r, ptr %out" if result else call
    return call, f"define void @f{at}(ptr %out{', ' * bool(values)}{values}) {{\n {stored}\n ret void\n}}"


def arguments_in(ptx):
    """Of one function of PTX its matrix instruction, with each register as the argument that was loaded there."""
    values = {}
    for text in ptx.split(";"):
        if found := re.search(r"ld\.param(?:\.v\d)?\.\w+\s+\{?([^}\[]*?)\}?,\s*\[f\d+_param_(\d+)(?:\+(\d+))?\]", text):
            for step, name in enumerate(found[1].split(", ")):
                at, offset = int(found[2]) - 1, int(found[3] or 0) // 4 + step
                values[name] = f"%p{at}", offset
        elif found := re.search(r"(?:mov|cvt|and|setp)\S*\s+(%\w+),\s*(%\w+)", text):
            values[found[1]] = values.get(found[2])
        elif found := re.search(r"\s((?:mma|wmma|ldmatrix|stmatrix|tcgen05)\.\S+)([^;]*)", text):
            return found[1], found[2].strip(), values
    raise AssertionError(ptx)


@pytest.mark.parametrize("arch", ["sm_80", "sm_100a", "sm_120a"])
def test_every_intrinsic_is_explained_with_the_operands_that_llc_gives_to_the_instruction(arch):
    seen, calls, functions = set(), [], []
    for name, inst in nvidia_of(arch):
        if arch == "sm_100a" and not name.startswith(("tcgen05", "ldmatrix", "stmatrix")):
            continue  # the rest is compared on others; LLVM has .kind::f8f6f4 for sm_120a alone
        for one in intrinsics(inst):
            if one.llvm_intrinsic and (one.llvm_intrinsic, inst.name) not in seen:
                seen.add((one.llvm_intrinsic, inst.name))
                call, function = as_ir(len(calls), inst, one.llvm_intrinsic)
                calls.append(call)
                functions.append(function)
    text = run(tool("llc"), "-mtriple=nvptx64", f"-mcpu={arch}", "-mattr=+ptx88", "-o", "-", text="\n".join(functions))
    made = re.split(r"\.func f\d+\(", text)[1:]
    explained = mmacalc.explain("\n".join(calls), arch).lines
    assert len(made) == len(calls) == len(explained)
    assert len(calls) > 100
    for call, ptx, line in zip(calls, made, explained):
        mnemonic, rest, values = arguments_in(ptx)
        [wanted] = mmacalc.explain(f"{mnemonic} {rest};", arch).lines
        plain, _, collector = mnemonic.replace(".ashift", "").partition(".collector")
        plain += ".block32" * plain.endswith("block_scale")  # which is what it has where none is named
        assert (line.instruction, line.problem) == (mmacalc.instruction(arch, plain), ""), (call, mnemonic)
        remarks = [remark for one in line.operands for remark in one.remarks]
        assert [one for one in remarks if "collector" in one] == [f"collector{collector}"] * bool(collector)
        assert any("ashift" in one for one in remarks) == ("ashift" in mnemonic)
        own = [one for one in line.operands if not one.role.startswith("stride")]
        assert [one.role for one in own] == [one.role for one in wanted.operands], (call, rest)
        for ours, theirs in zip(own, wanted.operands):
            assert (ours.operand, ours.layout, ours.cells) == (theirs.operand, theirs.layout, theirs.cells), call
            passed = [values.get(word) for word in re.findall(r"%\w+", theirs.text)]
            if ours.text != "the result" and None not in passed:
                words = re.findall(r"%p\d+", " ".join(ours.registers) if ours.registers else ours.text)
                assert words == [word for word, _ in passed][: len(words)], (call, rest, ours.text)


def test_calls_of_clang_are_explained_as_the_instruction_that_they_become():
    lines, expected = [], []
    for inst in mmacalc.instructions("sm_80"):
        for one in intrinsics(inst)[:1]:
            pointers, last = ["(void *)p[0]", "p[1]"], ""
            if "_mma" in one.builtin.removeprefix("__mma"):
                pointers += ["p[2]", "p[3]"]
                last = f", {LAYOUTS.index(inst.layouts)}" + f", {int('satfinite' in inst.name)}" * (
                    "bmma" not in one.builtin
                )
            elif one.builtin:
                last = f", 48, {('row', 'col').index(inst.layouts[0])}"
            if one.builtin:
                lines.append(f"void f{len(expected)}(void **p) {{ {one.builtin}({', '.join(pointers)}{last}); }}")
                expected.append(inst)
    found = mmacalc.explain("\n".join(lines), "sm_80").lines
    assert [(one.instruction, one.problem) for one in found] == [(inst, "") for inst in expected]
    for line in found:
        own = {one.role: one for one in line.operands}
        if "address" in own:
            role = line.instruction.register_operands[0]
            stores = "_st_" in line.text
            assert (own[role].text, own["address"].text) == (
                ("p[1]", "[(void *)p[0]]") if stores else ("(void *)p[0]", "[p[1]]")
            )
            assert line.operands[-1].text == "48"
        else:
            assert [own[role].text for role in "DABC"] == ["(void *)p[0]", "p[1]", "p[2]", "p[3]"]
        assert all(len(one.held) == len(one.registers) for one in line.operands if one.operand)
    assert len(expected) > 200


def test_what_is_wrong_with_a_call_is_a_problem_of_its_line():
    for call, says in (
        ("__hmma_m16n16k16_mma_f32f32(d, a, b, c, 1, 1);", "with satfinite"),
        ("__hmma_m16n16k16_mma_f32f32(d, a, b, c, 4, 0);", "the layouts is 4; it takes 0"),
        ("__hmma_m16n16k16_mma_f32f32(d, a, b, c, L, 0);", "the value of the layouts, 'L', is not in the text"),
        ("__hmma_m16n16k16_mma_f32f32(d, a, b);", "it takes"),
        ("__hmma_m16n16k16_mma_f32f33(d, a, b, c, 0, 0);", "Did you mean __hmma_m16n16k16_mma_f32f32"),
        ("call void @llvm.nvvm.tcgen05.mma.shared(ptr %d, i64 %a, i64 %b, i32 %i, i1 %e, i32 9, i32 1, i32 0)", "kind"),
    ):
        [line] = mmacalc.explain(call, "B200" if "tcgen05" in call else "A100").lines
        assert says in line.problem, line.problem
    [line] = mmacalc.explain("call void @llvm.nvvm.wgmma.fence.sync.aligned()").lines
    assert "orders accesses" in line.purpose
