"""Every modifier of every row of the decoder's tables: it does what it means, or the instruction is refused by name.

An instruction with a modifier gives what the same instruction without it gives on registers that were changed
accordingly: DPP on permuted lanes, NEG and ABS on other signs, OP_SEL on other halves, SDWA on a part of a register;
CLAMP, OMOD and the places of the result change the result.
"""

import random

import numpy as np
import pytest

from mmacalc import Error
from mmacalc.asm.decoded import ConstantOperand, RegisterOperand
from mmacalc.asm.tables import FAMILY_OF, table
from mmacalc.kernels.amd.control import CONTROL as CONTROL_STEPS
from mmacalc.kernels.amd.control import NOTHING
from mmacalc.kernels.amd.modifiers import dpp_lanes, written_lanes
from mmacalc.kernels.amd.operations.packed import DOTS, MIXED, PACKED
from mmacalc.kernels.amd.program import Step
from mmacalc.kernels.amd.state import CLAMPS_NAN, DX10_CLAMP, IEEE, SCALARS, Group, Registers
from mmacalc.kernels.amd.target import MachineTarget
from samples import sampled
from test_decoder import decodable

VECTOR = ("vop1", "vop2", "vopc", "vop3", "vop3p", "sdwa", "dpp16", "dpp8", "vop3_dpp16", "vop3_dpp8", "vop3p_dpp16",
          "vop3p_dpp8")  # fmt: skip
DEFAULTS = {"row_mask": 15, "bank_mask": 15, "src0_sel": 6, "src1_sel": 6, "dst_sel": 6, "dpp_ctrl": 0xE4,
            "dpp8": 0o76543210, "simm16": 3}  # fmt: skip
KEPT = 0xF0  # of MODE: subnormal numbers are kept
CONTROL, EIGHT = 0xB1, 0o67452301  # quad_perm:[1,0,3,2]; the same in groups of eight
NUMBERS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


