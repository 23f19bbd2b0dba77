"""llvm-mc 22 as an oracle, one process for any number of lines. A missing tool fails the test that asks."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache

import pytest

VERSION = "22"
# The rest of a code's line: words that an instruction may swallow, then one that ends the answer.
_PADDING = " ".join(["0x34 0x12 0x80 0xbf"] * 4)
_END, _END_TEXT = "0x21 0x43 0x80 0xbf", "s_nop 0x4321"


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


def _arguments(target, wave):
    size = [f"-mattr=+wavefrontsize{wave}"] if wave else []
    return [tool("llvm-mc"), "-triple=amdgcn", f"-mcpu={target}", *size, "-show-encoding"]


def assembled(lines, target, wave=None):
    """For every line (text, bytes), or LLVM's error message."""
    run = subprocess.run(_arguments(target, wave), input="\n".join(lines) + "\n", capture_output=True, text=True)
    errors = {
        int(n) - 1: text for n, text in reversed(re.findall(r"^<stdin>:(\d+):\d+: error: (.*)$", run.stderr, re.M))
    }
    found = iter(_encodings(run.stdout))
    return [errors[n] if n in errors else next(found) for n in range(len(lines))]


def disassembled(codes, target, wave=None):
    """For every code the text of its first instruction, None where LLVM sees none, and its length in bytes."""
    lines = [" ".join(f"0x{byte:02x}" for byte in code) + f" {_PADDING} {_END}" for code in codes]
    arguments = [*_arguments(target, wave), "--disassemble"]
    run = subprocess.run(arguments, input="\n".join(lines) + "\n", capture_output=True, text=True)
    if run.returncode and len(codes) > 1:  # LLVM crashes on some codes; look for them, and pass them over
        middle = len(codes) // 2
        return disassembled(codes[:middle], target, wave) + disassembled(codes[middle:], target, wave)
    if run.returncode:
        return [("crash", 0)]
    invalid = {int(n) - 1 for n in re.findall(r"^<stdin>:(\d+):1: warning: invalid", run.stderr, re.M)}
    answers, current = [], []
    for text, code in _encodings(run.stdout):
        if text == _END_TEXT:
            answers.append((None, 4) if len(answers) in invalid else current[0])
            current = []
        else:
            current.append((text, len(code)))
    assert len(answers) == len(codes)
    return answers


def _encodings(text):
    for line, code in re.findall(r"^\t(.*?)\s*; encoding: \[(.*?)\]", text, re.M):
        yield line.strip(), bytes(int(byte, 16) for byte in code.split(","))


def object_for(target, text="s_nop 0\n"):
    """What llvm-mc makes of a text for a target: an ELF object."""
    command = [tool("llvm-mc"), "-triple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-filetype=obj"]
    return subprocess.run(command, input=text.encode(), check=True, capture_output=True).stdout
