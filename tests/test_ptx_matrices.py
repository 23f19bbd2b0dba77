"""Every mma of the catalog as a statement of PTX, bit for bit with `Instruction.execute`."""

import numpy as np

import mmacalc
from mmacalc.kernels.ptx.kernel import PtxKernel
from mmacalc.kernels.ptx.launch import Launch
from mmacalc.ptx.reader import read
from samples import sampled

TARGETS = ("sm_75", "sm_80", "sm_90a", "sm_120a")
ORDER = ("A", "B", "C", "K", "SA", "SB")


def multiplications(target):
    """The mma of a target that those before it lack."""
    earlier = {inst.name for before in TARGETS[: TARGETS.index(target)] for inst in mmacalc.instructions(before)}
    return [inst for inst in mmacalc.instructions(target) if inst.name.startswith("mma.") and inst.name not in earlier]


def statement(inst, constants):
    """The mma with its operands: registers %w0 ... of 32 bits, %q0 ... of 64, in the order of ORDER, D last."""
    texts, place = {}, 0
    for name in (*[name for name in ORDER if name in inst.register_operands], "D"):
        wide = inst.format(name).bits == 64 if name in "ABCD" else False
        count = inst.operand(name).registers
        each = [
            f"%{'q' if wide else 'w'}{place + at * (2 if wide else 1)}" for at in range(count // (2 if wide else 1))
        ]
        texts[name] = "{" + ", ".join(each) + "}" if name in "ABCD" else each[0]
        place += count
    parts = [texts[name] for name in "DABC"]
    if inst.sparse:
        parts += [texts["K"], str(constants["selector"])]
    for side in "ab" if inst.scaled else "":
        ids = f"{{{constants[f'byte_id_{side}']}, {constants[f'thread_id_{side}']}}}"
        parts += [texts[f"S{side.upper()}"], ids]
    return f"{inst.name} {', '.join(parts)};", place


def kernel_of(inst, number, constants):
    """Loads all registers of a lane, executes the instruction, stores D's."""
    line, count = statement(inst, constants)
    row = count + (count & 1)
    given = count - inst.operand("D").registers
    wide = {place for name in "ABCD" for place in places(inst, name) if inst.format(name).bits == 64}
    lines = []
    for place in range(count):
        if place in wide:
            if place - 1 in wide and (place - min(wide)) % 2:
                continue
            access, register, at = "b64", f"%q{place}", 4 * place
        else:
            access, register, at = "b32", f"%w{place}", 4 * place
        lines.append(
            (place, f"ld.global.{access} {register}, [%rd1+{at}];", f"st.global.{access} [%rd1+{at}], {register};")
        )
    loads = "".join(load for place, load, _ in lines if place < given)
    stores = "".join(store for place, _, store in lines if place >= given)
    return (
        f".visible .entry k{number}(.param .u64 p) {{\n"
        ".reg .b64 %rd<4>; .reg .b32 %r<3>; .reg .b32 %w<64>; .reg .b64 %q<64>;\n"
        f"ld.param.u64 %rd1, [p]; mov.u32 %r1, %laneid; mul.wide.u32 %rd2, %r1, {4 * row}; add.u64 %rd1, %rd1, %rd2;\n"
        f"{loads}\n{line}\n{stores} ret; }}\n"
    ), row  # fmt: skip


def places(inst, name):
    start = 0
    for other in (*[one for one in ORDER if one in inst.register_operands], "D"):
        if other == name:
            return range(start, start + inst.operand(name).registers)
        start += inst.operand(other).registers
    raise AssertionError(name)


@sampled("target", TARGETS, 2)
def test_every_multiplication_is_that_of_the_catalog(target):
    random = np.random.default_rng(5)
    for number, inst in enumerate(multiplications(target)):
        constants = {"selector": 0, "byte_id_a": 0, "thread_id_a": 0, "byte_id_b": 0, "thread_id_b": 0}
        text, count = kernel_of(inst, number, constants)
        module = read(f".version 9.0\n.target {target}\n.address_size 64\n{text}")
        files = random.integers(0, 1 << 32, (32, count), np.uint32)
        if inst.sparse:
            files[:, places(inst, "K")] = 0x44444444
        given = {name: files[:, places(inst, name)].T.copy() for name in ORDER if name in inst.register_operands}
        report = Launch(PtxKernel(module, f"k{number}"), 1, 32, (files,)).run()
        more = {"index": given.get("K"), "scale_a": given.get("SA"), "scale_b": given.get("SB")}
        wanted = inst.execute(
            given["A"], given["B"], given["C"], **{key: value for key, value in more.items() if value is not None}
        )
        assert not report.findings, str(report)
        assert (wanted == files[:, places(inst, "D")].T).all(), inst.name


def test_scales_stand_in_braces_and_their_selectors_in_registers_as_cutlass_writes_them():
    inst = next(one for one in mmacalc.instructions("sm_120a") if "mxf4nvf4" in one.name and not one.sparse)
    constants = {"byte_id_a": 0, "thread_id_a": 1, "byte_id_b": 0, "thread_id_b": 1}
    text, row = kernel_of(inst, 0, constants)
    line, _ = statement(inst, constants)
    other = line
    for scale in line.replace("{0, 1}", "ids").rstrip(";").split(", ")[-4::2]:
        other = other.replace(f", {scale}, ", f", {{{scale}}}, ")
    other = other.replace("{0, 1}", "{%h0, %h1}")
    assert other.count("%h") == 4
    registers = text.replace(line, f".reg .b16 %h<2>; mov.b16 %h0, 0; mov.b16 %h1, 1;\n{other}")
    rng, results = np.random.default_rng(0), []
    words = rng.integers(0, 1 << 32, (32, row), np.uint32)
    for one in (text, registers):
        lanes = words.copy()
        mmacalc.launch(mmacalc.load(f".version 8.8\n.target sm_120a\n.address_size 64\n{one}")["k0"], 1, 32, lanes)
        results.append(lanes)
    assert (results[0] != words).any()
    assert np.array_equal(*results)