class Case:
    """An instance of a row with registers that do not overlap, and no modifiers beside those that it must have."""

    def __init__(self, row, target, rng, halves):
        self.row, self.machine = row, MachineTarget(target, FAMILY_OF[target][2])
        found = decodable(row, target, rng, halves)
        assert found is not None, row.name
        one = found[0]
        kept = {name: DEFAULTS[name] for name in one.modifiers if name in DEFAULTS}
        if "op_sel_hi" in one.modifiers:
            kept["op_sel_hi"] = 0 if one.name in MIXED else 7
        tied = {"VDST", "SDST"} & {*row.reads}
        writes = tuple(
            self.placed(each, 64 + 8 * at, bool(tied) and not at) for at, each in enumerate(one.destinations)
        )
        named = len(one.sources) - len(row.reads)
        sources = [self.placed(each, 8 * (at + 1), at < named) for at, each in enumerate(one.sources)]
        if tied:
            sources[-1] = writes[0]
        self.one = one._replace(destinations=writes, sources=tuple(sources), modifiers=kept)

    @staticmethod
    def placed(operand, at, named=False):
        if isinstance(operand, ConstantOperand):
            return RegisterOperand("s", at, max(1, operand.width // 32))
        if operand.file in ("v", "a", "s", "ttmp"):
            file = "v" if operand.file == "a" else operand.file.replace("ttmp", "s")
            return operand._replace(file=file, index=at, half=0)
        return operand._replace(file="s", index=at) if named and operand.file != "off" else operand

    def step(self, **modifiers):
        """The compiled instruction; None if it is refused."""
        step = Step(self.one._replace(modifiers={**self.one.modifiers, **modifiers}), self.machine)
        if step.kind != "control":
            return step
        with pytest.raises(Error, match=r"not covered"):
            step.run(None)
        return None

    def run(self, step, v, mode=KEPT | DX10_CLAMP | CLAMPS_NAN):
        """The vector registers after it, and the words of its scalar results."""
        registers = Registers(1, self.machine.wave, len(v), 0, mode)
        registers.v[:, 0], registers.s[:104, 0] = v, v[:104, 0]
        registers.s[106:108] = 0x5A5A5A5A
        registers.s[126:128] = 0xFFFFFFFF
        group = Group(registers, None, np.zeros(1, np.int64))
        with np.errstate(all="ignore"):
            step.run(group)
        scalars = sorted(number - SCALARS for number in step.writes if number >= SCALARS)
        return np.array(registers.v[:, 0]), np.array(registers.s[scalars, 0])

    def kind(self, place):
        """The type of a source."""
        name = self.one.name
        if name in PACKED:
            return PACKED[name][0].split()[place]
        if name in DOTS:
            return "f32" if place == 2 else DOTS[name][0]
        if name in MIXED or not self.machine.has(name):
            return "f32"
        kinds = [one for one in self.machine.row(name)[0] if one not in ("scc", "exec", "old", "old64")]
        return kinds[place] if place < len(kinds) else ""

    def result(self):
        """The type of the result."""
        name = self.one.name
        if name in PACKED:
            return "packed " + PACKED[name][0].split()[-1]
        if name in DOTS:
            return "f32" if DOTS[name][0] != "int" else "i32"
        if name in MIXED:
            return MIXED[name][0]
        return self.machine.row(name)[1][0] if self.machine.has(name) else ""

    def registers(self, place):
        """The rows of a source, whether it is a vector or a scalar register."""
        operand = self.one.sources[place]
        good = isinstance(operand, RegisterOperand) and operand.file in ("v", "s")
        return list(range(operand.index, operand.index + operand.count)) if good else []


OLDER = {"gfx90a": "gfx908", "gfx942": "gfx90a", "gfx950": "gfx942", "gfx1250": "gfx1200"}


def cases(target):
    """An instance of each row of vector arithmetic that is executed; older targets' rows are left out."""
    rng, rows = random.Random(target), table(target, FAMILY_OF[target][2]).every()
    halves = [row for row in rows if row.format.name.startswith("vopd")]
    older = OLDER.get(target)
    known = {(row.mnemonic, row.signature) for row in table(older, FAMILY_OF[older][2]).every()} if older else set()
    for row in rows:
        if row.encoding in VECTOR and row.modifiers and (row.mnemonic, row.signature) not in known:
            case = Case(row, target, rng, halves)
            if case.step() is not None:
                yield case


def numbers(rng, lanes):
    """Pairs of small f16, which are usual numbers of every other type too."""
    values = rng.uniform(1.75, 4, (128, lanes, 2)) * rng.choice([-1, 1], (128, lanes, 2))
    return values.astype(np.float16).view(np.uint32)[..., 0].copy()


def same(case, name, found, expected):
    """The registers that the instruction writes are as expected, to the bit."""
    rows = [row for one in case.one.destinations if one.file == "v" for row in range(one.index, one.index + one.count)]
    assert np.array_equal(found[0][rows], expected[0][rows]), (case.one.mnemonic, case.row.encoding, name)
    assert np.array_equal(found[1], expected[1]), (case.one.mnemonic, case.row.encoding, name)


def changed(case, v, place, change):
    """The registers with those of a source changed: `change` of its words, lowest first."""
    rows = case.registers(place)
    v = v.copy()
    v[rows] = change(v[rows])
    return v


def sign_bits(kind, half=None):
    """The bits that are signs of a source's words; of packed ones those of a half."""
    if kind in ("f64", "b64"):
        return np.array([[0], [0x80000000]], np.uint32)
    if kind in ("f16", "bf16"):
        return np.uint32({None: 0x80008000, 0: 0x8000, 1: 0x80000000}[half])
    return np.uint32(0x80000000)


def check_dpp(case, v, base):
    """Lanes change places in pairs; a row mask keeps rows as they were."""
    modifiers, lanes = case.one.modifiers, np.arange(v.shape[1]) ^ 1
    name, value = ("dpp8", EIGHT) if "dpp8" in modifiers else ("dpp_ctrl", CONTROL)
    moved = v.copy()
    rows = case.registers(0)
    moved[rows] = v[rows][:, lanes]
    expected = case.run(base, moved)
    expected[0][rows] = v[rows]  # where it is the destination too
    step = case.step(**{name: value})
    assert step is not None, case.one.mnemonic
    if case.one.destinations[0].file == "v":
        same(case, name, case.run(step, v), expected)
    if name == "dpp_ctrl" and case.one.destinations[0].file == "v" and len(case.one.destinations) == 1:
        assert np.array_equal(dpp_lanes(CONTROL, len(lanes))[0], lanes)
        kept = case.run(case.step(dpp_ctrl=value, row_mask=5), v)[0]
        wanted = np.where(written_lanes(5, 15, len(lanes)), expected[0], v)
        same(case, "row_mask", (kept, expected[1]), (wanted, expected[1]))


def check_signs(case, v, base, name, place):
    """NEG and ABS of one source."""
    step = case.step(**{name: 1 << place})
    if step is None or not case.registers(place) or case.one.name == "v_pk_mov_b32":
        return 0
    kind = case.kind(place)
    if case.one.name in DOTS and kind == "int":  # whether the elements are signed
        return 0
    if case.one.name in MIXED:
        name = {"neg_lo": "neg", "neg_hi": "abs"}[name]
    half = {"neg_lo": 0, "neg_hi": 1}.get(name)
    bits = sign_bits(kind, half)
    if half is not None and case.one.name in PACKED and len(case.registers(place)) == 1 and kind in ("f32", "b32"):
        return 0  # one scalar register for both results
    if half is not None and case.one.name in PACKED and kind in ("f32", "b32"):
        bits = np.array([[0x80000000 * (1 - half)], [0x80000000 * half]], np.uint32)
    other = changed(case, v, place, (lambda x: x & ~bits) if name == "abs" else (lambda x: x ^ bits))
    same(case, name, case.run(step, v), case.run(base, other))
    return 1


def check_halves(case, v, base, name, place):
    """OP_SEL and OP_SEL_HI of one source: a half in the place of the other."""
    value = 1 << place if name == "op_sel" else case.one.modifiers["op_sel_hi"] ^ 1 << place
    step = case.step(**{name: value})
    if step is None or not case.registers(place) or case.one.name in MIXED or case.one.name == "v_pk_mov_b32":
        return 0
    kind, wide = case.kind(place), case.one.name in PACKED and case.kind(place) in ("f32", "b32")
    if kind not in ("f16", "u16", "i16", "bf16", "int") and not wide:
        return 0
    up, low, high = np.uint32(16), np.uint32(0xFFFF), np.uint32(0xFFFF0000)
    if wide and case.one.sources[place].file == "v":
        other = changed(case, v, place, lambda x: x[[1, 1]] if name == "op_sel" else x[[0, 0]])
    elif wide:
        return 0
    elif name == "op_sel":
        other = changed(case, v, place, lambda x: x >> up | x & high)
    else:
        other = changed(case, v, place, lambda x: x << up | x & low)
    same(case, name, case.run(step, v), case.run(base, other))
    return 1


def check_result(case, v, base, name):
    """CLAMP and OMOD of float results, DST_SEL, and the half that OP_SEL writes."""
    kind, row = case.result(), case.one.destinations[0].index
    if name == "clamp":
        step = case.step(clamp=1)
        if step is None or kind not in NUMBERS or case.one.destinations[0].file != "v":
            return 0
        found, plain = (values_of(case, case.run(one, v)[0], kind) for one in (step, base))
        assert np.array_equal(found, np.clip(plain, 0, 1)) or np.isnan(plain).any(), case.one.mnemonic
        return 1
    if name == "omod":
        step = case.step(omod=1)
        if step is None or kind not in NUMBERS or case.one.destinations[0].file != "v":
            return 0
        same(case, "omod where subnormal numbers are kept", case.run(step, v), case.run(base, v))
        same(case, "omod in IEEE mode", case.run(step, v, IEEE), case.run(base, v, IEEE))
        found, plain = (values_of(case, case.run(one, v, CLAMPS_NAN)[0], kind) for one in (step, base))
        usual = plain != 0  # a subnormal result is doubled before it would be zero
        with np.errstate(over="ignore"):
            assert np.array_equal(found[usual], (plain + plain)[usual], equal_nan=True), case.one.mnemonic
        return 1
    if name == "dst_sel":
        found = case.run(case.step(dst_sel=1), v)[0][row]
        assert np.array_equal(found, (case.run(base, v)[0][row] & 0xFF) << 8), case.one.mnemonic
        return 1
    step = case.step(op_sel=8)
    if step is None or kind not in ("f16", "u16", "i16", "bf16"):
        return 0
    wanted = (case.run(base, v)[0][row] & 0xFFFF) << 16 | v[row] & 0xFFFF
    assert np.array_equal(case.run(step, v)[0][row], wanted), case.one.mnemonic
    return 1


def values_of(case, v, kind):
    operand, count = case.one.destinations[0], NUMBERS[kind]().itemsize // 4 or 1
    words = np.ascontiguousarray(v[operand.index : operand.index + count].T)
    halves = NUMBERS[kind]().itemsize == 2
    if halves:
        words = (words >> 16 * (operand.half or "mixhi" in case.one.name)).astype(np.uint16)
    return words.view(NUMBERS[kind])[:, 0]


def check_part(case, v, base, place):
    """SRC0_SEL and SRC1_SEL: the upper half, and byte 2."""
    done = 0
    for select, by, mask in ((5, 16, 0xFFFF), (2, 16, 0xFF)):
        step = case.step(**{f"src{place}_sel": select})
        if step is not None and case.registers(place):
            other = changed(case, v, place, lambda x: x >> np.uint32(by) & np.uint32(mask))  # noqa: B023 - at once
            same(case, f"src{place}_sel", case.run(step, v), case.run(base, other))
            done += 1
    return done


def checks(case, v):
    """How many checks of each kind an instance has passed."""
    base, done = case.step(), dict.fromkeys(("dpp", "neg", "op_sel", "clamp", "omod", "sdwa"), 0)
    names = {modifier[0] for modifier in case.row.modifiers}
    explicit = range(min(3, len(case.one.sources) - ("VDST" in case.row.reads)))
    if names & {"dpp_ctrl", "dpp8"}:
        check_dpp(case, v, base)
        done["dpp"] += 1
    for name in sorted(names & {"neg", "abs", "neg_lo", "neg_hi"}):
        done["neg"] += sum(check_signs(case, v, base, name, place) for place in explicit)
    for name in sorted(names & {"op_sel", "op_sel_hi"}):
        done["op_sel"] += sum(check_halves(case, v, base, name, place) for place in explicit)
    for name in sorted(names & {"clamp", "omod"}):
        done[name] += check_result(case, v, base, name)
    if "op_sel" in names and "op_sel_hi" not in names:
        done["op_sel"] += check_result(case, v, base, "op_sel")
    if "dst_sel" in names and case.one.name not in PACKED and case.one.destinations[0].file == "v":
        done["sdwa"] += check_result(case, v, base, "dst_sel")
    done["sdwa"] += sum(check_part(case, v, base, place) for place in (0, 1) if f"src{place}_sel" in names)
    return done


LEAST = {"gfx908": {"dpp": 100, "neg": 400, "op_sel": 80, "clamp": 80, "omod": 80, "sdwa": 300},
         "gfx1100": {"dpp": 700, "neg": 1500, "op_sel": 150, "clamp": 250, "omod": 100}}  # fmt: skip


@sampled("target", FAMILY_OF, 1)
def test_every_modifier_of_a_vector_instruction_does_what_it_means_or_is_refused(target):
    rng, done = np.random.default_rng(0), {}
    for case in cases(target):
        for name, number in checks(case, numbers(rng, case.machine.wave)).items():
            done[name] = done.get(name, 0) + number
    print(target, done)
    assert all(done[name] >= number for name, number in LEAST.get(target, {}).items()), done


@sampled("target", FAMILY_OF, 3, first=1)
def test_every_row_with_random_modifiers_is_compiled_or_refused_by_name(target):
    """Nothing but an Error comes of an instruction, and a modifier that no executor knows is refused."""
    rng, machine = random.Random(target), MachineTarget(target, FAMILY_OF[target][2])
    rows = table(target, machine.wave).every()
    halves, ignoring = [row for row in rows if row.format.name.startswith("vopd")], set()
    for row in rows:
        found = decodable(row, target, rng, halves) if rng.random() < 0.4 else None
        if found is not None and row.name not in NOTHING:
            Step(found[0], machine)
            step = Step(found[0]._replace(modifiers={**found[0].modifiers, "of_tomorrow": 1}), machine)
            if step.kind != "control" or step.relative:
                ignoring.add((row.name, step.kind))
                continue
            with pytest.raises(Error, match=r"of_tomorrow|not covered|no public|documents no|is not documented"):
                step.run(None)
    assert all("movrel" in name for name, _ in ignoring), ignoring  # compiled anew for each value of M0


IMPLIED = {"scc": 132, "vcc": 106}


def outcome(case, step, seed, name="", value=0):
    """What an instruction leaves in the registers that it writes: registers by a seed, one of them a value."""
    rng, registers = np.random.default_rng(seed), Registers(1, case.machine.wave, 128, 0, KEPT)
    registers.v[:, 0] = rng.integers(0, 1 << 32, registers.v[:, 0].shape, np.uint32)
    registers.s[:104, 0] = rng.integers(0, 1 << 32, 104, np.uint32) >> rng.integers(0, 32, 104, np.uint32)
    registers.s[:104, 0] = np.choose(rng.integers(0, 3, 104), [registers.s[:104, 0], 0, 0xFFFFFFFF])
    registers.s[126:128] = 0xFFFFFFFF if step.vector else 0xFFFFFFFF * int(rng.integers(0, 2))
    if name in IMPLIED:
        registers.s[IMPLIED[name]] = value & 1 if name == "scc" else value
    elif name:
        one = case.one.destinations[0]
        (registers.v if one.file == "v" else registers.s)[one.index] = value
    with np.errstate(all="ignore"):
        step.run(Group(registers, None, np.zeros(1, np.int64)))
    vectors = [number for number in step.writes if number < SCALARS]
    scalars = [number - SCALARS for number in step.writes if number >= SCALARS]
    return registers.v[vectors].tolist(), registers.s[scalars].tolist(), int(registers.s[132, 0])


@sampled("target", ["gfx90a", "gfx950", "gfx1100", "gfx1200", "gfx1250"], 2, first=1)
def test_every_register_that_is_read_without_being_named_has_an_effect(target):
    """What the tables say an instruction reads besides: SCC, VCC, and what is in its result."""
    rng, done = random.Random(target), 0
    for row in table(target, FAMILY_OF[target][2]).every():
        reads = [name for name in row.reads if name in (*IMPLIED, "VDST", "SDST")]
        encoded = row.encoding in (*VECTOR, "sop1", "sop2", "sopk", "sopc")
        if not (reads and encoded) or row.name in CONTROL_STEPS or row.name.startswith("v_cvt_s"):  # of few numbers
            continue
        case = Case(row, target, rng, [])
        step = case.step()
        if step is None or step.kind != "arithmetic" or step.relative:
            continue
        for name in reads:
            pairs = [
                [outcome(case, step, seed, name, value) for value in (0x3C003C01, 0x44004400)] for seed in range(16)
            ]
            assert any(one != other for one, other in pairs), (row.mnemonic, name)
        done += 1
    assert done > 15
