"""Which lane each lane reads under DPP and ds_swizzle, by the meaning of the name that LLVM prints for the number."""

import re

import pytest

from mmacalc.asm.immediates import dpp_control, dpp_controls, swizzle
from mmacalc.kernels.amd.cross_lane import swizzle_lanes
from mmacalc.kernels.amd.modifiers import dpp8_lanes, dpp_lanes, written_lanes


def named_lane(text, lane, lanes):
    """CDNA3 and RDNA3 ISA guides, DPP_CTRL; out of the row or wave, or -1: there is none."""
    name, *numbers = re.findall(r"[a-z_]+|\d+", text)
    count, row, place = int(numbers[0]) if numbers else 0, lane // 16 * 16, lane % 16
    shifted = {"row_shl": place + count, "row_shr": place - count}
    if name in shifted:
        return row + shifted[name] if 0 <= shifted[name] < 16 else -1
    return {
        "quad_perm": lambda: lane // 4 * 4 + int(numbers[lane % 4]), "row_ror": lambda: row + (place - count) % 16,
        "row_mirror": lambda: row + 15 - place, "row_half_mirror": lambda: lane // 8 * 8 + 7 - lane % 8,
        "wave_shl": lambda: lane + 1 if lane + 1 < lanes else -1, "wave_shr": lambda: lane - 1,
        "wave_rol": lambda: (lane + 1) % lanes, "wave_ror": lambda: (lane - 1) % lanes,
        "row_bcast": lambda: row - 1 if count == 15 else 31 if lane >= 32 else -1,
        "row_share": lambda: row + count, "row_newbcast": lambda: row + count,
        "row_xmask": lambda: row + (place ^ count),
    }[name]()  # fmt: skip


@pytest.mark.parametrize(("family", "lanes"), [("cdna1", 64), ("cdna3", 64), ("rdna3", 32), ("rdna4", 64)])
def test_dpp_reads_the_lanes_that_its_name_means(family, lanes):
    for control in dpp_controls(family):
        found, there = dpp_lanes(control, lanes)
        expected = [named_lane(dpp_control(control, family), lane, lanes) for lane in range(lanes)]
        assert [lane if valid else -1 for lane, valid in zip(found.tolist(), there.tolist())] == expected, control


def test_dpp8_permutes_eight_lanes_and_the_masks_are_of_rows_and_of_their_quads():
    order = (3, 0, 7, 7, 1, 6, 2, 5)
    selector = sum(lane << 3 * place for place, lane in enumerate(order))
    assert dpp8_lanes(selector, 32).tolist() == [lane // 8 * 8 + order[lane % 8] for lane in range(32)]
    for rows, banks in ((0b1010, 0b0110), (0b0111, 0b1001), (15, 15)):
        expected = [bool(rows >> lane // 16 & 1 and banks >> lane % 16 // 4 & 1) for lane in range(64)]
        assert written_lanes(rows, banks, 64).tolist() == expected


def swizzled(text, lane):
    """LLVM, AMDGPU modifier syntax, "swizzle pattern"; rotation and FFT: Vega ISA guide, DS_SWIZZLE_B32."""
    name, *numbers = re.findall(r"\w+", text.removeprefix("swizzle("))
    if name == "BITMASK_PERM":
        bits = f"{lane % 32:05b}"
        changed = [{"0": "0", "1": "1", "p": bit, "i": "10"[int(bit)]}[rule] for bit, rule in zip(bits, numbers[0])]
        return lane // 32 * 32 + int("".join(changed), 2)
    first, *more = map(int, numbers)
    if name == "ROTATE":
        return lane // 32 * 32 + (lane + more[0] * (-1 if first else 1)) % 32
    if name == "FFT":
        turned = int(f"{lane % 32:05b}"[::-1], 2) >> first.bit_count()
        return lane // 32 * 32 + (turned | lane % 32 & first)
    return {
        "QUAD_PERM": lambda: lane // 4 * 4 + (first, *more)[lane % 4], "SWAP": lambda: lane ^ first,
        "REVERSE": lambda: lane // first * first + first - 1 - lane % first,
        "BROADCAST": lambda: lane // first * first + more[0],
    }[name]()  # fmt: skip


@pytest.mark.parametrize("lanes", [32, 64])
def test_ds_swizzle_reads_the_lanes_that_its_pattern_means(lanes):
    rotations = [0xC000 | direction << 10 | by << 5 for direction in (0, 1) for by in range(32)]
    for offset in (*range(0, 0x8000, 61), *range(0x8000, 0x8100), *rotations, *range(0xE000, 0xE020)):
        expected = [swizzled(swizzle(offset), lane) for lane in range(lanes)]
        assert swizzle_lanes(offset, lanes).tolist() == expected, swizzle(offset)
    kept = swizzle_lanes(0xC000 | 3 << 5 | 0b10001, 32).tolist()  # the mask keeps the lane's own bits
    assert kept == [lane & 0b10001 | (lane + 3) & 0b01110 for lane in range(32)]
