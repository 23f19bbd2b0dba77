"""iga64, Intel's assembler, as an oracle: its recorded answers, held against the program itself where it is installed.

Debian 12 and Ubuntu have iga64 in libigc-tools, Debian 13 has no package of it. So every answer that the tests ask for
stands in tests/data/intel/iga64.json.gz, and a question that is not recorded fails. To record new ones, on a machine
with iga64: `RECORD_IGA64=1 ./test tests/test_dpas.py`.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

PROGRAM = shutil.which("iga64")
RECORDING = bool(os.environ.get("RECORD_IGA64"))
ANSWERS = Path(__file__).parent / "data" / "intel" / "iga64.json.gz"
SIZE = 16  # bytes of an instruction


@cache
def _recorded():
    """{"PLATFORM assembled" or "PLATFORM disassembled": {question: answer}}."""
    return json.loads(gzip.decompress(ANSWERS.read_bytes())) if ANSWERS.exists() else {}


def _answers(kind, questions, live):
    """The recorded answers to all questions, which `live()` repeats where iga64 is installed."""
    known = _recorded().setdefault(kind, {})
    if RECORDING:
        known.update(zip(questions, live()))
        text = json.dumps(_recorded(), sort_keys=True, separators=(",", ":"))
        ANSWERS.write_bytes(gzip.compress(text.encode(), mtime=0))
    missing = [question for question in questions if question not in known]
    assert not missing, f"iga64's answer to {missing[0]!r} is not recorded: RECORD_IGA64=1 ./test tests/test_dpas.py"
    answers = [known[question] for question in questions]
    if PROGRAM:
        assert answers == live(), f"iga64 answers otherwise than recorded ({kind})"
    return answers


def _run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)


def assembled(platform, texts, folder):
    """The bytes of each line in hexadecimal, None where iga64 refuses it."""
    return _answers(f"{platform} assembled", texts, lambda: _assembled(platform, texts, folder))


def disassembled(platform, code, folder):
    """The instructions as iga64 prints them, without the spaces that align them."""
    words = [code[at : at + SIZE].hex() for at in range(0, len(code), SIZE)]
    return _answers(f"{platform} disassembled", words, lambda: _disassembled(platform, code, folder))


def _assembled(platform, texts, folder):
    """What iga64 itself answers. It does not report every error at once."""
    source, code = folder / "lines.asm", folder / "lines.krn"
    alive = list(range(len(texts)))
    found = [None] * len(texts)
    while alive:
        source.write_text("".join(f"{texts[at]}\n" for at in alive))
        done = _run(str(source), f"-p={platform}", "-a", "-o", str(code))
        bad = {int(number) - 1 for number in re.findall(r"^line (\d+)\.\d+: error", done.stderr, re.MULTILINE)}
        if not bad:
            assert done.returncode == 0, done.stderr
            whole = code.read_bytes()
            assert len(whole) == SIZE * len(alive)
            for number, at in enumerate(alive):
                found[at] = whole[SIZE * number : SIZE * (number + 1)].hex()
            break
        alive = [at for number, at in enumerate(alive) if number not in bad]
    return found


def _disassembled(platform, code, folder):
    binary = folder / "code.krn"
    binary.write_bytes(code)
    done = _run(str(binary), f"-p={platform}", "-d")
    assert done.returncode == 0, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    return [line for line in lines if line and not line.endswith(":")]
