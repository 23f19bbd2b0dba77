"""llvm-mc 22 as an oracle, one process for any number of lines. A missing tool fails the test that asks."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from functools import cache

import pytest

from mmacalc.asm.tables import table

VERSION = "22"
_PADDING = bytes.fromhex("341280bf") * 4  # after a code: words that an instruction may swallow
LISTED = re.compile(r"^\t(\S.*?)\s*// ([0-9A-F]+): ((?:[0-9A-F]{8} ?)+)", re.M)  # by llvm-objdump


def rows_of_llvm(target, wave):
    """The rows of a target that LLVM 22 decodes: not the older encoding of tensor copies."""
    return [row for row in table(target, wave).every() if not re.match("tensor.*:old", row.format.name)]


@cache
def tool(name):
    """The path of an LLVM 22 tool, called llc-22 (Debian, LLVM's packages) or llc (others)."""
    found = shutil.which(f"{name}-{VERSION}")
    if found is None and (plain := shutil.which(name)):
        version = subprocess.run([plain, "--version"], capture_output=True, text=True).stdout
        found = plain if re.search(rf"(version|LLD) {VERSION}\.", version) else None
    if found is None:
        pytest.fail(
            f"{name}-{VERSION} is not installed (apt install llvm-22 clang-22 lld-22); this test compares with it"
        )
    return found


def _arguments(target, wave, features=()):
    return [tool("llvm-mc"), "-triple=amdgcn", f"-mcpu={target}", *_features(wave, *features), "-show-encoding"]


def _features(wave, *more):
    features = [*([f"+wavefrontsize{wave}"] if wave else []), *more]
    return [f"--mattr={','.join(features)}"] if features else []


def halves(target):
    """The feature by which LLVM 22 names the halves of registers in 16-bit instructions, as later ones always do."""
    return ["+real-true16"] if target.startswith("gfx12") else []


def assembled(lines, target, wave=None, features=()):
    """For every line (text, bytes), or LLVM's error message."""
    run = subprocess.run(
        _arguments(target, wave, features), input="\n".join(lines) + "\n", capture_output=True, text=True
    )
    errors = {
        int(n) - 1: text for n, text in reversed(re.findall(r"^<stdin>:(\d+):\d+: error: (.*)$", run.stderr, re.M))
    }
    found = iter(_encodings(run.stdout))
    return [errors[n] if n in errors else next(found) for n in range(len(lines))]


def disassembled(codes, target, wave=None):
    """For every code the text of its first instruction, None where LLVM sees none, and how many bytes it takes.

    Of an object, by llvm-objdump: llvm-mc prints the bytes that it encodes the instruction with again, which are others
    where a text means several codes.
    """
    slot = 4 * max(len(code) // 4 for code in codes) + len(_PADDING)
    source = "\n".join(f".long {','.join(map(str, memoryview(code).cast('I')))}" for code in (
        code + (_PADDING * (slot // len(_PADDING) + 1))[: slot - len(code)] for code in codes))  # fmt: skip
    size = _features(wave, *halves(target))
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        file.write(object_for(target, source + "\n"))
        file.flush()
        command = [tool("llvm-objdump"), "--disassemble", "--disassemble-zeroes", *size, file.name]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = {int(at, 16): (text, 4 * len(words.split())) for text, at, words in LISTED.findall(shown)}
    answers = [lines[slot * number] for number in range(len(codes))]
    return [(None, 4) if text.startswith(".long") else (text, size) for text, size in answers]


def _encodings(text):
    for line, code in re.findall(r"^\t(.*?)\s*; encoding: \[(.*?)\]", text, re.M):
        yield line.strip(), bytes(int(byte, 16) for byte in code.split(","))


def object_for(target, text="s_nop 0\n"):
    """What llvm-mc makes of a text for a target: an ELF object."""
    command = [tool("llvm-mc"), "-triple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-filetype=obj"]
    return subprocess.run(command, input=text.encode(), check=True, capture_output=True).stdout
