"""printf in PTX kernels: what vprintf writes is what C writes."""

import numpy as np
import pytest

import mmacalc
from mmacalc.cli import answer

KERNEL = """.version 8.0 .target sm_80 .address_size 64
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);
.global .align 1 .b8 word[4] = {{97, 98, 99, 0}};
.global .align 1 .b8 form[{size}] = {{{bytes}}};
.visible .entry k(.param .u64 out) {{
.local .align 16 .b8 depot[64]; .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p1;
mov.u64 %rd1, depot; cvta.local.u64 %rd2, %rd1;
mov.u32 %r1, %tid.x; sub.s32 %r2, %r1, 7; setp.gt.s32 %p1, %r1, 1;
st.local.u32 [%rd1], %r2; mov.u64 %rd3, 0x7FFFFFFFFFFFFFFF; st.local.u64 [%rd1+8], %rd3;
mov.u64 %rd3, 0x400921FB54442D18; st.local.u64 [%rd1+16], %rd3;
mov.u64 %rd3, word; cvta.global.u64 %rd4, %rd3; st.local.u64 [%rd1+24], %rd4;
mov.u32 %r3, 65; st.local.u32 [%rd1+32], %r3; mov.u32 %r3, 8; st.local.u32 [%rd1+36], %r3;
mov.u32 %r3, 48879; st.local.u32 [%rd1+40], %r3;
mov.u64 %rd5, {form}; cvta.global.u64 %rd6, %rd5;
{{ .param .b64 param0; st.param.b64 [param0+0], %rd6; .param .b64 param1; st.param.b64 [param1+0], %rd2;
.param .b32 retval0; @!%p1 call.uni (retval0), vprintf, (param0, param1); }}
{then} ret; }}"""
FORM = "%d|%lld|%.3f|%4s|%c|%*x|100%%\n"


def kernel(form="form", then=""):
    octets = [*FORM.encode(), 0]
    text = KERNEL.format(size=len(octets), bytes=", ".join(map(str, octets)), form=form, then=then)
    return text, mmacalc.load(text)["k"]


def test_each_thread_that_executes_it_writes_its_values_as_c_does():
    _, loaded = kernel()
    report = mmacalc.launch(loaded, 2, 3, np.zeros(1))
    lines = [f"{thread - 7}|{2**63 - 1}|3.142| abc|A|    beef|100%\n" for thread in (0, 1)]
    assert (report.printed, report.findings) == ("".join(lines) * 2, ())


def test_what_is_printed_stands_before_the_report_and_in_the_error_of_a_kernel_that_is_stopped(tmp_path):
    (tmp_path / "k.ptx").write_text(kernel()[0])
    reply = answer(["run-kernel", str(tmp_path / "k.ptx"), "--block", "1", "--args", "null"])
    assert reply.out.startswith("-7|9223372036854775807|3.142| abc|A|    beef|100%\nk for sm_80: ")
    _, stopped = kernel(then="trap;")
    with pytest.raises(mmacalc.Error, match=r"the kernel stops itself; .* Printed before that: -7\|"):
        mmacalc.launch(stopped, 1, 1, None)


def test_a_text_that_is_in_no_memory_is_refused():
    _, wrong = kernel(form="4096")
    with pytest.raises(mmacalc.Error, match="printf is given a text at 0x1000, where no global memory is"):
        mmacalc.launch(wrong, 1, 1, None)
