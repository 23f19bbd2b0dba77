"""What users share cannot be changed, threads that ask first are answered alike, and every cache is bounded."""

from __future__ import annotations

import ast
import functools
import gc
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

import mmacalc
from mmacalc.base.records import Cache, Frozen, Record, TupleRecord
from mmacalc.catalog import Catalog
from mmacalc.layout import Layout
from sources import syntax_tree

SOURCE = Path(mmacalc.__file__).parent
MFMA = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16")

# --- threads ----------------------------------------------------------------------------------------------------------

QUESTIONS = """
import sys, threading
import mmacalc

def first(answer):
    return lambda *given: str(answer(*given))[:200]

def product(arch, name):
    import numpy as np
    inst = mmacalc.instruction(arch, name)
    return inst.multiply(np.ones((inst.m, inst.k)), np.ones((inst.k, inst.n))).sum()

ASK = {
    "names": (mmacalc.instruction, [
        ("gfx1200", "v_wmma_f32_16x16x16_f16"), ("sm_80", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("MI300X", "v_mfma_f32_32x32x8_f16"), ("xe-hpc", "dpas.8x8.f.f.bf.bf"), ("gfx1250", "v_wmma_f32_16x16x32_f16"),
        ("H100", "HGMMA.64x8x16.F32"), ("B200", "tcgen05.mma.cta_group::1.kind::f16"),
        ("cdna1", "v_mfma_f32_4x4x1f32")]),
    "products": (product, [("cdna3", "v_mfma_f32_16x16x16_f16"), ("cdna3", "v_mfma_i32_16x16x32_i8"),
        ("cdna4", "v_mfma_f32_16x16x32_bf16"), ("rdna4", "v_wmma_f32_16x16x16_f16")] * 2),
    "machine code": (mmacalc.disassemble, [(bytes.fromhex(code), arch) for code, arch in (
        ("0081ccd310250204", "gfx942"), ("800080bf", "gfx90a"), ("000080bf", "gfx1100"), ("000080bf", "gfx1200"))] * 2),
    "waits": (mmacalc.wait_states, [
        ("v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]", "v_mov_b32 v9, v1", arch)
        for arch in ("gfx942", "gfx950")] * 4),
    "operands": (lambda arch, name: MFMA.operand("A", cbsz=0).locate(i=3, k=9), [("", "")] * 8),
    "command lines": (lambda *words: mmacalc.cli.answer(list(words)), [
        ("find", "-a", "cdna3", "--m", "16"), ("-a", "cdna3", "-L"), ("-a", "rdna4", "-L"),
        ("-a", "sm_90a", "-L")] * 2),
}
answer, given = ASK[sys.argv[1]]
if sys.argv[1] == "operands":
    MFMA = mmacalc.instruction("cdna3", "v_mfma_f32_16x16x16_f16")
sys.setswitchinterval(1e-6)
barrier, said = threading.Barrier(len(given)), [None] * len(given)

def ask(number):
    barrier.wait()
    try:
        said[number] = str(answer(*given[number]))
    except BaseException as problem:
        said[number] = f"{type(problem).__name__}: {problem}"

threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(given))]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
alone = [str(answer(*one)) for one in given]
print([pair for pair in zip(said, alone) if pair[0] != pair[1]])
"""


