"""Machine code of AMD's matrix instructions: read, assembled, disassembled, byte for byte as LLVM does.

tokens, reader, registers           assembly text
fields                              one engine that encodes and decodes bit fields
encodings, formats                  the formats as tables of them: of matrix instructions, of all others
forms, rows                         how an instruction of the catalog is written and encoded on a target, and its row
targets                             compiler targets
assembler, encoder, program         text to bytes (public as `mmacalc.assemble`): matrix instructions, all others, what
                                    is around instructions
disassembler                        bytes to text (public as `mmacalc.disassemble`)
objects                             code in files
tables, operand_codes               rows of instruction_tables.txt (made by tools/decoder_tables from LLVM 22.1.8), what
                                    the codes of operands mean
operations                          what an instruction is: flags, and how it accesses its operands, by its name
decoder, decoded                    bytes to records: the rows of matrix instructions and all others
decoded_text, immediates            records to the text of llvm-objdump
code_objects, message_pack          kernels of a linked object (public as `mmacalc.load`)
"""
