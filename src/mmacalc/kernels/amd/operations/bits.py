"""Functions on integers and bits, over arrays: what the rows of `integers` and `scalars` are made of.

Source: the instruction descriptions of AMD's ISA guides (CDNA3, CDNA4, RDNA3, RDNA4), sections SOP*, VOP*.
"""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Array = Any  # of the types that the signatures name

__all__ = [
    "absolute", "align_bits", "align_bytes", "any_of_three", "bit_field", "borrow", "borrow_in", "carry_add",
    "carry_add_in", "choosing", "filled", "find_high", "find_low", "find_sign", "high_product", "high_product_signed",
    "leading_zeros", "left64", "low24", "mad64", "mad64_signed", "mask_bits", "mask_bits64", "median", "one_bit",
    "ones", "permuted", "reverse_operands", "reversed_bits", "right64", "right_signed64", "sat_pack", "saving",
    "scalar_field", "shift_amount", "shifted_add", "shifted_bytes", "signed24", "signed_add", "signed_field",
    "signed_subtract", "u64", "whole_quads", "with_nonzero", "writing_exec",
]  # fmt: skip


def u64(value: Array) -> Array:
    """As unsigned 64 bits."""
    return value.astype(np.uint64)


def shift_amount(amount: Array, bits: int) -> Array:
    """The low five, four or six bits of a shift."""
    return amount & np.uint32(bits - 1)


def left64(value: Array, amount: Array) -> Array:
    """64 bits to the left."""
    return value << u64(shift_amount(amount, 64))


def right64(value: Array, amount: Array) -> Array:
    """64 bits to the right, zeros in front."""
    return value >> u64(shift_amount(amount, 64))


def right_signed64(value: Array, amount: Array) -> Array:
    """64 bits to the right, the sign in front."""
    return value >> shift_amount(amount, 64).astype(np.int64)


