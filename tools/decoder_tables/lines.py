"""From rows to the lines of instruction_tables.txt: see `mmacalc.asm.tables` for their parts."""

from __future__ import annotations

import re
from collections import defaultdict

from mmacalc.asm.formats import OPERANDS, encodings
from mmacalc.asm.tables import FAMILY_OF, SAME

from .corrections import corrected, more_flags
from .line import Line
from .llvm import Decoder
from .rows import Found, Printed, bare

# LLVM's operand types (SIDefines.h), in the order of their numbers from 13 on; those that take a literal have a "!".
_TYPES = [
    "i32!", "i64!", "i16!", "f32!", "f64!", "bf16!", "f16!", "v2bf16!", "v2f16!", "both16!", "v2i16!", "v2b16!",
    "v2i32!", "v2f32!", "i16", "i32", "i64", "bf16", "f16", "f32", "f64", "v2i16", "v2bf16", "v2f16", "i32",
]  # fmt: skip
_NUMBER_TYPES = {1, 4}  # plain numbers and branch targets
_MODIFIERS_TYPE = 45
_LITERALS = {38: "32", 39: "16", 40: "64"}
_MASKS = {"NEG", "ABS", "SEXT", "OP_SEL", "OP_SEL_HI", "NEG_HI", "NEG_LO"}
_REGISTERS = re.compile(r"(?:[vsa]|ttmp)\[(\d+):(\d+)\]")
_STYLES = {
    "hwreg(": "hwreg", "sendmsg(": "sendmsg", "vmcnt": "waitcnt", "expcnt": "waitcnt", "lgkmcnt": "waitcnt",
    "instid": "delay", "instskip": "delay", "depctr": "depctr", "gpr_idx": "gpridx", "0x": "hex",
    "UC_VERSION": "version",
}  # fmt: skip
_WORDS = ("vcc", "vcc_lo", "exec", "exec_lo", "off", "m0", "0", "null", "scc")
_SUFFIXES = ("_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa")
_M0_OF_LDS = re.compile("gws|append|consume|addtid|ordered")


class _UnsuitableError(Exception):
    """The format's fields are not those of the instruction; another form of the format has it."""


def lines(target: str, decoder: Decoder, found: list[Found], other_wave: list[Found]) -> list[Line]:
    """The lines of a target's rows; `other_wave`: its rows of wave64 where it has both."""
    forms = encodings(FAMILY_OF[target][0])
    wide = {(row.format, row.opcode, *sorted(row.fixed.items())): row for row in other_wave}
    made = []
    for row in found:
        if _has_earlier_format(row, forms):
            continue
        try:
            parts = _Signature(
                row, forms[row.format], decoder, wide.get((row.format, row.opcode, *sorted(row.fixed.items())))
            )
            made.append((row, parts, parts.line()))
        except _UnsuitableError:
            continue
    return _with_accumulators(corrected(target, _chosen(made)))


def operations(decoder: Decoder, found: list[Found], lines: list[Line]) -> dict[str, frozenset[str]]:
    """The flags of every instruction of some lines: what any of its forms has, since LLVM's DPP forms lack some (TRANS
    of v_exp_f32_dpp8). CONVERGENT says that a form reads other lanes, an LDS bit that it is a load to LDS: both are
    left out, as facts of a form."""
    flags: dict[str, set[str]] = defaultdict(set)
    for row in found:
        if ":lds" not in row.format:
            name = re.sub(f"({'|'.join(_SUFFIXES)})$", "", row.answer.name)
            flags[name] |= decoder.opcode(row.answer.opcode).flags - {"convergent"}
    for line in lines:
        if line.format.startswith("vopd"):  # half of a pair; what it does alone
            flags[line.name] = flags.get(line.name.replace("v_dual_", "v_"), {"valu"})
        elif line.name not in flags:  # only as a load to LDS
            rows = [row for row in found if row.answer.name == line.name]
            flags[line.name] = set().union(*[decoder.opcode(row.answer.opcode).flags for row in rows]) - {"convergent"}
    return {line.name: frozenset(flags[line.name] | more_flags(line.name)) for line in lines}


def _has_earlier_format(row: Found, forms) -> bool:
    """Whether a format with a longer code that is tried before has the same word (SOP1 and SOP2)."""
    mine = forms[row.format].fields["ENCODING"]
    for name, form in forms.items():
        if name == row.format:
            return False
        code = form.fields["ENCODING"]
        longer = code.mask != mine.mask and code.mask & mine.mask == mine.mask
        if longer and form.size <= forms[row.format].size and not (row.word ^ code.spread(code.value)) & code.mask:
            return True
    return False


