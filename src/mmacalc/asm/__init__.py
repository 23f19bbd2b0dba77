"""Machine code of AMD's matrix instructions: read, assembled, disassembled, byte for byte as LLVM does.

tokens, reader, registers           assembly text
fields, encodings                   bit fields, and the formats as tables of them
forms, operands, modifiers          how an instruction of the catalog is written and encoded on a target
targets, elf_machines               compiler targets
assembler, disassembler             text to bytes and back (public as `mmacalc.assemble`, `mmacalc.disassemble`)
objects, lengths                    code in files, and how long other instructions are
"""