def carry_add(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b and the carry."""
    total = a + b
    return total, total < a


def carry_add_in(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    """a + b + carry and the carry."""
    total = u64(a) + u64(b) + u64(carry)
    return total.astype(np.uint32), total >> np.uint64(32) != 0


def borrow(a: Array, b: Array) -> tuple[Array, Array]:
    """a - b and whether it borrows."""
    return a - b, a < b


def borrow_in(a: Array, b: Array, borrow: Array) -> tuple[Array, Array]:
    """a - b - borrow and whether it borrows."""
    wide = u64(b) + u64(borrow)
    return (u64(a) - wide).astype(np.uint32), u64(a) < wide


def reverse_operands(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same with the first two sources exchanged."""
    return lambda a, b, *rest: function(b, a, *rest)


def signed_add(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b and whether it overflows."""
    total = a + b
    return total, ((a ^ total) & (b ^ total)) < 0


def signed_subtract(a: Array, b: Array) -> tuple[Array, Array]:
    """a - b and whether it overflows."""
    total = a - b
    return total, ((a ^ b) & (a ^ total)) < 0


def mad64(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """a * b + c in 64 bits and the carry."""
    product = u64(a) * u64(b)
    total = product + c
    return total, total < product


def mad64_signed(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """a * b + c in 64 bits, signed, and whether it overflows."""
    product = a.astype(np.int64) * b.astype(np.int64)
    total = product + c
    return total, ((product ^ total) & (c ^ total)) < 0


def high_product(a: Array, b: Array) -> Array:
    """The high half of the 64-bit product."""
    return (u64(a) * u64(b) >> np.uint64(32)).astype(np.uint32)


def high_product_signed(a: Array, b: Array) -> Array:
    """The high half of the signed 64-bit product."""
    return (a.astype(np.int64) * b.astype(np.int64) >> np.int64(32)).astype(np.int32)


def low24(a: Array) -> Array:
    """The low 24 bits."""
    return a & np.uint32(0xFFFFFF)


def signed24(a: Array) -> Array:
    """The low 24 bits with their sign."""
    return (a << np.int32(8)) >> np.int32(8)


def bit_field(value: Array, start: Array, width: Array) -> Array:
    """`width` bits from bit `start`; 0 to 31 of each."""
    kept = (np.uint32(1) << (width & np.uint32(31))) - np.uint32(1)
    return value >> (start & np.uint32(31)) & kept


def signed_field(value: Array, start: Array, width: Array) -> Array:
    """As `bit_field`, with the sign of the field."""
    width = (width & np.uint32(31)).astype(np.int32)
    field = value >> (start & np.uint32(31)).astype(np.int32)
    spare = np.where(width == 0, np.int32(31), np.int32(32) - width)
    return np.where(width == 0, np.int32(0), (field << spare) >> spare)


def scalar_field(value: Array, control: Array) -> Array:
    """S_BFE: bit offset in the low five or six bits, width in bits 16 to 22; as far as there are bits."""
    kind = value.dtype.type
    bits = 8 * value.dtype.itemsize
    offset = (control & np.uint32(bits - 1)).astype(value.dtype)
    width = control >> np.uint32(16) & np.uint32(0x7F)
    if np.issubdtype(value.dtype, np.unsignedinteger):
        narrow = np.minimum(width, np.uint32(bits - 1)).astype(value.dtype)
        kept = np.where(width >= bits, ~kind(0), (kind(1) << narrow) - kind(1))
        return value >> offset & kept
    wide = np.minimum(width.astype(value.dtype), kind(bits) - offset)
    spare = np.clip(kind(bits) - wide, 0, bits - 1)
    return np.where(width == 0, kind(0), ((value >> offset) << spare) >> spare)


def mask_bits(width: Array, start: Array) -> Array:
    """`width` ones from bit `start`."""
    one = np.uint32(1)
    return ((one << (width & np.uint32(31))) - one) << (start & np.uint32(31))


def mask_bits64(width: Array, start: Array) -> Array:
    """As `mask_bits`, in 64 bits."""
    one = np.uint64(1)
    return ((one << u64(width & np.uint32(63))) - one) << u64(start & np.uint32(63))


def align_bits(high: Array, low: Array, amount: Array) -> Array:
    """32 bits of {high, low} from a bit."""
    both = u64(high) << np.uint64(32) | low
    return (both >> u64(amount & np.uint16(31))).astype(np.uint32)


def align_bytes(high: Array, low: Array, amount: Array) -> Array:
    """32 bits of {high, low} from a byte."""
    both = u64(high) << np.uint64(32) | low
    return (both >> u64((amount & np.uint32(3)) * np.uint32(8))).astype(np.uint32)


def permuted(high: Array, low: Array, selector: Array) -> Array:
    """V_PERM_B32: each byte of the selector chooses a byte of {high, low}, a sign, 0x00 or 0xFF."""
    both = u64(high) << np.uint64(32) | low
    result = np.zeros(np.broadcast_shapes(both.shape, selector.shape), np.uint32)
    for place in range(0, 32, 8):
        wanted = selector >> np.uint32(place) & np.uint32(0xFF)
        byte = both >> u64(np.minimum(wanted, np.uint32(7)) * np.uint32(8)) & np.uint64(0xFF)
        sign_of = u64((wanted & np.uint32(3)) * np.uint32(16) + np.uint32(15))
        sign = (both >> sign_of & np.uint64(1)) * np.uint64(0xFF)
        byte = np.where(wanted < 8, byte, np.where(wanted < 12, sign, np.where(wanted == 12, 0, 0xFF)))
        result |= byte.astype(np.uint32) << np.uint32(place)
    return result


def reversed_bits(value: Array) -> Array:
    """The bits in the opposite order."""
    kind = value.dtype.type
    bits, result = 8 * value.dtype.itemsize, value
    for step, pattern in ((1, 0x55), (2, 0x33), (4, 0x0F)):
        kept, by = kind(int.from_bytes(bytes([pattern]) * (bits // 8), "little")), kind(step)
        result = (result >> by & kept) | (result & kept) << by
    return result.byteswap()


def ones(value: Array) -> Array:
    """How many bits are set."""
    kind = value.dtype.type
    pattern = [kind(int.from_bytes(bytes([byte]) * value.dtype.itemsize, "little")) for byte in (0x55, 0x33, 0x0F, 1)]
    count = value - (value >> kind(1) & pattern[0])
    count = (count & pattern[1]) + (count >> kind(2) & pattern[1])
    count = (count + (count >> kind(4))) & pattern[2]
    return (count * pattern[3] >> kind(8 * value.dtype.itemsize - 8)).astype(np.uint32)


def filled(value: Array) -> Array:
    """Every bit below the highest one set."""
    kind = value.dtype.type
    for step in (1, 2, 4, 8, 16, 32):
        if step < 8 * value.dtype.itemsize:
            value = value | value >> kind(step)
    return value


def leading_zeros(value: Array) -> Array:
    """The number of zeros above the highest one; the width where there is none."""
    return ones(~filled(value))


def find_high(value: Array) -> Array:
    """How many zeros are above the highest one; -1 where there is none."""
    return np.where(value == 0, np.uint32(0xFFFFFFFF), leading_zeros(value))


def find_low(value: Array) -> Array:
    """The place of the lowest one; -1 where there is none."""
    return np.where(value == 0, np.uint32(0xFFFFFFFF), ones((value & (~value + value.dtype.type(1))) - 1))


def find_sign(value: Array) -> Array:
    """The number of bits below the sign that repeat it, counted with the sign; -1 if all do."""
    unsigned = value.view(f"u{value.dtype.itemsize}")
    different = np.where(value < 0, ~unsigned, unsigned)
    return np.where(different == 0, np.uint32(0xFFFFFFFF), leading_zeros(different))


def median(a: Array, b: Array, c: Array) -> Array:
    """The middle of three."""
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


def sat_pack(a: Array) -> Array:
    """V_SAT_PK_U8_I16: two halves, each kept within a byte."""
    low, high = (np.clip((a << np.int32(16 - s)) >> np.int32(16), 0, 255).astype(np.uint32) for s in (0, 16))
    return (low | high << np.uint32(8)).astype(np.uint16)


def one_bit(value: Array, place: Array) -> Array:
    """A one at a place."""
    kind = value.dtype.type
    return kind(1) << (place.astype(value.dtype) & kind(8 * value.dtype.itemsize - 1))


def with_nonzero(function: Callable[..., Any]) -> Callable[..., Any]:
    """The operation's result, and whether it is other than zero, which scalar instructions leave in SCC."""

    def both(*sources: Array) -> tuple[Array, Array]:
        result = function(*sources)
        return result, result != 0

    return both


def choosing(function: Callable[..., Array]) -> Callable[..., Any]:
    """The larger or smaller of two, and whether it is the first."""

    def both(a: Array, b: Array) -> tuple[Array, Array]:
        result = function(a, b)
        return result, (result == a) & (a != b)

    return both


def absolute(a: Array) -> Array:
    """The magnitude."""
    return np.where(a < 0, -a, a)


def shifted_add(by: int) -> Callable[..., Any]:
    """S_LSHLn_ADD_U32: a shifted, plus b, and the carry."""

    def operation(a: Array, b: Array) -> tuple[Array, Array]:
        total = (u64(a) << np.uint64(by)) + u64(b)
        return total.astype(np.uint32), total >> np.uint64(32) != 0

    return operation


def any_of_three(table: int) -> Callable[..., Any]:
    """V_BITOP3: the bit of an eight-bit table that the bits of the sources name, the first the highest."""

    def operation(a: Array, b: Array, c: Array) -> Array:
        result = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), a.dtype)
        for entry in range(8):
            if table >> entry & 1:
                result |= (a if entry & 4 else ~a) & (b if entry & 2 else ~b) & (c if entry & 1 else ~c)
        return result

    return operation


