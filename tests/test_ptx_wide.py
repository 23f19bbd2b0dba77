"""Registers of 128 bits: moves, loads, stores, exchanges and comparisons move the bits as they are, undefined as a
whole."""

from __future__ import annotations

import numpy as np
import pytest

from mmacalc.kernels.ptx.kernel import PtxKernel
from mmacalc.kernels.ptx.launch import Launch
from mmacalc.kernels.ptx.report import PtxReport
from mmacalc.ptx.reader import read

HEAD = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p) {
.reg .b128 %q<9>; .reg .b64 %l<9>; .reg .b32 %r<4>; .reg .pred %o<3>;
.shared .align 16 .b8 s[512];
ld.param.u64 %l1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %l2, %r1, 16; add.u64 %l2, %l2, %l1;
mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 16, %r2;
setp.gt.u32 %o1, %r1, 4;
"""


def launched(body: str) -> tuple[PtxReport, np.ndarray, np.ndarray]:
    """The report, and two words of each of 66 places before and after."""
    given = np.random.default_rng(0).integers(0, 1 << 64, (66, 2), np.uint64)
    given[:4] = [[0x7FF8000000000001, 0xFFF0000000000001], [0, 1 << 63], [1 << 63, 0], [(1 << 64) - 1] * 2]
    after = given.copy()
    report = Launch(PtxKernel(read(f"{HEAD}{body}\nret; }}"), "k"), 1, 32, [after]).run()
    return report, given, after


def test_words_are_moved_as_they_are() -> None:
    report, before, after = launched(
        "ld.global.b128 %q1, [%l2]; mov.b128 {%l3, %l4}, %q1; mov.b128 %q2, {%l4, %l3}; mov.b128 %q3, %q2;\n"
        "st.shared.b128 [%r2], %q3; ld.shared.b128 %q4, [%r2]; st.global.b128 [%l2], %q4;"
    )
    assert not report.findings
    assert (after[:32] == before[:32, ::-1]).all()


def test_exchange_and_comparison_are_of_all_bits() -> None:
    report, before, after = launched(
        "add.u64 %l5, %l1, 1024; ld.global.b128 %q1, [%l2];\n"
        "atom.global.exch.b128 %q2, [%l5], %q1;\n"  # the last thread's remains
        "setp.eq.u32 %o2, %r1, 31;\n"
        "@%o2 atom.global.cas.b128 %q3, [%l5], %q2, %q1;\n"  # other bits: nothing is written
        "@%o2 atom.global.cas.b128 %q3, [%l5], %q1, %q2;\n"
        "@%o2 st.global.b128 [%l5+16], %q3;"
    )
    assert not report.findings
    assert (after[64] == before[30]).all()
    assert (after[65] == before[31]).all()


@pytest.mark.parametrize(
    ("body", "threads"),
    [
        ("@%o1 mov.b128 %q2, {%l1, %l2}; st.global.b128 [%l2], %q2;", range(5)),
        ("@%o1 mov.b128 %q2, {%l1, %l2}; mov.b128 %q3, %q2; @%o1 st.global.b128 [%l2], %q3;", ()),
        ("@%o1 mov.b128 %q2, {%l1, %l2}; mov.b128 {%l3, %l4}, %q2; st.global.b64 [%l2], %l4;", range(5)),
        ("ld.shared.b128 %q3, [%r2]; st.global.b128 [%l2], %q3;", range(32)),
    ],
)
def test_what_nothing_has_written_is_followed(body: str, threads: range) -> None:
    report, _, _ = launched(body)
    assert [finding.kind for finding in report.findings] == (["uninitialised"] if threads else [])
    assert all(finding.threads == tuple(threads) for finding in report.findings)


@pytest.mark.parametrize(
    ("atomic", "words"),
    [
        ("red.global.add.u32 [%l2], %r3;", ["%r3, which no instruction has written, is an operand"]),
        ("red.add.u32 [%l2], %r3;", ["%r3, which no instruction has written, is an operand"]),
        ("atom.global.exch.b32 %r2, [%l2], %r3;", ["%r3, which no instruction has written, is an operand"]),
        ("atom.global.cas.b32 %r2, [%l2], %r1, %r3;", ["%r3, which no instruction has written, is an operand"]),
        ("atom.global.cas.b32 %r2, [%l2], %r3, %r1;", ["%r3, which no instruction has written, is an operand"]),
        ("atom.shared.exch.b32 %r3, [%r2], %r3; ld.shared.u32 %r3, [%r2]; st.global.u32 [%l2], %r3;",
         ["%r3, which comes from memory that nothing has written, is stored"]),
        ("atom.shared.exch.b32 %r3, [%r2], %r1; ld.shared.u32 %r3, [%r2]; st.global.u32 [%l2], %r3;", []),
    ],
)  # fmt: skip
def test_operands_of_atomic_operations_that_nothing_has_written_are_found(atomic: str, words: list[str]) -> None:
    report, _, _ = launched(atomic)
    assert [(one.kind, one.message) for one in report.findings] == [("uninitialised", word) for word in words]


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_a_narrow_store_reads_the_low_bits_of_its_register(bits: int, place: int) -> None:
    # cvt to two fp8 leaves 16 bits, which CuTe's DSL packs with a half that nothing has written before st.b8.
    byte = f"shr.b32 %r3, %r3, {8 * place};"
    report, _, _ = launched(f"{{ .reg .b16 %h<3>; mov.b16 %h1, 5; mov.b32 %r3, {{%h1, %h2}}; {byte} "
                            f"st.global.b{bits} [%l2], %r3; }}")  # fmt: skip
    assert bool(report.findings) == (bits > 16 - 8 * place)
