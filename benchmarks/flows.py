"""How far a question walks through the package: calls, functions, files entered and changes of file.

    python benchmarks/flows.py
    python benchmarks/flows.py get draw --files
    python benchmarks/flows.py assemble disassemble decode lint waits launch generate diagnose

There are two groups, `QUESTIONS` and `MACHINE`. The flows of a group are answered in their order in one process, each
twice: the first time (cold, with the modules that it imports; `mmacalc.cli` is imported before) and the second (warm).
Counted are the calls of functions of mmacalc,
module bodies among them, but no comprehensions or generator expressions, some of which newer Pythons inline. A change
of file is a call into another file than the call before. `--files` prints the files of the first time, with the calls
in each and the changes into it; `--json` the figures alone. `--no-imports` leaves out what modules do when they are
imported: of the first time it shows what the question itself walks.
"""

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = str(ROOT / "src" / "mmacalc")
INSTRUCTION = ["-a", "gfx942", "-i", "v_mfma_f32_16x16x16_f16"]


def command_line(*words):
    """A flow that answers a command line."""

    def flow(main):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = main(list(words))
        if status:
            raise SystemExit(f"mmacalc {' '.join(words)} ends with status {status}: {out.getvalue()}")

    return flow


def lint(main):
    """Six lines, of which two are too close."""
    import mmacalc

    text = """
        ds_read_b128 v[0:3], v20
        s_waitcnt lgkmcnt(0)
        v_mfma_f32_32x32x8_f16 v[32:47], v[0:1], v[2:3], v[32:47]
        s_nop 3
        v_add_f32_e32 v48, v32, v33
        global_store_dword v[50:51], v48, off
    """
    assert len(mmacalc.lint(text, "gfx942").findings) == 1


def launch(main):
    """A kernel that exchanges values by LDS, compiled for gfx942, on a workgroup."""
    import numpy as np

    import mmacalc

    (kernel,) = mmacalc.load(ROOT / "tests/data/kernels/exchange_gfx942.hsaco").values()
    assert mmacalc.launch(kernel, 1, 256, np.zeros(256, np.float32), np.zeros(256, np.float32), 256).findings == ()


def generate(main):
    """A GEMM for MI300X."""
    import mmacalc

    mmacalc.generate(mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16"), gemm="256x256x256")


def diagnose(main):
    """A result that is transposed."""
    import numpy as np

    import mmacalc

    rng = np.random.default_rng(1)
    a, b = rng.integers(-8, 8, (32, 8)), rng.integers(-8, 8, (8, 32))
    inst = mmacalc.instruction("gfx942", "v_mfma_f32_32x32x8_f16")
    assert mmacalc.diagnose(inst, a, b, d=inst.multiply(a, b).T).explanations


def called(name, *arguments):
    """A flow that calls a function of mmacalc."""

    def flow(main):
        import mmacalc

        getattr(mmacalc, name)(*arguments)

    return flow


PRODUCT = "v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]"
MACHINE = {
    "assemble": called("assemble", PRODUCT, "gfx942"),
    "disassemble": called("disassemble", bytes.fromhex("0000ccd310250204"), "gfx942"),
    "decode": called("disassemble", bytes.fromhex("0000fed914000000"), "gfx942"),  # ds_read_b128 v[0:3], v20
    "lint": lint,
    "waits": called("wait_states", PRODUCT, "v_add_f32_e32 v20, v0, v1", "gfx942"),
    "launch": launch,
    "generate": generate,
    "diagnose": diagnose,
}
QUESTIONS = {
    "get": command_line(*INSTRUCTION, "-A", "-g", "-I", "3", "-K", "9"),
    "detail": command_line(*INSTRUCTION, "-d"),
    "draw": command_line("draw", *INSTRUCTION, "-o", str(Path(tempfile.gettempdir(), "flow.svg"))),
    "gemm": command_line("gemm", "-a", "gfx942", "--gemm", "64x64x64", "--type", "f16"),
    "explain": command_line("explain", "-a", "gfx942", "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]"),
}
FLOWS = QUESTIONS | MACHINE


def counted(name):
    """Whether calls of a function of this name are counted."""
    return not name.startswith("<") or name in ("<module>", "<lambda>")


def walked(flow, main, imports=True):
    """What the profiler sees of one answer: calls by (file, function, line), changes by the file that they enter.
    imports: count what modules do when they are imported."""
    calls, changes, last, importing = Counter(), Counter(), "", 0

    def hook(frame, event, _):
        nonlocal last, importing
        code = frame.f_code
        if not imports and code.co_name == "<module>" and event in ("call", "return"):
            importing += 1 if event == "call" else -1
        if event == "call" and not importing and code.co_filename.startswith(PACKAGE) and counted(code.co_name):
            file = code.co_filename[len(PACKAGE) + 1 :]
            calls[file, code.co_name, code.co_firstlineno] += 1
            if file != last:
                changes[file] += 1
                last = file

    sys.setprofile(hook)
    try:
        flow(main)
    finally:
        sys.setprofile(None)
    return calls, changes


def figures(calls, changes):
    return [calls.total(), len(calls), len(changes), changes.total()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flows", nargs="*", choices=[[], *FLOWS], help="default: all")
    parser.add_argument("--files", action="store_true", help="print the files of the first time")
    parser.add_argument("--json", action="store_true", help="print the figures alone")
    parser.add_argument("--no-imports", action="store_true", help="without what modules do when they are imported")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.here:  # a process of its own for each group, so that nothing is imported before
        groups = [[name for name in group if name in (options.flows or FLOWS)] for group in (QUESTIONS, MACHINE)]
        rest = [word for word in sys.argv[1:] if word not in FLOWS]
        for names in filter(None, groups):
            subprocess.run([sys.executable, __file__, "--here", *rest, *names], check=True)
        return
    sys.path.insert(0, str(ROOT / "src"))
    from mmacalc.cli import main as cli

    result = {}
    if not options.json:
        print(f"{'flow':16} {'cold: calls':>12} functions  files changes {'warm: calls':>12} functions  files changes")
    for name in options.flows or FLOWS:
        cold, warm = [walked(FLOWS[name], cli, not options.no_imports) for _ in range(2)]
        result[name] = {"cold": figures(*cold), "warm": figures(*warm)}
        if not options.json:
            row = "  ".join("{:12} {:9} {:6} {:7}".format(*result[name][time]) for time in ("cold", "warm"))
            print(f"{name:14}  {row}")
        if options.files:
            for file in cold[1]:
                of_file = {key[1]: count for key, count in cold[0].items() if key[0] == file}
                print(f"    {file:44} {sum(of_file.values()):6} calls {cold[1][file]:6} changes", end="")
                print("  (its body alone)" if set(of_file) == {"<module>"} else "")
    if options.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