@pytest.mark.parametrize("topic", ["names", "products", "machine code", "waits", "operands", "command lines"])
def test_eight_threads_that_ask_first_are_answered_as_one_that_asks_later(topic):
    for _ in range(4 if topic == "names" else 2):
        done = subprocess.run([sys.executable, "-c", QUESTIONS, topic], capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("[]\n", "")


# --- immutability -----------------------------------------------------------------------------------------------------


def answers():
    """An object of every kind that the public functions give."""
    yield MFMA
    yield mmacalc.instruction("cdna4", "v_mfma_scale_f32_16x16x128_f8f6f4")
    yield mmacalc.instruction("sm_90a", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    tcgen05 = mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::f16").shaped(m=128, n=64)
    yield from (tcgen05, tcgen05.operand("D"), tcgen05.operand("D").loaded("32x32b", 32))
    yield mmacalc.instruction("B200", "tcgen05.ld.sync.aligned.16x256b.x2.b32")
    yield mmacalc.instruction("xe-hpc", "dpas.8x8.f.f.bf.bf").operand("A")
    yield from (MFMA.operand(name) for name in MFMA.operands)
    yield MFMA.operand("A").locate(i=3, k=9)
    yield MFMA.operand("A").contents(register=0, lane=35)
    yield mmacalc.catalog.product("MI300X")
    yield mmacalc.chain(MFMA, MFMA, "B")
    yield mmacalc.compare(MFMA, mmacalc.instruction("cdna4", MFMA.name))
    yield mmacalc.estimate("gfx942", 256, 256, 256, "f16")
    yield mmacalc.explain("v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]", "gfx942")
    yield mmacalc.lint("v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]\nv_mov_b32 v9, v1", "gfx942")
    yield mmacalc.memory(MFMA.operand("A"))
    yield mmacalc.numerics(MFMA)
    yield mmacalc.wait_states("s_nop 0", "s_nop 0", "gfx942")
    yield mmacalc.intrinsic(MFMA)
    yield mmacalc.diagnose(MFMA, np.ones((16, 16)), np.ones((16, 16)), d=np.ones((16, 16)))
    yield from mmacalc.load(str(Path(__file__).parent / "data" / "llvm" / "scale_gfx942.hsaco")).values()


def parts(value, path, seen):
    """Every value that can be reached from an answer, with the path that leads to it."""
    if id(value) in seen or isinstance(value, (str, bytes, int, float, type(None), np.ndarray, range)):
        return
    seen[id(value)] = value
    yield path, value
    if isinstance(value, Record):
        held = dict(vars(value))
    elif isinstance(value, (Frozen, Layout)):
        names = vars(value) if isinstance(value, Frozen) else value.__slots__
        held = {name: getattr(value, name) for name in names}
    elif isinstance(value, TupleRecord) or hasattr(value, "_fields"):
        held = value._asdict()
    elif isinstance(value, (tuple, frozenset)):
        held = dict(enumerate(value))
    elif hasattr(value, "items"):
        held = dict(value.items())
    else:
        return
    for name, inner in held.items():
        yield from parts(inner, f"{path}.{name}", seen)


# Of a loaded kernel, the variables are the memory of a device: launches change them, and the documentation says so.
DEVICE = ("Kernel.variables",)
IMMUTABLE = (tuple, frozenset, MappingProxyType, Frozen, Layout, np.generic)


def test_nothing_that_a_public_answer_leads_to_can_be_changed():
    seen, found = {}, {}
    for answer in answers():
        for path, value in parts(answer, type(answer).__name__, seen):
            if not isinstance(value, IMMUTABLE) and not callable(value):
                found[path] = type(value).__name__
    assert [path for path in found if path not in DEVICE] == []
    assert len(seen) > 300


def test_every_attribute_of_every_record_refuses_to_be_set_deleted_or_reached_through_vars():
    tried = 0
    for answer in answers():
        for path, value in parts(answer, type(answer).__name__, {}):
            if path in DEVICE or (isinstance(value, tuple) and not hasattr(value, "_fields")):
                continue
            for name in [name for name in dir(value) if not name.startswith("__")]:
                with pytest.raises((AttributeError, TypeError)):
                    setattr(value, name, 5)
                with pytest.raises((AttributeError, TypeError)):
                    delattr(value, name)
                tried += 1
            if hasattr(value, "__dict__"):
                with pytest.raises(TypeError):
                    vars(value)["m"] = 7
    assert tried > 1000


def test_what_was_handed_out_cannot_move_an_element_of_another_user():
    a = MFMA.operand("A")
    before = a.locate(i=3, k=9), mmacalc.instruction("cdna4", MFMA.name).operand("A").locate(i=3, k=9)
    for change in (
        lambda: a.copies().append((1, 1)),
        lambda: a.steps("k").__setitem__(0, (9, 1)),
        lambda: a.layout.sizes.__setitem__("i", 3),
        lambda: a.layout.places.clear(),
        lambda: a.placement.fields.update(x=1),
        lambda: a.layout.axis_tables()["k"]["lane"].append(1),
        lambda: setattr(a.layout, "axes", ("x", "y", "z")),
        lambda: vars(MFMA).update(m=7),
        lambda: MFMA.formats.update(A="f32"),
        lambda: MFMA.architecture.notes.clear(),
    ):
        with pytest.raises((AttributeError, TypeError)):
            change()
    mine = {"A": "f16"}
    record = mmacalc.Architecture("x1", "X1", "amd", "mfma", (64,), format_names=mine)
    mine["A"] = "f32"  # a record does not see what its maker's dictionary becomes
    assert record.format_names == {"A": "f16"}
    assert (a.locate(i=3, k=9), mmacalc.instruction("cdna4", MFMA.name).operand("A").locate(i=3, k=9)) == before


# --- caches -----------------------------------------------------------------------------------------------------------


@functools.cache
def modules():
    paths = sorted(SOURCE.rglob("*.py"))
    return [(path.relative_to(SOURCE).as_posix(), syntax_tree(path)) for path in paths]


def test_every_cache_of_a_function_with_arguments_has_a_size():
    unbounded = []
    for path, tree in modules():
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef) and (function.args.args or function.args.kwonlyargs):
                words = [ast.unparse(decorator) for decorator in function.decorator_list]
                if "cache" in words or "lru_cache(maxsize=None)" in words or "lru_cache(None)" in words:
                    unbounded.append(f"{path}:{function.lineno} {function.name}")
    assert unbounded == []


# Mutable values of modules that functions fill, each with why it cannot grow and what two threads do to it.
FILLED = {
    ("base/checks.py", "_classes"): "one entry for each class, when its module is imported",
    (
        "kernels/device/memory.py",
        "_kept",
    ): "one entry for each array whose address is known, while it exists; locked",
    ("base/records.py", "FORMS"): "one entry for each record with keys of its own, when its module is imported",
    ("kernels/ptx/statements.py", "BUILDERS"): "filled once, when the module is imported",
}


def test_no_module_has_a_dictionary_that_its_functions_fill_but_those_that_are_explained():
    filling = ("append", "update", "setdefault", "add", "extend", "insert")
    found = set()
    for path, tree in modules():
        own = set()
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            own |= {target.id for target in targets if isinstance(target, ast.Name)}
        for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)] if own else ():
            nodes, filled = [*ast.walk(function)], set()
            for node in nodes:
                if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                    filled.add(getattr(node.value, "id", ""))
                if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in filling:
                    filled.add(getattr(node.func.value, "id", ""))
            if filled & own:
                local = {node.arg for node in nodes if isinstance(node, ast.arg)}
                local |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
                found |= {(path, name) for name in filled & own - local}
    assert found == set(FILLED)


