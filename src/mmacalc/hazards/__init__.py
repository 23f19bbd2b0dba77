"""Wait states between instructions: the sources' tables, two instructions, whole listings.

tables              the rules of LLVM and of the ISA guides, as rows
register_use        what one instruction does to registers
recognizer          the wait states between two instructions (public as `mmacalc.wait_states`), and the words of the
                    rows that say which registers must meet
pending             basic blocks, the hazards that are pending along their paths, what is wrong and what repairs it
forwarding          a hazard of gfx11 in wave64 that takes four instructions
touched, memory_*   the waits for memory
lint                every violation in a listing (public as `mmacalc.lint`) or in decoded code, and wrong lines
"""
