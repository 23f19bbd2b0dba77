"""The PTX ISA's fragment formulas (9.1, section 9.7.14.5 and 9.7.14.6), transcribed as they are printed there.

lane is %laneid, i the element's index; every function gives (row, column). Nothing here comes from mmacalc.
"""


def group(lane):
    return lane >> 2


def thread(lane):
    return lane % 4


def upper(*ranges):
    """The row of A: groupID for i in one of the half-open ranges, else groupID + 8."""
    return lambda lane, i: group(lane) + (0 if any(a <= i < b for a, b in ranges) else 8)


def a_m8(per_register):
    return lambda lane, i: (group(lane), thread(lane) * per_register + i)


def b_m8(per_register):
    return lambda lane, i: (thread(lane) * per_register + i, group(lane))


def accumulator_m8(lane, i):
    return group(lane), thread(lane) * 2 + (i & 1)


def accumulator(lane, i):
    return (group(lane) if i < 2 else group(lane) + 8), thread(lane) * 2 + (i & 1)


def rows_and_columns(row, column):
    return lambda lane, i: (row(lane, i), column(lane, i))


# (shape, bits of A's slot): A, B, with the numbers of elements a lane holds of each
DENSE = {
    ("m8n8k4", 64): (a_m8(1), 1, b_m8(1), 1),
    ("m8n8k16", 8): (a_m8(4), 4, b_m8(4), 4),
    ("m8n8k32", 4): (a_m8(8), 8, b_m8(8), 8),
    ("m8n8k128", 1): (a_m8(32), 32, b_m8(32), 32),
    ("m16n8k4", 32): (
        lambda lane, i: (group(lane) + 8 * i, thread(lane)), 2,
        lambda lane, i: (thread(lane), group(lane)), 1,
    ),
    ("m16n8k4", 64): (
        lambda lane, i: (group(lane) + 8 * i, thread(lane)), 2,
        lambda lane, i: (thread(lane), group(lane)), 1,
    ),
    ("m16n8k8", 16): (
        rows_and_columns(upper((0, 2)), lambda lane, i: thread(lane) * 2 + (i & 1)), 4,
        lambda lane, i: (thread(lane) * 2 + i, group(lane)), 2,
    ),
    ("m16n8k8", 32): (
        lambda lane, i: (group(lane) if i in (0, 2) else group(lane) + 8, thread(lane) + (0 if i < 2 else 4)), 4,
        lambda lane, i: (thread(lane) + (0 if i == 0 else 4), group(lane)), 2,
    ),
    ("m16n8k8", 64): (
        lambda lane, i: (group(lane) if i in (0, 2) else group(lane) + 8, thread(lane) + (0 if i < 2 else 4)), 4,
        lambda lane, i: (thread(lane) + i * 4, group(lane)), 2,
    ),
    ("m16n8k16", 64): (
        lambda lane, i: (
            group(lane) if i % 2 == 0 else group(lane) + 8,
            i * 2 + thread(lane) if i % 2 == 0 else i * 2 - 2 + thread(lane),
        ), 8,
        lambda lane, i: (thread(lane) + i * 4, group(lane)), 4,
    ),
    ("m16n8k16", 16): (
        rows_and_columns(
            upper((0, 2), (4, 6)), lambda lane, i: thread(lane) * 2 + (i & 1) + (0 if i < 4 else 8)
        ), 8,
        lambda lane, i: (thread(lane) * 2 + (i & 1) + (0 if i < 2 else 8), group(lane)), 4,
    ),
    ("m16n8k16", 8): (
        rows_and_columns(upper((0, 4)), lambda lane, i: thread(lane) * 4 + (i & 3)), 8,
        lambda lane, i: (thread(lane) * 4 + i, group(lane)), 4,
    ),
    ("m16n8k32", 8): (
        rows_and_columns(
            upper((0, 4), (8, 12)), lambda lane, i: thread(lane) * 4 + (i & 3) + (0 if i < 8 else 16)
        ), 16,
        lambda lane, i: (thread(lane) * 4 + (i & 3) + (0 if i < 4 else 16), group(lane)), 8,
    ),
    ("m16n8k32", 4): (
        rows_and_columns(upper((0, 8)), lambda lane, i: thread(lane) * 8 + (i & 7)), 16,
        lambda lane, i: (thread(lane) * 8 + i, group(lane)), 8,
    ),
    ("m16n8k64", 4): (
        rows_and_columns(
            upper((0, 8), (16, 24)), lambda lane, i: thread(lane) * 8 + (i & 7) + (0 if i < 16 else 32)
        ), 32,
        lambda lane, i: (thread(lane) * 8 + (i & 7) + (0 if i < 8 else 32), group(lane)), 16,
    ),
    ("m16n8k128", 1): (
        rows_and_columns(upper((0, 32)), lambda lane, i: thread(lane) * 32 + (i & 0x1F)), 64,
        lambda lane, i: (thread(lane) * 32 + i, group(lane)), 32,
    ),
    # The page's column for i in 32 to 63 lacks the mask; with & 0x1F it is what CUTLASS compiles to.
    ("m16n8k256", 1): (
        rows_and_columns(
            upper((0, 32), (64, 96)), lambda lane, i: thread(lane) * 32 + (i & 0x1F) + (0 if i < 64 else 128)
        ), 128,
        lambda lane, i: (thread(lane) * 32 + (i & 0x1F) + (0 if i < 32 else 128), group(lane)), 64,
    ),
}  # fmt: skip


