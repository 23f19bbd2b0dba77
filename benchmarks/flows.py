"""How far a question walks through the package: calls, functions, files entered and changes of file.

    python benchmarks/flows.py
    python benchmarks/flows.py get draw --files

The flows are answered in the order of `FLOWS` in one process, each twice: the first time (cold, with the modules that
it imports; `mmacalc.cli` is imported before) and the second (warm). Counted are the calls of functions of mmacalc,
module bodies among them, but no comprehensions or generator expressions, some of which newer Pythons inline. A change
of file is a call into another file than the call before. `--files` prints the files of the first time, with the calls
in each and the changes into it; `--json` the figures alone.
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


FLOWS = {
    "get": command_line(*INSTRUCTION, "-A", "-g", "-I", "3", "-K", "9"),
    "detail": command_line(*INSTRUCTION, "-d"),
    "draw": command_line("draw", *INSTRUCTION, "-o", str(Path(tempfile.gettempdir(), "flow.svg"))),
    "gemm": command_line("gemm", "-a", "gfx942", "--gemm", "64x64x64", "--type", "f16"),
    "explain": command_line("explain", "-a", "gfx942", "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]"),
}


def counted(name):
    """Whether calls of a function of this name are counted."""
    return not name.startswith("<") or name in ("<module>", "<lambda>")


def walked(flow, main):
    """What the profiler sees of one answer: calls by (file, function, line), changes by the file that they enter."""
    calls, changes, last = Counter(), Counter(), ""

    def hook(frame, event, _):
        nonlocal last
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and counted(code.co_name):
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
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.here:  # a process of its own, so that nothing is imported before
        raise SystemExit(subprocess.run([sys.executable, __file__, "--here", *sys.argv[1:]], check=False).returncode)
    sys.path.insert(0, str(ROOT / "src"))
    from mmacalc.cli import main as cli

    result = {}
    if not options.json:
        print(f"{'flow':16} {'cold: calls':>12} functions  files changes {'warm: calls':>12} functions  files changes")
    for name in options.flows or FLOWS:
        cold, warm = walked(FLOWS[name], cli), walked(FLOWS[name], cli)
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