def _chosen(made) -> list[Line]:
    """The lines, each instruction in one form of its format only."""
    scalar = {
        (line.format.partition(":")[0], line.opcode) for _, parts, line in made
        if ":sd" in line.format and parts.writes_scalar
    }  # fmt: skip
    chosen = []
    for row, parts, line in made:
        if re.search("dpp|sdwa", line.format) and not row.printed:  # v_nop has no such form
            continue
        base, is_scalar = line.format.partition(":")[0], ":sd" in line.format
        listed = (base, line.opcode) in scalar
        unlike = is_scalar != listed or (is_scalar and not parts.writes_scalar)
        if base in ("vop3", "vop3_dpp16", "vop3_dpp8") and unlike:
            continue
        sample = row.sample
        if line.format == "ds" and "offset0:" not in sample.get("OFFSET0", "offset0:"):
            continue
        if line.format == "ds:offset" and ("OFFSET" not in sample or re.search("offset[01]", sample["OFFSET"])):
            continue
        chosen.append(_renamed(line))
    return chosen


def _with_accumulators(lines: list[Line]) -> list[Line]:
    """The same, forms with DPP and SDWA reading what the instruction reads without (LLVM ties other operands too)."""
    reads = {}
    for line in lines:
        if not re.search("dpp|sdwa", line.format):
            found = [each for each in line.signature.split("|")[2].split() if each.startswith("<V")]
            reads.setdefault(line.name, found)
    result = []
    for line in lines:
        parts = line.signature.split("|")
        if re.search("dpp|sdwa", line.format) and "<V" not in parts[2]:
            parts[2] = " ".join([*reads.get(line.name, []), *parts[2].split()])
        result.append(line._replace(signature="|".join(parts)))
    return result


def _renamed(line: Line) -> Line:
    """Instructions whose fields have another name: bitop3."""
    if "bitop3" not in line.name:
        return line
    base, _, rest = line.format.partition(":")
    parts = line.signature.split("|")
    parts[3] = " ".join(["BITOP3", *[each for each in parts[3].split() if not re.match("NEG|ABS|OMOD", each)]])
    return line._replace(format=":".join(filter(None, (base, "bitop3", rest))), signature="|".join(parts))


