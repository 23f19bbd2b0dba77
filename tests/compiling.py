"""What clang 22 makes of a text, kept in build/compiled: a run of the tests compiles only what is new to it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from llvm_mc import tool

KEPT = Path(__file__).parents[1] / "build" / "compiled"


def clang(*options, text, name="kernels.hip"):
    """The path of what clang makes of a text in a file of that name, for reading only. It is made again for another
    clang or linker, other options, or another text; what clang refuses fails the test."""
    programs = [Path(tool(program)).resolve() for program in ("clang", "ld.lld")]
    versions = [(str(program), program.stat().st_mtime_ns) for program in programs]
    known = repr((versions, options, text, name)).encode()
    path = KEPT / f"{hashlib.sha256(known).hexdigest()}.hsaco"
    if not path.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_text(text)
            command = [programs[0], *options, "-o", part, name]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:2000]
        part.rename(path)
    return path
