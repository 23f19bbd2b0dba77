"""How long the calculator takes: one query as a process, and the recorded answers in bulk, by kind of query.

    python benchmarks/bench_cli.py
    python benchmarks/bench_cli.py --against ../amd_matrix_instruction_calculator/matrix_calculator.py

One query as a whole process is set beside the bare interpreter (goal: at most 1.9 times as long). The recorded
command lines of AMD's tool are answered in one process; with `--against` that tool answers them too, in the same
process, each kind of query side by side (goal: ten times as fast), and the equal answers are counted.
"""

import argparse
import ast
import contextlib
import gzip
import io
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
QUERY = ["-a", "cdna3", "-i", "v_mfma_f32_16x16x16_f16", "-A", "-g", "-I", "3", "-K", "9"]
RECORDED = ("outputs_v1.3.2.jsonl.gz", "layouts_v1.3.2.jsonl.gz")
# The kinds of query, each by the spellings of its option; the first that fits counts.
KINDS = {
    "-L list": {"-L", "--list-instructions"},
    "-d detail": {"-d", "--detail-instruction"},
    "-o calculation": {"-o", "--output-calculation"},
    "-g register": {"-g", "--get-register"},
    "-m entry": {"-m", "--matrix-entry"},
    "-R registers": {"-R", "--register-layout"},
    "-M matrix": {"-M", "--matrix-layout"},
}


def seconds(command, repeat=40):
    """The median time of a command as a process."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def one_query(against):
    script = str(ROOT / "matrix_calculator.py")
    subprocess.run([sys.executable, script, *QUERY], stdout=subprocess.DEVNULL, check=True)  # writes the .pyc files
    bare, query = seconds([sys.executable, "-c", "pass"]), seconds([sys.executable, script, *QUERY])
    print(f"bare interpreter {bare * 1e3:.1f} ms; one query {query * 1e3:.1f} ms; {query / bare:.2f} times")
    if against:
        theirs = seconds([sys.executable, str(against), *QUERY], repeat=10)
        print(f"the other tool {theirs * 1e3:.1f} ms; {theirs / query:.1f} times as long as ours")


def recorded(name):
    """The command lines of a file of recorded answers, by kind, each with the answer (None where it is refused)."""
    kinds = {kind: [] for kind in KINDS}
    with gzip.open(ROOT / "tests/data/amd" / name, "rt", encoding="utf-8") as stream:
        for row in map(json.loads, stream):
            kind = next(kind for kind, spellings in KINDS.items() if not spellings.isdisjoint(row["argv"]))
            kinds[kind].append((row["argv"], row["stdout"] if row["exit"] == 0 else None))
    return {kind: rows for kind, rows in kinds.items() if rows}


def loaded(path):
    """A script as a function of its arguments, which runs what stands under `if __name__ == "__main__":`.

    Everything else of the script is run once, here, so that only its answers are timed.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guards = [node for node in tree.body if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)]
    rest = ast.Module([node for node in tree.body if node not in guards], [])
    program = compile(ast.Module([line for node in guards for line in node.body], []), str(path), "exec")
    names = {"__name__": "__main__", "__file__": str(path.resolve())}
    sys.path.insert(0, str(path.resolve().parent))
    exec(compile(rest, str(path), "exec"), names)

    def answer(argv):
        sys.argv = [str(path), *argv]
        out = io.StringIO()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.suppress(SystemExit),
        ):
            exec(program, names)
        return out.getvalue()

    return answer


def timed(answer, rows):
    """The seconds that all answers take, and how many are the recorded ones."""
    start = time.perf_counter()
    answers = [answer(argv) for argv, _ in rows]
    return time.perf_counter() - start, sum(text == expected for text, (_, expected) in zip(answers, rows))


def in_bulk(against):
    sys.path.insert(0, str(ROOT / "src"))
    from mmacalc.cli import answer

    tools = {"ours": lambda argv: answer(argv).out} | ({"theirs": loaded(against)} if against else {})
    for name in RECORDED:
        kinds = recorded(name)
        print(f"\n{name}: queries, answered, " + ", ".join(f"{tool}: a second, equal" for tool in tools))
        totals = dict.fromkeys(tools, 0.0)
        for kind, rows in kinds.items():
            results = {tool: timed(function, rows) for tool, function in tools.items()}
            totals = {tool: totals[tool] + results[tool][0] for tool in tools}
            line = "".join(f"{len(rows) / taken:10.0f} {equal:6}" for taken, equal in results.values())
            answered = sum(expected is not None for _, expected in rows)
            print(f"    {kind:15}{len(rows):6}{answered:6}{line}{_times([taken for taken, _ in results.values()])}")
        count = sum(map(len, kinds.values()))
        line = "".join(f"{count / taken:10.0f} {'':6}" for taken in totals.values())
        print(f"    {'all':15}{count:6}{'':6}{line}{_times(list(totals.values()))}")


def _times(taken):
    return f"   {taken[1] / taken[0]:.1f} times as fast" if len(taken) == 2 else ""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="PATH", help="matrix_calculator.py of AMD's tool")
    options = parser.parse_args()
    if options.against and not options.against.is_file():
        parser.error(f"--against: there is no file '{options.against}'")
    one_query(options.against)
    in_bulk(options.against)
