"""iga64, Intel's assembler (Debian's libigc-tools), as an oracle: a test that needs it fails where it is missing."""

import re
import shutil
import subprocess


def _run(*words):
    program = shutil.which("iga64")
    assert program, "iga64 is missing: install libigc-tools"
    return subprocess.run([program, *words], capture_output=True, text=True, check=False)


def assembled(platform, texts, folder):
    """The bytes of each line in hexadecimal, None where iga64 refuses it. It does not report every error at once."""
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
            assert len(whole) == 16 * len(alive)
            for number, at in enumerate(alive):
                found[at] = whole[16 * number : 16 * number + 16].hex()
            break
        alive = [at for number, at in enumerate(alive) if number not in bad]
    return found


def disassembled(platform, code, folder):
    """The instructions as iga64 prints them, without the spaces that align them."""
    binary = folder / "code.krn"
    binary.write_bytes(code)
    done = _run(str(binary), f"-p={platform}", "-d")
    assert done.returncode == 0, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    return [line for line in lines if line and not line.endswith(":")]
