"""Wait states between instructions: the sources' tables, two instructions, whole listings.

tables              the rules of LLVM and of the ISA guides, as rows
dependencies        the words of the rows that say which registers must meet
register_use        what one instruction does to registers
recognizer          the wait states between two instructions (public as `mmacalc.wait_states`)
control_flow        basic blocks of a listing
pending, ages       the hazards that are pending along its paths
violations          what is wrong at one instruction, and what repairs it
forwarding          a hazard of gfx11 in wave64 that takes four instructions
lint                every violation in a listing (public as `mmacalc.lint`)
"""
