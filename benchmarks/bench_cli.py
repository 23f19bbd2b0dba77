"""How long the calculator takes: one query as a process, and the recorded answers in bulk.

    python benchmarks/bench_cli.py

One query as a whole process is set beside the bare interpreter (goal: at most 2.8 times as long). The recorded
4934 answers of AMD's tool are answered in one process (goal: ten times AMD's about 410 a second).
"""

import gzip
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
QUERY = ["-a", "cdna3", "-i", "v_mfma_f32_16x16x16_f16", "-A", "-g", "-I", "3", "-K", "9"]


def seconds(command, repeat=40):
    """The median time of a command as a process."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def one_query():
    script = str(ROOT / "matrix_calculator.py")
    subprocess.run([sys.executable, script, *QUERY], stdout=subprocess.DEVNULL, check=True)  # writes the .pyc files
    bare, query = seconds([sys.executable, "-c", "pass"]), seconds([sys.executable, script, *QUERY])
    print(f"bare interpreter {bare * 1e3:.1f} ms; one query {query * 1e3:.1f} ms; {query / bare:.2f} times")


def in_bulk():
    sys.path.insert(0, str(ROOT / "src"))
    from mmacalc.cli import answer

    with gzip.open(ROOT / "tests/data/amd/outputs_v1.3.2.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [json.loads(line)["argv"] for line in stream]
    start = time.perf_counter()
    for argv in rows:
        answer(argv)
    elapsed = time.perf_counter() - start
    print(f"{len(rows)} answers in {elapsed:.2f} s; {len(rows) / elapsed:.0f} a second")


if __name__ == "__main__":
    one_query()
    in_bulk()
