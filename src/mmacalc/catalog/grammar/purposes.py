"""What the instructions around matrix products are for, in a sentence each: those that order, wait or allocate.

Sources: PTX ISA 9.1, sections 9.7.15.7 (wgmma) and 9.7.16 (tcgen05); that SASS's opcodes are those of PTX's
instructions: ptxas 13.0.88 and nvdisasm 13.1.80.
"""

from __future__ import annotations

__all__ = ["MANAGEMENT", "ptx_of_sass", "purpose"]

PTX = {
    "wgmma.fence": (
        "orders accesses to registers between wgmma.mma_async and other instructions; it comes before the first "
        "wgmma.mma_async, and after registers of D or A are written by others"
    ),
    "wgmma.commit_group": "makes one group of all earlier wgmma.mma_async of the warp that are in no group yet",
    "wgmma.wait_group": (
        "waits until at most that many of the warp's latest groups of wgmma.mma_async are incomplete; D and A may be "
        "used only after it"
    ),
    "tcgen05.shift": "shifts the rows of a matrix in Tensor Memory down by one, 32 bytes of each; it is asynchronous",
    "tcgen05.alloc": (
        "allocates columns of Tensor Memory and writes their address to shared memory; it waits until there are as many"
    ),
    "tcgen05.dealloc": "frees columns of Tensor Memory that tcgen05.alloc allocated",
    "tcgen05.relinquish_alloc_permit": "says that the CTA allocates no more Tensor Memory",
    "tcgen05.commit": (
        "makes an mbarrier track the completion of all earlier asynchronous tcgen05 instructions of the thread"
    ),
    "tcgen05.wait::ld": "waits until all earlier tcgen05.ld of the thread are complete",
    "tcgen05.wait::st": "waits until all earlier tcgen05.st of the thread are complete",
    "tcgen05.fence::before_thread_sync": (
        "orders all earlier asynchronous tcgen05 instructions before those after a synchronisation of threads that follows"
    ),
    "tcgen05.fence::after_thread_sync": (
        "orders later asynchronous tcgen05 instructions after those before a synchronisation of threads that preceded"
    ),
}
MANAGEMENT = frozenset(PTX) - {"tcgen05.shift"}
"""Those that order, wait or allocate."""
# The words of an opcode, and the PTX instruction that becomes it.
SASS = {
    "WARPGROUP ARRIVE": "wgmma.fence", "WARPGROUP DEPBAR": "wgmma.wait_group", "UTCBAR": "tcgen05.commit",
    "UTCATOMSWS FIND_AND_SET": "tcgen05.alloc", "UTCATOMSWS AND": "tcgen05.dealloc", "UTCSHIFT": "tcgen05.shift",
}  # fmt: skip


def ptx_of_sass(opcode: str) -> str:
    """The PTX instruction, of those here, that becomes a SASS opcode; "" if none does.

    >>> ptx_of_sass("WARPGROUP.DEPBAR.LE"), ptx_of_sass("HMMA.16816.F32")
    ('wgmma.wait_group', '')
    """
    words = {*opcode.upper().split(".")}
    return next((ptx for known, ptx in SASS.items() if words.issuperset(known.split())), "")


def purpose(name: str) -> str:
    """What a PTX instruction or a SASS opcode is for; "" if it is none of these.

    >>> purpose("wgmma.commit_group.sync.aligned").partition(" of ")[0]
    'makes one group'
    """
    meant = ptx_of_sass(name)
    found = next((text for ptx, text in PTX.items() if f"{meant or name.lower()}.".startswith(f"{ptx}.")), "")
    return f"as {meant}: {found}" if meant else found