class _Signature:
    """The parts of a line."""

    def __init__(self, row: Found, form, decoder: Decoder, wide: Found | None) -> None:
        self.row, self.form, self.wide = row, form, wide
        self.opcode = decoder.opcode(row.answer.opcode)
        self.by_token = {one.token: one for one in row.printed}
        if len(self.by_token) != len(row.printed):
            raise _UnsuitableError
        if any(name not in ("ACC", "OP_SEL") and not name.startswith("BIT") for name in row.moved):
            raise _UnsuitableError
        self.banked = {at for places in row.moved.get("ACC", {}).values() for at in places}
        self.halves = {at: bit for bit, places in row.moved.get("OP_SEL", {}).items() for at in places}
        self.writes_scalar = False

    def line(self) -> Line:
        name = self.row.answer.name
        suffix = next((each for each in _SUFFIXES if name.endswith(each)), "")
        operands = self._operands()
        modifiers, fixed, ignored = self._fields()
        parts = (suffix, operands, self._implied(operands.split()), modifiers, fixed, ignored)
        name = name.removesuffix(suffix)
        return Line(self.row.format, "|".join(map(" ".join, map(_as_list, parts))), name, self.row.opcode)

    # --- operands ---

    def _operands(self) -> str:
        texts, sources = [], False
        for at, token in enumerate(self.row.answer.tokens):
            if at in self.by_token:
                text = self._printed(self.by_token[at], token)
                sources = sources or not text.startswith(">")
                self.writes_scalar |= "SDST=" in text
            elif bare(token) in _WORDS:
                word = {"vcc_lo": "vcc", "exec_lo": "exec"}.get(bare(token), bare(token))
                written = not sources and any(each.startswith(word) for each in self.opcode.defines)
                text = f"{'>' if written else ''}{word}"
            elif token.endswith(("ef12", "ef12)")):
                kinds = [_LITERALS[each.type] for each in self.opcode.operands if each.type in _LITERALS]
                text = f"LITERAL={kinds[0] if kinds else 'i32' if 'setreg' in self.row.answer.name else '32'}"
            else:
                raise _UnsuitableError
            texts.append(text)
        return " ".join(texts)

    def _type(self, printed: Printed) -> int:
        operands = self.opcode.operands
        return operands[printed.operand].type if printed.operand is not None and printed.operand < len(operands) else 0

    def _printed(self, printed: Printed, token: str) -> str:
        number = self._type(printed)
        if number == _MODIFIERS_TYPE:
            raise _UnsuitableError
        if not printed.codes or number in _NUMBER_TYPES:
            return f"{printed.field}={self._style(printed.field, token)}"
        letter = _letter(printed)
        if printed.token in self.banked:
            letter = {"v": "b", "y": "B"}.get(letter, letter)
        counts = [_count(token), *([_count(self.wide.answer.tokens[printed.token])] if self.wide else [])]
        count = "/".join(map(str, dict.fromkeys(counts)))
        constant = _TYPES[number - 13] if letter in "SxXTw" and 13 <= number <= 37 else ""
        if constant.endswith("!") and printed.codes[255] is None:
            constant = constant[:-1]
        elif constant and self.row.format == "vop3p" and printed.codes[255]:
            constant = constant.rstrip("!") + "!"  # v_fma_mix from RDNA3 on, by its type of inline constants alone
        written = printed.operand is not None and printed.operand < self.opcode.definitions
        half = f"@{self.halves[printed.token]}" if printed.token in self.halves else ""
        return f"{'>' if written else ''}{printed.field}={letter}{count}{constant}{half}"

    def _style(self, field: str, token: str) -> str:
        name = self.row.answer.name
        if name == "s_set_gpr_idx_on":
            return "gpridx"
        style = next((style for start, style in _STYLES.items() if token.startswith(start)), "dec")
        if style == "dec" and not re.search("branch|call|loop", name):
            return "opt" if name == "s_endpgm" else "inline"
        return style

    def _implied(self, operands: list[str]) -> str:
        """What is read and written beside the operands of the text. EXEC of vector instructions is left out, and the
        operands by which LLVM says that DPP and SDWA keep parts of a destination."""
        texts, form = [], self.row.format
        printed = {one.operand for one in self.row.printed}
        loads = "load" in self.opcode.flags and "atomic" not in self.opcode.flags
        for at, operand in enumerate(self.opcode.operands):
            if operand.tied >= 0 and at not in printed and not re.search("dpp|sdwa", form):
                fields = [one.field for one in self.row.printed if one.operand == operand.tied]
                # Loads of 16 bits keep a half of what they write; other results of loads are read (DS_BVH_STACK).
                kept = operand.kept or (loads and fields[:1] in (["VDST"], ["VDATA"]))
                texts += [f"{'=' if kept else '<'}{field}" for field in fields]
        scalar = re.match(r"sop|smem", form) is not None
        for sign, names in (("<", self.opcode.uses), (">", self.opcode.defines)):
            for name in names:
                word = {"vcc_lo": "vcc"}.get(name, name)
                shown = (word in operands or f">{word}" in operands) if sign == "<" else f">{word}" in operands
                if word not in ("vcc", "exec", "scc", "m0") or shown:
                    continue
                if (form, sign, word) == ("sdwa:vopc", ">", "vcc"):  # SDST says where the result goes
                    continue
                unused = form.startswith("ds") and word == "m0" and not _M0_OF_LDS.search(self.row.answer.name)
                if not (sign == "<" and ((word == "exec" and not scalar) or unused)):
                    texts.append(sign + word)
        return " ".join(texts)

    # --- other fields ---

    def _fields(self) -> tuple[list[str], list[str], list[str]]:
        modifiers: list[str] = []
        fixed: list[str] = []
        ignored: list[str] = []
        in_place = {one.field for one in self.row.printed}
        for field in self.form.fields.values():
            if field.name not in ("OP", "ENCODING") and field.name not in in_place:
                self._field(field, modifiers, fixed, ignored)
        bits = [name for name in self.form.fields if name.startswith("BIT")]
        if bits and set(bits) <= set(ignored):
            ignored = [*[name for name in ignored if name not in bits], "BITS"]
        return modifiers, fixed, ignored

    def _field(self, field, modifiers, fixed, ignored) -> None:
        name, row = field.name, self.row
        every, value = (1 << field.width) - 1, field.gather(row.word)
        live, loose = row.live.get(name, 0), row.ignored.get(name, 0)
        if name in row.fixed:
            if name == "TH":  # bit 0 says that an atomic returns; the others are free
                modifiers.append(name)
            fixed.append(f"{name}={row.fixed[name] & 1 if name == 'TH' else row.fixed[name]}")
        elif field.value is not None or name.startswith("BIT"):
            ignored += [_masked(name, loose, every)] if loose and name != "CODE" else []
        elif name in OPERANDS:
            if loose:
                ignored.append(name)
            elif value:
                fixed.append(f"{name}={value}")
        elif live:
            masked = name in _MASKS
            shown = re.search(r" op_sel:\[(.*?)\]", row.sample.get(name, "")) if name == "OP_SEL" else None
            width = f"/{shown[1].count(',') + 1}" if shown else "/0" if name in row.moved else ""
            modifiers.append(_masked(name, live, every) + width if masked else name)
            ignored += [f"{name}:{loose}"] if masked and loose else []
        elif loose:
            ignored.append(_masked(name, loose, every))
        elif value:
            fixed.append(f"{name}={value}")


