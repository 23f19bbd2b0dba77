"""Record ptxas's verdicts on warp-level matrix instructions: python ptxas_verdicts.py TABLE TARGET ...

TABLE is tests/data/nvidia/ptxas_accepts.tsv.gz. Prints its rows with a column for each TARGET: 1 where ptxas takes
the instruction, 0 where it does not, - where none was tried (tcgen05). All instructions of a target are compiled in
one module; those at fault are taken out until the module compiles. ptxas must be in PATH.
"""

import csv
import gzip
import re
import subprocess
import sys
import tempfile

HEADER = ".version {version}\n.target {target}\n.address_size 64\n.shared .align 128 .b8 memory[4096];\n"


def registers(prefix, count):
    """A vector of registers of a PTX instruction."""
    return f"{{{', '.join(f'%{prefix}{number}' for number in range(count))}}}"


def operands(name, note, counts):
    """The operands of an instruction after its name; `counts` are registers by operand."""
    parts = name.split(".")
    wide = "f64" in parts
    vector = {x: registers(f"{'f' if wide else 'r'}{x.lower()}", int(n)) for x, n in counts.items()}
    if parts[0] == "movmatrix":
        return "%rr0, %ra0"
    if parts[0] in ("ldmatrix", "stmatrix") or parts[:2] in (["wmma", "load"], ["wmma", "store"]):
        store = parts[0] == "stmatrix" or parts[1] == "store"
        stride = ", %stride" if parts[0] == "wmma" else ""
        return f"[memory], {vector['R']}{stride}" if store else f"{vector['R']}, [memory]{stride}"
    if parts[0] == "wgmma":
        sparse = parts[2] == "sp"
        a = "%descriptor" if "desc" in note else vector["A"]
        floats = parts[-1] in ("f16", "bf16")
        transposes = ", 0" * (2 if "desc" in note else 1) if floats else ""
        scales = ", 1, 1" if not {"s8", "u8", "b1"} & set(parts) else ""
        return f"{vector['D']}, {a}, %descriptor{', %metadata, 0' if sparse else ''}, %one{scales}{transposes}"
    text = ", ".join(vector[x] for x in "DABC")
    if "sp" in parts[1].split("::"):
        text += ", %metadata, 0x0"
    if "block_scale" in parts:
        text += ", %metadata, {0, 0}, %metadata, {0, 0}"
    return text


DECLARED = "".join(f".reg .b32 %r{x}<256>; .reg .f64 %f{x}<64>; " for x in "abcdr")
BODY = f"{{ {DECLARED}.reg .b64 %descriptor; .reg .b32 %metadata, %stride; .reg .pred %one; %s; }}"


def version():
    """The PTX version of the ptxas in PATH."""
    text = subprocess.run(["ptxas", "--version"], capture_output=True, text=True, check=True).stdout
    return {"12.9": "8.8", "13.0": "9.0"}[re.search(r"release ([\d.]+)", text)[1]]


def verdicts(statements, target):
    """Which of {number: statement} ptxas takes."""
    left = dict(statements)
    while left:
        text = HEADER.format(target=target, version=version())
        lines = {text.count("\n") + order: number for order, number in enumerate(left, 1)}
        text += "".join(f".visible .entry k{number}() {statement}\n" for number, statement in left.items())
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as source:
            source.write(text)
            source.flush()
            command = ["ptxas", "-O0", f"-arch={target}", "-o", "/dev/null", source.name]
            done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            break
        faults = {lines[int(line)] for line in re.findall(r"line (\d+); (?:error|fatal)", done.stderr)}
        if not faults:
            raise SystemExit(done.stderr[:2000])
        for number in faults:
            del left[number]
    return set(left)


def main(path, targets):
    """Print the table with the columns of the targets, those that it has already made anew."""
    with gzip.open(path, "rt") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    statements = {}
    for number, row in enumerate(rows):
        name, _, note = row["mnemonic"].partition(" [")
        if not name.startswith("tcgen05"):
            counts = dict(part.split("=") for part in row["operand_regs"].split(","))
            statements[number] = BODY.replace("%s;", f"{name} {operands(name, note, counts)};")
    for target in targets:
        taken = verdicts(statements, target)
        for number, row in enumerate(rows):
            row[target] = ("1" if number in taken else "0") if number in statements else row.get(target, "-")
    fixed = [column for column in rows[0] if not column.startswith("sm_") and column != "first_error"]
    named = sorted(
        (c for c in rows[0] if c.startswith("sm_")), key=lambda c: (int(c[3:].rstrip("af")), c[-1] == "f", c)
    )
    columns = [*fixed, *named, "first_error"]
    writer = csv.DictWriter(sys.stdout, columns, delimiter="\t", quoting=csv.QUOTE_NONE, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
