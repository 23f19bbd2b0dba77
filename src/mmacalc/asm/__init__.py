"""Machine code of AMD's matrix instructions: read, assembled, disassembled, byte for byte as LLVM does.

tokens, reader, registers           assembly text
fields, encodings                   bit fields, and the formats as tables of them
forms, operands, modifiers          how an instruction of the catalog is written and encoded on a target
targets, elf_machines               compiler targets
assembler, disassembler             text to bytes and back (public as `mmacalc.assemble`, `mmacalc.disassemble`)
objects, lengths                    code in files, and how long other instructions are

All other instructions, for programs that execute or list whole code:

decoded                             the records that come out
formats, tables, operand_codes      formats as text, rows of instruction_tables.txt (made by tools/decoder_tables from
                                    LLVM 22.1.8), what the codes of operands mean
operations                          what an instruction is: flags, and how it accesses its operands, by its name
decoder, vopd, decoded_matrix       bytes to records
decoded_text, immediates            records to the text of llvm-objdump
code_objects, message_pack          kernels of a linked object (public as `mmacalc.load`)
"""
