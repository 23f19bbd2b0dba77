"""Which target has which opcode, as ptxas says: what a module's .target lacks is refused with what it needs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import mmacalc
import recorded
from mmacalc.kernels.ptx import grammar
from ptx_opcodes import DECLARED
from samples import sampled

TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_100a", "sm_103a", "sm_110a",
           "sm_120", "sm_120f", "sm_121a")  # fmt: skip
ARITHMETIC = [(row["opcode"], row["operands"]) for row in recorded.table("ptx/opcodes.tsv.gz")]
# Opcodes of memory, warps and clusters, with operands.
STATEMENTS = [tuple(line.split(" ", 1)) for line in """
redux.sync.add.s32 %u1, %u2, 0xffffffff
redux.sync.min.f32 %g1, %g2, 0xffffffff
elect.sync _|%o1, 0xffffffff
mapa.shared::cluster.u32 %u1, %u2, %u3
getctarank.shared::cluster.u32 %u1, %u2
griddepcontrol.wait
setmaxnreg.inc.sync.aligned.u32 232
createpolicy.fractional.L2::evict_last.b64 %l1, 1.0
mbarrier.init.shared.b64 [%u1], 1
mbarrier.arrive.shared.b64 %l1, [%u1]
mbarrier.arrive.expect_tx.shared::cta.b64 %l1, [%u1], 16
mbarrier.test_wait.shared.b64 %o1, [%u1], %l1
mbarrier.try_wait.shared.b64 %o1, [%u1], %l1
barrier.cluster.arrive.aligned
barrier.sync 0
bar.sync 0
fence.proxy.async
fence.proxy.alias
fence.acq_rel.gpu
fence.mbarrier_init.release.cluster
cp.async.ca.shared.global [%u1], [%l1], 16
cp.async.commit_group
cp.async.bulk.commit_group
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%u1], [%l1], 16, [%u2]
ld.global.b128 %w1, [%l1]
st.global.b128 [%l1], %w1
mov.b128 %w1, %w2
atom.global.exch.b128 %w1, [%l1], %w2
wgmma.fence.sync.aligned
wgmma.commit_group.sync.aligned
tcgen05.wait::ld.sync.aligned
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %u1, 32
stmatrix.sync.aligned.m8n8.x1.shared.b16 [%u1], {%u2}
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%u2}, [%u1]
shfl.sync.idx.b32 %u1, %u2, 0, 31, 0xffffffff
match.any.sync.b32 %u1, %u2, 0xffffffff
st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%u1], %u2, [%u3]
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%u1], %u2, [%u3]
st.bulk.weak.shared::cta [%u1], %l1, 0
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%l1], [%u1], %u2
cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes \
[%u1], [%l1, {%u1,%u1,%u1,%u1,%u1}], [%u2]
cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes \
[%u1], [%l1, {%u1,%u1,%u1,%u1,%u1}], [%u2]
cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%l1, {%u1,%u1,%u1,%u1,%u1}], [%u2]
cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes \
[%u1], [%l1, {%u1,%u1,%u1}], [%u2], {5}
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%u1], [%u2]
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%u1], [%u2]
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %o1, %w1
multimem.red.relaxed.sys.global.add.u32 [%l1], %u1
discard.global.L2 [%l1], 128
applypriority.global.L2::evict_normal [%l1], 128
fns.b32 %u1, %u2, %u3, %u3
prefetch.tensormap [%l1]
prefetch.global.L2 [%l1]
prefetch.global.L2::evict_last [%l1]
fence.acquire.sync_restrict::shared::cluster.cluster
ld.global.v8.b32 {%u1,%u2,%u3,%u0,%u1,%u2,%u3,%u0}, [%l1]
atom.global.add.v2.f32 {%g1,%g2}, [%l1], {%g1,%g2}
atom.acq_rel.gpu.global.cas.b32 %u1, [%l1], %u2, %u3
tcgen05.mma.ws.cta_group::1.kind::f16 [%u1], %l1, %l2, %u2, %o1
tcgen05.shift.cta_group::1.down [%u1]
tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {%g1,%g2}, %g1, [%u1]
""".strip().splitlines()]  # fmt: skip
MORE = ".reg .b128 %w<3>; .reg .b64 %l<3>; .reg .b32 %u<4>; .reg .f32 %g<3>; .reg .pred %o<3>; .shared .b64 place[4];"


def refused(folder: Path, target: str, lines: list[tuple[str, str]]) -> set[int]:
    """The places of the lines that ptxas refuses for a target."""
    assert shutil.which("ptxas"), "ptxas is missing: the targets are not checked"
    head = f".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k() {{\n{DECLARED}\n{MORE}\n"
    (folder / "k.ptx").write_text(head + "".join(f"{' '.join(line)};\n" for line in lines) + "ret;\n}\n")
    ran = subprocess.run(
        ["ptxas", "-arch", target, "k.ptx", "-o", "k.cubin"], cwd=folder, capture_output=True, text=True, check=False
    )
    return {int(number) - head.count("\n") - 1 for number in re.findall(r"line (\d+); error", ran.stdout + ran.stderr)}


@sampled("target", TARGETS, 5)
def test_a_target_has_the_opcodes_that_ptxas_takes_for_it(target: str, tmp_path: Path) -> None:
    opcodes = [(opcode, operands) for opcode, operands in ARITHMETIC if grammar.takes(*split(opcode))]
    sources = [operands.count(",") for _, operands in opcodes]
    three = [opcode[:3] in ("min", "max") and count == 3 for (opcode, _), count in zip(opcodes, sources)]
    lines = [*[line for line, more in zip(opcodes, three) if not more], *STATEMENTS]
    wrong = refused(tmp_path, target, lines)
    differ = [
        lines[at][0] for at in range(len(lines)) if grammar.has(target, *split(lines[at][0])) != (at not in wrong)
    ]
    assert differ == []


def split(opcode: str) -> tuple[str, tuple[str, ...]]:
    root, *words = opcode.split(".")
    return root, tuple(words)


@pytest.mark.parametrize(
    ("target", "statement", "needs"),
    [
        ("sm_80", "add.rn.bf16 %h1, %h2, %h3", "sm_90 or later"),
        ("sm_80", "max.f32 %f1, %f2, %f3, %f4", "with 3 sources needs sm_100 or later"),
        ("sm_90", "setmaxnreg.inc.sync.aligned.u32 232", "sm_90a, or an architecture-specific target"),
        ("sm_100", "cvt.rn.satfinite.e2m1x2.f32 %b1, %f1, %f2", "architecture- or family-specific target"),
        ("sm_100a", "wgmma.fence.sync.aligned", "sm_90a"),
    ],
)
def test_what_a_target_lacks_is_refused_with_what_it_needs(target: str, statement: str, needs: str) -> None:
    text = (
        f".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k() {{\n"
        f".reg .b16 %h<4>; .reg .f32 %f<5>; .reg .b8 %b<2>;\n{statement};\nret; }}"
    )
    kernel = mmacalc.load(text)["k"]
    ((line, _, why),) = kernel.uncovered()
    assert line == 6
    assert needs in why
    assert target in why
    with pytest.raises(mmacalc.Error, match="line 6"):
        mmacalc.launch(kernel, 1, 32)