def _as_list(part: str | list[str]) -> list[str]:
    return [part] if isinstance(part, str) else part


def _masked(name: str, mask: int, every: int) -> str:
    return name if mask == every else f"{name}:{mask}"


def _count(token: str) -> int:
    """How many registers an operand has."""
    range_ = _REGISTERS.search(token)
    if range_:
        return int(range_[2]) - int(range_[1]) + 1
    return 2 if bare(token) in ("vcc", "exec", "flat_scratch") else 1


def _letter(printed: Printed) -> str:
    """The kind of a field: see `mmacalc.asm.operand_codes`."""
    codes, width = printed.codes, len(printed.codes)
    first = next((each for each in codes if each), None)
    if first is None:
        raise _UnsuitableError
    if width == 512:
        upper = next((each for each in codes[256:] if each), None)
        if codes[0] and codes[0].startswith("v"):
            return "w"
        if upper is None:
            if codes[2] or "[" not in codes[0]:
                return "S"
            raise _UnsuitableError  # tuples of scalar registers from a multiple of four: no instruction has them here
        if codes[0] is None:
            return "A" if upper.startswith("a") else "Y" if codes[384] == "v0.h" else "y"
        return "T" if codes[384] == "v0.h" else "x" if any(codes[384:]) else "X"
    if width == 256 and printed.field == "SDST":
        return "d"
    if re.match(r"v[\d\[]", first):
        return "v" if width <= 128 else "t" if codes[128] == "v0.h" else "v" if any(codes[128:]) else "l"
    if first.startswith("a"):
        return "a"
    return {64: "p", 32: "q"}.get(width) or ("S" if width == 256 and codes[128] not in (None, "v128") else "s")


def text(target_lines: dict[str, list[Line]], flags: dict[str, dict[str, frozenset[str]]], order: list[str]) -> str:
    """The file: lines of one format and signature together, then operations of the same flags."""
    targets = defaultdict(set)
    for target, some in target_lines.items():
        for line in some:
            targets[line].add(target)
    names = defaultdict(list)
    for line, those in targets.items():
        names[order.index(line.format), line.format, line.signature, _in_order(those)].append((line.opcode, line.name))
    head = (
        "# Autogenerated by tools/decoder_tables from LLVM 22.1.8 and its corrections.py: do not edit, run it again.\n"
    )
    head += "# mmacalc.asm.tables says what the parts are.\n"
    for target, (family, _, wave) in FAMILY_OF.items():
        others = [other for other, same in SAME.items() if same == target]
        head += f"target|{target}|{family}|{wave}|{' '.join(others)}\n" if target in target_lines else ""
    return (
        head
        + "".join(
            f"{form}|{signature}|{where}|{' '.join(f'{name}={opcode}' for opcode, name in sorted(some))}\n"
            for (_, form, signature, where), some in sorted(names.items())
        )
        + "".join(
            f"operation|{' '.join(sorted(some))}|{where}|{' '.join(sorted(those))}\n"
            for (some, where), those in sorted(
                _grouped(flags).items(), key=lambda item: (sorted(item[0][0]), item[0][1])
            )
        )
    )


def _grouped(flags: dict[str, dict[str, frozenset[str]]]) -> dict[tuple[frozenset[str], str], set[str]]:
    """The names of operations by their flags and targets."""
    targets = defaultdict(set)
    for target, some in flags.items():
        for name, those in some.items():
            targets[name, those].add(target)
    names = defaultdict(set)
    for (name, those), where in targets.items():
        names[those, _in_order(where)].add(name)
    return names


def _in_order(targets: set[str]) -> str:
    return " ".join(target for target in FAMILY_OF if target in targets)