def saving(operation: Callable[..., Any]) -> Callable[..., Any]:
    """S_*_SAVEEXEC: EXEC as it was, the new one, and whether that is other than zero."""

    def save(source: Array, mask: Array) -> tuple[Array, Array, Array]:
        result = operation(source, mask)
        return mask, result, result != 0

    return save


def writing_exec(operation: Callable[..., Any]) -> Callable[..., Any]:
    """S_*_WREXEC: the new EXEC twice, and whether it is other than zero."""

    def write(source: Array, mask: Array) -> tuple[Array, Array, Array]:
        result = operation(source, mask)
        return result, result, result != 0

    return write


def whole_quads(a: Array) -> Array:
    """S_WQM: four ones for every group of four with a one."""
    kind = a.dtype.type
    any_set = a | a >> kind(1)
    any_set = (any_set | any_set >> kind(2)) & kind(int("1" * (2 * a.dtype.itemsize), 16))
    return any_set * kind(15)


def shifted_bytes(low: int, high: int) -> Callable[[Array, Array, Array], Array]:
    """V_ASHR_PK: two words shifted to the right, each kept within a byte."""

    def operation(a: Array, b: Array, amount: Array) -> Array:
        by = (amount & np.uint32(31)).astype(np.int32)
        first, second = (np.clip(value >> by, low, high).astype(np.uint16) & np.uint16(255) for value in (a, b))
        return first | second << np.uint16(8)

    return operation
