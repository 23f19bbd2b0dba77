"""Bytes of shared memory that PTX writes and nothing reads: a note with the statement, and none where all is read."""

import re

import numpy as np
import pytest

import mmacalc
from mmacalc.emulator import core

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"
PAIR = " .explicitcluster .reqnctapercluster 2"
SETUP = """
.visible .entry k(.param .u64 in, .param .u64 out){attributes}
{{
  .reg .pred %p<4>; .reg .b32 %r<12>; .reg .f32 %f<6>; .reg .b64 %rd<8>;
  .shared .align 128 .b8 pad[256];
  .shared .align 128 .b8 tile[1024];
  .shared .align 8 .b64 full;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd4, %rd1, %rd3;
  add.u64 %rd5, %rd2, %rd3;
  mov.u32 %r2, tile;
  mad.lo.u32 %r3, %r1, 4, %r2;
  setp.eq.u32 %p1, %r1, 0;
"""
PLAIN = """
  ld.global.f32 %f1, [%rd4];
  st.shared.f32 [%r3], %f1;
  bar.sync 0;
  ld.shared.f32 %f2, [%r3];
  st.global.f32 [%rd5], %f2;
  ret;
}
"""
BULK = """
  ld.global.f32 %f1, [%rd4];
  st.shared.f32 [%r3], %f1;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r2], 512;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
}
"""
LOADED = """
  @%p1 mbarrier.init.shared::cta.b64 [full], 1;
  @%p1 fence.mbarrier_init.release.cluster;
  bar.sync 0;
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 512;
  @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 512, [full];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0;
  @!%p2 bra WAIT;
  ld.shared.f32 %f2, [%r3];
  st.global.f32 [%rd5], %f2;
  ret;
}
"""
RING = """
  mov.u32 %r4, 0;
  cp.async.ca.shared.global [%r3], [%rd4], 4;
NEXT:
  cp.async.wait_all;
  bar.sync 0;
  ld.shared.f32 %f2, [%r3];
  bar.sync 0;
  cp.async.ca.shared.global [%r3], [%rd4], 4;
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p2, %r4, 3;
  @%p2 bra NEXT;
  cp.async.wait_all;
  st.global.f32 [%rd5], %f2;
  ret;
}
"""
PEER = """
  ld.global.f32 %f1, [%rd4];
  mov.u32 %r5, %cluster_ctarank;
  xor.b32 %r5, %r5, 1;
  mapa.shared::cluster.u32 %r6, %r3, %r5;
  mov.u32 %r7, %ctaid.x;
  mul.wide.u32 %rd6, %r7, 512;
  add.u64 %rd5, %rd5, %rd6;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  st.shared::cluster.f32 [%r6], %f1;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ld.shared.f32 %f2, [%r3];
  st.global.f32 [%rd5], %f2;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
}
"""
ADDED = """
  mov.u32 %r4, 1;
  st.shared.u32 [%r3], %r4;
  bar.sync 0;
  red.shared.add.u32 [%r3], %r4;
  bar.sync 0;
  ld.shared.u32 %r5, [%r3];
  st.global.u32 [%rd5], %r5;
  ret;
}
"""


def text_of(body, attributes=""):
    return HEAD + SETUP.format(attributes=attributes) + body


def unread(text, value=None, grid=1):
    """The notes of a launch by 128 threads, each with the text of its statement."""
    given = np.arange(1, 257, dtype=np.float32) if value is None else np.full(256, value, np.float32)
    report = mmacalc.launch(mmacalc.load(text)["k"], grid, 128, given, np.zeros(256, np.float32))
    assert not [one for one in report.findings if one.kind != "uninitialised"]
    found = []
    for note in report.notes:
        lines, _, says = re.sub(r" \(\d+ times\)$", "", note).partition(": ")
        found += [(text.splitlines()[int(line) - 1].strip(), says) for line in re.findall(r"\d+", lines)]
    return found


@pytest.mark.parametrize("body", [PLAIN, BULK, LOADED, RING, ADDED])
def test_what_is_read_by_any_proxy_before_it_is_overwritten_has_no_note(body):
    assert unread(text_of(body)) == []
    assert unread(text_of(PEER, PAIR), grid=2) == []


ST, ALL = "st.shared.f32 [%r3], %f1;", "that nothing reads: bytes"
UNREAD = [  # what is changed, to what, and the statement that is noted, with what
    (PLAIN, "ld.shared.f32 %f2, [%r3]", "ld.shared.f32 %f2, [%r2+4]", ST, "508 bytes", "0-3, 8-511"),
    (PLAIN, "ld.shared.f32 %f2, [%r3]", "ld.shared.f32 %f2, [%r3+16]", ST, "16 bytes", "0-15"),
    (BULK, "[%rd2], [%r2], 512", "[%rd2], [%r2], 256", ST, "256 bytes", "256-511"),
    (LOADED, "ld.shared.f32 %f2, [%r3]", "ld.shared.f32 %f2, [%r3+64]",
     "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 512, [full];",
     "64 bytes", "0-63"),
    (RING, "ld.shared.f32 %f2, [%r3]", "ld.shared.f32 %f2, [%r2]",
     "cp.async.ca.shared.global [%r3], [%rd4], 4;", "508 bytes", "4-511"),
    (ADDED, "ld.shared.u32 %r5, [%r3]", "ld.shared.u32 %r5, [%r3+4]",
     "red.shared.add.u32 [%r3], %r4;", "4 bytes", "0-3"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "old", "new", "statement", "size", "bytes_"), UNREAD)
@pytest.mark.parametrize("compiled", [True, False])
def test_what_nothing_reads_is_noted_with_its_statement(body, old, new, statement, size, bytes_, compiled, monkeypatch):
    assert body.count(old) == 1
    if not compiled:
        monkeypatch.setattr(core, "function", lambda *_: None)
    says = f"writes {size} of tile in shared memory {ALL} {bytes_}"
    assert (statement, says) in unread(text_of(body.replace(old, new)))


def test_zeros_that_nothing_reads_are_what_is_put_where_there_is_nothing_to_copy():
    text = text_of(PLAIN.replace("ld.shared.f32 %f2, [%r3]", "ld.shared.f32 %f2, [%r2]"))
    assert unread(text, 0.0) == []
    assert len(unread(text, 1.0)) == 1


def test_what_another_cta_writes_and_nothing_reads_is_noted():
    text = text_of(PEER, PAIR).replace("ld.shared.f32 %f2, [%r3]", "mov.f32 %f2, %f1")
    assert unread(text, grid=2) == [
        ("st.shared::cluster.f32 [%r6], %f1;", f"writes 512 bytes of tile in shared memory {ALL} 0-511")
    ]