def test_a_cache_keeps_no_more_than_it_may_and_answers_threads_alike():
    from concurrent.futures import ThreadPoolExecutor

    cache = Cache(16)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: cache.get(n % 40, lambda: (n % 40,)), range(20_000)))
    assert found == [(n % 40,) for n in range(20_000)]
    assert len(cache) <= 16


IMAGINARY = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text().partition("```python\n")[2].partition("```")[0]


@pytest.mark.exhaustive
def test_thousands_of_variants_of_operands_and_hundreds_of_catalogs_leave_memory_as_it_was(tmp_path):
    """Each catalog has a file of its own, and each of its instructions is asked for all that is kept."""
    from mmacalc.catalog.grammar import Entry, read_literals
    from mmacalc.catalog.grammar.check import check_file

    mfma = mmacalc.instruction("cdna3", "v_mfma_f32_4x4x1_16b_f32")
    tcgen05 = mmacalc.instruction("B200", "tcgen05.mma.cta_group::1.kind::f16")

    def ask(number):
        name = f"dna{number}"
        text = IMAGINARY.replace("dna9", name).replace("gfx9999", f"gfx8{number:05}").replace("mi9000", f"m{number}")
        (tmp_path / "dna.py").write_text(text)
        found = read_literals(str(tmp_path / "dna.py"))
        check_file(found)
        for inst in Entry(found.records[0], found).instructions():
            for operand in map(inst.operand, inst.operands):
                assert operand.locate()
                assert operand.einops
        for more in range(10):
            mfma.operand("A", cbsz=number % 5, abid=more % (1 << number % 5)).locate(i=3)
            mfma.operand("B", blgp=more % 8).layout.copy_offsets({"opsel": number})
            tcgen05.shaped(m=128, n=8 * (1 + number % 32), d=("f16", "f32")[more % 2])

    def held(numbers):
        for number in numbers:
            ask(number)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        first = held(range(400))  # every cache is full
        second = held(range(400, 1000))
    finally:
        tracemalloc.stop()
    assert second - first < 4_000 * 600


def test_catalogs_do_not_share_what_they_read(tmp_path):
    (tmp_path / "dna9.py").write_text(IMAGINARY)
    assert "dna9" in Catalog([str(tmp_path / "dna9.py")]).names()
    assert "dna9" not in mmacalc.architectures()
    assert json.dumps(sorted(Catalog().names())) == json.dumps(sorted(mmacalc.architectures()))