def high(lane):
    return 0 if lane < 16 else 4


# m8n8k4 with f16: the four layouts of A and B, and both accumulators (9.7.14.5.1)
VOLTA_A = {
    "row": lambda lane, i: (lane % 4 + high(lane), i),
    "col": lambda lane, i: (i % 4 + high(lane), lane % 4),
}
VOLTA_B = {
    "row": lambda lane, i: (lane % 4, i + high(lane)),
    "col": lambda lane, i: (i, lane % 4 + high(lane)),
}
VOLTA_C = {
    "f16": lambda lane, i: (lane % 4 + high(lane), i),
    "f32": lambda lane, i: ((lane & 1) + (i & 2) + high(lane), (i & 4) + (lane & 2) + (i & 1)),
}


def metadata_place(width, chunks, row, chunk, selector):
    """Where 4 bits of metadata are: (lane, lsb), by the width of a stored element and the chunks of a row."""
    base = 4 * (row % 8)
    if width >= 16 and chunks == 4:
        return base + selector, 4 * chunk + 16 * (row >= 8)
    if width >= 16:
        return base + 2 * selector + chunk // 4, 4 * (chunk % 4) + 16 * (row >= 8)
    if chunks == 8:
        return base + 2 * selector + (row >= 8), 4 * chunk
    return base + (row >= 8) + 2 * (chunk // 8), 4 * (chunk % 8)


def scale_place(side, blocks, index, k, depth, byte_id, thread_id):
    """Where the scale of a row of A or a column of B is: (lane, bit)."""
    byte = byte_id + k // (depth // blocks)
    if side == "A":
        return 4 * (index % 8) + (index >= 8) + 2 * thread_id, 8 * byte
    return 4 * index + thread_id, 8 * byte


# ldmatrix and stmatrix: (row, column) in memory of the slot-th element of register r of a lane (9.7.14.5.15)
MOVED = {
    ("ldmatrix", "m8n8", False): lambda lane, r, slot: (group(lane), 2 * thread(lane) + slot),
    ("ldmatrix", "m8n8", True): lambda lane, r, slot: (2 * thread(lane) + slot, group(lane)),
    ("ldmatrix", "m8n16", False): lambda lane, r, slot: (group(lane), 4 * thread(lane) + slot),
    ("ldmatrix", "m16n16", True): lambda lane, r, slot: (4 * thread(lane) + slot, group(lane) + 8 * r),
    ("stmatrix", "m8n8", False): lambda lane, r, slot: (group(lane), 2 * thread(lane) + slot),
    ("stmatrix", "m8n8", True): lambda lane, r, slot: (2 * thread(lane) + slot, group(lane)),
    ("stmatrix", "m16n8", True): lambda lane, r, slot: (2 * thread(lane) + (slot & 1), group(lane) + 8 * (slot >> 1)),
}
